"""The audit of recovery: one row per recovered operation, exactly once.

The table is small and rare to change, so a row is added by swapping the whole table: whoever loses
the swap reads again and finds the row that the winner added.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "Audit",
]

# Racing recoverers are few; this many lost swaps mean that something else is wrong.
_SWAPS_MAX = 20


class Audit:
    """Reads and adds rows."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._tables = root.tables

    def rows(self) -> list[AuditRow]:
        """All rows, oldest first."""
        return self._read()[1]

    def record(self, row: AuditRow) -> None:
        """Add a row unless the operation has one."""
        for _ in range(_SWAPS_MAX):
            version, rows = self._read()
            if any(known.operation_id == row.operation_id for known in rows):
                return
            try:
                self._tables.swap(
                    layout.AUDIT_TABLE,
                    version,
                    _to_arrow([*rows, row]),
                    operation_id=row.operation_id,
                )
            except Conflict:
                continue
            return
        raise StorageFault(
            "audit.contended", f"the audit of {row.operation_id} kept losing its swap"
        )

    def _read(self) -> tuple[int, list[AuditRow]]:
        try:
            return self._read_newest()
        except StorageFault as fault:
            if not self._root.heal(fault):
                raise
        return self._read_newest()

    def _read_newest(self) -> tuple[int, list[AuditRow]]:
        try:
            version = self._tables.latest_version(layout.AUDIT_TABLE)
        except NotFound:
            return 0, []
        bodies = self._tables.read_version(layout.AUDIT_TABLE, version).column("body").to_pylist()
        try:
            return version, [_from_json(parse_json(body)) for body in bodies]
        except MALFORMED as error:
            raise StorageFault(
                "audit.malformed",
                f"version {version} of {layout.AUDIT_TABLE} has an unreadable row: {error}",
                details={"table": layout.AUDIT_TABLE, "version": version},
                remedy=f"bring {layout.AUDIT_TABLE} back from a copy of the graph, or move it out "
                "of the graph: it records what recovery did, and no query needs it",
            ) from error


def _to_arrow(rows: list[AuditRow]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - see versioning.manifest.to_rows

    return pa.table(
        {
            "operation_id": [row.operation_id for row in rows],
            "outcome": [row.outcome.value for row in rows],
            "body": [json.dumps(row.to_json(), sort_keys=True) for row in rows],
        }
    )


def _from_json(body: dict[str, Any]) -> AuditRow:
    return AuditRow(
        **{**body, "outcome": RecoveryOutcome(body["outcome"]), "tables": tuple(body["tables"])}
    )
