"""The audit of recovery: one object per recovered operation.

An object is named by its operation and put if it is absent, so each operation has one row, however
many processes recover it and however often they die.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.errors import NotFound, StorageFault
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["Audit"]


class Audit:
    """Reads and adds rows. Stateless, so it is shared by threads."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def rows(self) -> list[AuditRow]:
        """All rows, oldest first."""
        found = []
        for key in self._objects.list(layout.AUDIT):
            try:
                found.append(_decode(key, self._objects.get(key)))
            except NotFound:
                # Cleanup removed it since the listing.
                continue
        return sorted(found, key=lambda row: (row.recovered_at_micros, row.operation_id))

    def record(self, row: AuditRow) -> None:
        """Add a row unless the operation has one."""
        body = json.dumps(row.to_json(), sort_keys=True).encode()
        self._objects.put_if_absent(layout.audit_row(row.operation_id), body)


def _decode(key: str, text: bytes) -> AuditRow:
    try:
        body: dict[str, Any] = parse_json(text)
        return AuditRow(
            **{**body, "outcome": RecoveryOutcome(body["outcome"]), "tables": tuple(body["tables"])}
        )
    except MALFORMED as error:
        raise StorageFault(
            "audit.malformed",
            f"{key} cannot be read: {error}",
            details={"key": key},
            remedy=f"bring {key} back from a copy of the graph, or move it out of the graph: it "
            "records what recovery did, and no query needs it",
        ) from error
