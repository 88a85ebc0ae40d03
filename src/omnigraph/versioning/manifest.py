"""A manifest: the pins of one graph commit, and the commit itself.

A branch's manifest is a small table with one row per pin and one row for the commit; each of its
versions is a graph commit. This module is pure: it turns manifests into Arrow rows and back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import Commit
from omnigraph.catalog.model import TypeId
from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId
from omnigraph.runtime.json_text import MALFORMED, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = [
    "Manifest",
    "Void",
    "from_rows",
    "to_rows",
]

MANIFEST_FORMAT = 1


@frozen
class Void:
    """An operation that must never be published, and since when."""

    operation: CommitId
    since_micros: int


@dataclass(frozen=True)
class Manifest:
    """One graph commit with all its pins, as the branch ``incarnation`` holds it at ``version``."""

    incarnation: str
    version: int
    commit: Commit
    pins: Mapping[TypeId, Pin]
    voids: tuple[Void, ...] = ()
    # A deleted branch ends with a tombstone: nothing may be published after it.
    tombstone: bool = False

    def is_void(self, operation: str) -> bool:
        return any(void.operation == operation for void in self.voids)

    def at(self, incarnation: str, version: int) -> Manifest:
        """The same commit seen from another branch: how a fork begins."""
        return replace(self, incarnation=incarnation, version=version, voids=(), tombstone=False)


def to_rows(manifest: Manifest) -> pa.Table:
    """The rows of a manifest version. Pins are sorted, so equal manifests have equal rows."""
    import pyarrow as pa  # noqa: PLC0415 - arrow is loaded by whoever touches storage, not by names

    pins = sorted(manifest.pins.items())
    body = {
        "format": MANIFEST_FORMAT,
        "commit": manifest.commit.to_json(),
        "voids": [[void.operation, void.since_micros] for void in manifest.voids],
        "tombstone": manifest.tombstone,
    }
    text, number = pa.string(), pa.int64()
    columns = {
        "key": pa.array(["", *(type_id for type_id, _ in pins)], text),
        "path": pa.array(["", *(pin.path for _, pin in pins)], text),
        "version": pa.array([0, *(pin.version for _, pin in pins)], number),
        "fingerprint": pa.array(["", *(pin.fingerprint for _, pin in pins)], text),
        "rows": pa.array([0, *(pin.rows for _, pin in pins)], number),
        "body": pa.array([json.dumps(body, separators=(",", ":")), *([""] * len(pins))], text),
    }
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def from_rows(incarnation: str, version: int, rows: pa.Table) -> Manifest:
    """Read a manifest version back, or ``manifest.malformed``."""
    try:
        columns = rows.to_pydict()
        at = columns["key"].index("")
        body = parse_json(columns["body"][at])
        pins = {
            TypeId(key): Pin(path, pinned, fingerprint, count)
            for key, path, pinned, fingerprint, count in zip(
                *(columns[name] for name in ("key", "path", "version", "fingerprint", "rows")),
                strict=True,
            )
            if key
        }
        return Manifest(
            incarnation,
            version,
            Commit.from_json(body["commit"]),
            pins,
            tuple(Void(CommitId(operation), since) for operation, since in body["voids"]),
            tombstone=body["tombstone"],
        )
    except MALFORMED as error:
        raise StorageFault(
            "manifest.malformed",
            f"version {version} of manifest {incarnation} is not a manifest: {error}",
            remedy="restore the graph from a copy, or report this as a bug",
        ) from error
