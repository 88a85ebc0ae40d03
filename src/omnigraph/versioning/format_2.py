"""Format 2: manifests and the audit of recovery were Lance datasets.

A migration first closes every branch to writers of format 2: a last manifest of the old form, with
a tombstone, takes the number that they would publish next. A commit that they acknowledged before
is part of what is copied, and nothing is acknowledged after it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit
from omnigraph.api.names import MAIN
from omnigraph.catalog.model import TypeId
from omnigraph.errors import NotFound, StorageFault
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.manifest import Manifest, Void, encode_damage, encode_manifest
from omnigraph.versioning.refs import RefStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from omnigraph.ports.earlier_formats import EarlierTables
    from omnigraph.ports.objects import ObjectStore

__all__ = ["Format2", "move_to_objects", "remove_leftovers"]

AUDIT_TABLE = "_graph_commit_recoveries.lance"
_CLOSED = "closed_by_format"
# Writers of format 2 may publish beside a migration, each at most a few times.
_CLOSINGS_MAX = 100
# Faults of reading a version that repeating the read does not cure.
_DAMAGE = frozenset({"table.torn", "table.damaged", "manifest.malformed"})


class Format2:
    """The objects that a graph of format 2 would have in format 3."""

    def __init__(self, tables: EarlierTables) -> None:
        self._tables = tables

    def newest(self, incarnation: str) -> int:
        """The newest version of a branch; 0 without any."""
        versions = self._tables.versions(layout.manifest_path(incarnation))
        if versions and self._is_closing(incarnation, versions[-1]):
            versions.pop()
        return versions[-1] if versions else 0

    def oldest(self, incarnation: str) -> int:
        """The oldest version of a branch; 1 without any."""
        return min(self._tables.versions(layout.manifest_path(incarnation)), default=1)

    def has(self, incarnation: str, version: int) -> bool:
        path = layout.manifest_path(incarnation)
        if not self._tables.has(path, version):
            return False
        # Only the newest version can be the closing one.
        return self._tables.has(path, version + 1) or not self._is_closing(incarnation, version)

    def manifest(self, incarnation: str, version: int) -> bytes:
        """A manifest as an object. Damage stays damage, and the number stays taken."""
        try:
            rows = self._tables.read(layout.manifest_path(incarnation), version)
            return encode_manifest(_from_rows(incarnation, version, rows))
        except StorageFault as fault:
            if fault.code not in _DAMAGE:
                raise
            return encode_damage(fault.message)

    def audit(self) -> dict[str, bytes]:
        """The rows of the audit by their keys; those of the newest version that can be read."""
        for version in reversed(self._tables.versions(AUDIT_TABLE)):
            try:
                bodies = self._tables.read(AUDIT_TABLE, version).column("body").to_pylist()
                return {
                    layout.audit_row(parse_json(text)["operation_id"]): text.encode()
                    for text in bodies
                }
            except (StorageFault, *MALFORMED):
                continue
        return {}

    def close(self, incarnation: str) -> int:
        """Close a branch to writers of format 2, and return its newest version."""
        path = layout.manifest_path(incarnation)
        for _ in range(_CLOSINGS_MAX):
            version = self.newest(incarnation)
            if not version or self._tables.has(path, version + 1):
                return version
            try:
                rows = self._tables.read(path, version)
                body = _body_of(rows)
            except (StorageFault, *MALFORMED) as error:
                if isinstance(error, StorageFault) and error.code not in _DAMAGE:
                    raise
                # Writers of format 2 cannot publish on it either.
                return version
            if body["tombstone"] or self._tables.close(path, version, _closing(rows, body)):
                return version
        raise StorageFault(
            "graph.migration_contended",
            f"writers of an earlier version keep publishing on branch incarnation {incarnation}",
            remedy="stop them, and open the graph again",
        )

    def _is_closing(self, incarnation: str, version: int) -> bool:
        try:
            rows = self._tables.read(layout.manifest_path(incarnation), version)
            return _CLOSED in _body_of(rows)
        except (NotFound, StorageFault, *MALFORMED):
            return False


def move_to_objects(objects: ObjectStore, tables: EarlierTables) -> None:
    """Put every manifest and every row of the audit as an object. Idempotent."""
    old = Format2(tables)
    _require_main(objects, old)
    for incarnation in incarnations(objects):
        newest = old.close(incarnation)
        # A version that is missing in between gets an object, too: numbers have no gaps.
        for version in range(old.oldest(incarnation), newest + 1):
            key = layout.manifest(incarnation, version)
            if not objects.exists(key):
                objects.put_if_absent(key, _manifest_or_damage(old, incarnation, version))
    for key, row in old.audit().items():
        objects.put_if_absent(key, row)


def remove_leftovers(objects: ObjectStore) -> None:
    """Remove the datasets that no reader of format 3 needs."""
    for key in objects.list(layout.MANIFESTS):
        place = key.split("/")
        if len(place) > 3:
            objects.delete(key)
    objects.delete_prefix(AUDIT_TABLE)


def incarnations(objects: ObjectStore) -> list[str]:
    """The branch incarnations that have a manifest."""
    return sorted({key.split("/")[1] for key in objects.list(layout.MANIFESTS) if "/" in key})


def _require_main(objects: ObjectStore, old: Format2) -> None:
    """Without any manifest of main there is nothing to migrate: most of the graph is missing."""
    main = RefStore(objects).branch(MAIN)
    if main is None or old.newest(main.incarnation):
        return
    if not objects.list(layout.manifest_path(main.incarnation)):
        raise StorageFault(
            "graph.main_missing",
            f"the main branch has no manifests in {layout.manifest_path(main.incarnation)}",
            remedy="bring the directory back from a copy of the graph, and open it again",
        )


def _manifest_or_damage(old: Format2, incarnation: str, version: int) -> bytes:
    try:
        return old.manifest(incarnation, version)
    except NotFound as missing:
        return encode_damage(missing.message)


def _closing(rows: pa.Table, body: dict[str, Any]) -> pa.Table:
    """The rows of a manifest that ends its branch for writers of format 2."""
    import pyarrow as pa  # noqa: PLC0415 - only a migration needs it

    text = json.dumps({**body, "tombstone": True, _CLOSED: 3}, separators=(",", ":"))
    keys = rows["key"].to_pylist()
    bodies = [text if not key else "" for key in keys]
    return rows.set_column(rows.column_names.index("body"), "body", pa.array(bodies, pa.string()))


def _body_of(rows: pa.Table) -> dict[str, Any]:
    columns = rows.select(["key", "body"]).to_pydict()
    body: dict[str, Any] = parse_json(columns["body"][columns["key"].index("")])
    return body


def _from_rows(incarnation: str, version: int, rows: pa.Table) -> Manifest:
    try:
        body = _body_of(rows)
        return Manifest(
            incarnation,
            version,
            Commit.from_json(body["commit"]),
            dict(_pins(rows)),
            tuple(Void(CommitId(operation), since) for operation, since in body["voids"]),
            tombstone=body["tombstone"],
        )
    except MALFORMED as error:
        raise StorageFault(
            "manifest.malformed",
            f"version {version} of manifest {incarnation} is not a manifest: {error}",
        ) from error


def _pins(rows: pa.Table) -> Iterator[tuple[TypeId, Pin]]:
    """The pins. Their counters go on from the version numbers that callers have seen so far."""
    for row in rows.to_pylist():
        if row["key"]:
            version = row["version"]
            yield (
                TypeId(row["key"]),
                Pin(row["path"], version, row["fingerprint"], row["rows"], version),
            )
