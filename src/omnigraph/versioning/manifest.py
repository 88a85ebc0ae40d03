"""A manifest: the pins of one graph commit, and the commit itself.

A branch's manifest is a small table with one row per pin and one row for the commit; each of its
versions is a graph commit. This module is pure: it turns manifests into Arrow rows and back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import TypeId
from omnigraph.errors import InvalidInput, StorageFault
from omnigraph.frozen import frozen
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId, is_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.runtime.json_values import to_json_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = [
    "Commit",
    "CommitRef",
    "Counts",
    "Manifest",
    "Void",
    "WriterKind",
    "commit_id_of",
    "from_rows",
    "to_rows",
]

MANIFEST_FORMAT = 1


class WriterKind(StrEnum):
    """Who made a commit."""

    INIT = "init"
    MUTATION = "mutation"
    LOAD = "load"
    MERGE = "merge"
    REVERT = "revert"
    CHERRY_PICK = "cherry_pick"
    RESET = "reset"
    SCHEMA = "schema_apply"
    MAINTENANCE = "maintenance"
    RECOVERY = "recovery"
    BRANCH_DELETE = "branch_delete"

    @property
    def is_physical(self) -> bool:
        """Whether it moves files and no entities: nothing to look for, nothing to undo."""
        return self in _PHYSICAL

    @property
    def is_maintenance(self) -> bool:
        """Whether it leaves every entity and definition as it was: ``if_commit`` looks through such
        commits, and ``log`` hides them."""
        return self in _MAINTENANCE

    @classmethod
    def _missing_(cls, value: object) -> WriterKind | None:
        return cls.MAINTENANCE if value in _EARLIER_MAINTENANCE else None


_MAINTENANCE = frozenset({WriterKind.MAINTENANCE, WriterKind.RECOVERY})
_PHYSICAL = _MAINTENANCE | {WriterKind.BRANCH_DELETE}
# Stored by versions that had one kind per step of maintenance.
_EARLIER_MAINTENANCE = frozenset({"index", "optimize"})


@frozen
class CommitRef:
    """A commit and where its manifest is: the branch incarnation and the manifest version."""

    id: CommitId
    incarnation: str
    version: int


@frozen
class Counts:
    """How many entities a commit changed."""

    nodes_inserted: int = 0
    nodes_updated: int = 0
    nodes_deleted: int = 0
    edges_inserted: int = 0
    edges_updated: int = 0
    edges_deleted: int = 0

    @property
    def nodes(self) -> int:
        return self.nodes_inserted + self.nodes_updated + self.nodes_deleted

    @property
    def edges(self) -> int:
        return self.edges_inserted + self.edges_updated + self.edges_deleted


@frozen
class Void:
    """An operation that must never be published, and since when."""

    operation: CommitId
    since_micros: int


@frozen
class Commit:
    """What a commit says of itself. ``ref`` is its home: a fork of a branch starts with a copy of
    the commit it forked from, whose home stays the parent branch."""

    ref: CommitRef
    branch: str
    kind: WriterKind
    time_micros: int
    schema: str
    parent: CommitRef | None = None
    merged_parent: CommitRef | None = None
    actor: str | None = None
    message: str | None = None
    counts: Counts = field(default_factory=Counts)
    idempotency_key: str | None = None
    request_digest: str | None = None
    # Types, and properties as ``type/property``, that were dropped for good: older commits of the
    # branch need not keep their data.
    hard_drops: tuple[str, ...] = ()

    @property
    def id(self) -> CommitId:
        return self.ref.id

    def __repr__(self) -> str:
        who = f" by {self.actor}" if self.actor else ""
        said = f": {self.message}" if self.message else ""
        return f"<Commit {self.id} {self.kind.value} on {self.branch}{who}{said}>"

    def to_json(self) -> dict[str, Any]:
        """The stored form; fields that say nothing are left out."""
        return {key: value for key, value in to_json_value(self).items() if value not in (None, ())}

    @staticmethod
    def from_json(body: dict[str, Any]) -> Commit:
        return Commit(
            **{
                **body,
                "ref": CommitRef(**body["ref"]),
                "kind": WriterKind(body["kind"]),
                "parent": CommitRef(**body["parent"]) if "parent" in body else None,
                "merged_parent": (
                    CommitRef(**body["merged_parent"]) if "merged_parent" in body else None
                ),
                "counts": Counts(**body["counts"]),
                "hard_drops": tuple(body.get("hard_drops", ())),
            }
        )


def commit_id_of(commit: object) -> CommitId:
    """The id of what a caller calls a commit: an id in either case, or the commit itself."""
    if isinstance(commit, Commit | CommitRef):
        return commit.id
    if isinstance(commit, str):
        # What is no id at all is told as it was written.
        return CommitId(commit.upper() if is_ulid(commit.upper()) else commit)
    raise InvalidInput(
        "commit.bad_id",
        f"a commit is named by its id, not by {type(commit).__name__}",
        remedy="give the id as a text, or the commit itself",
    )


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
