"""Decodes response bodies into changes, merges and plans of schema changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.api.change_pages import ChangeBlock, CommitChanges, EntityHistory, FeedPage
from omnigraph.api.changes import (
    ChangeOp,
    EntityChange,
    Image,
    NamedId,
    SchemaChange,
    SchemaOp,
    TypeSummary,
)
from omnigraph.api.commits import Commit, CommitRef, WriterKind
from omnigraph.api.merges import MergeOutcome, MergeResult, PickResult, TypeOutcome
from omnigraph.api.schemas import SchemaResult
from omnigraph.catalog.model import (
    DST,
    NO_ANNOTATIONS,
    SRC,
    EdgeType,
    EntityKind,
    EntityType,
    NodeType,
    Property,
    PropertyId,
    TypeId,
)
from omnigraph.catalog.steps import MigrationPlan
from omnigraph.client.decoding import RemoteHead, landed_commit, named_commit
from omnigraph.datatypes.types import STRING
from omnigraph.frozen import frozen
from omnigraph.runtime.ids import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "RemoteConflict",
    "RemoteDiff",
    "RemoteMerge",
    "RemotePick",
    "RemotePlan",
    "RemoteSchemaResult",
    "commit_changes_of",
    "diff_of",
    "feed_of",
    "history_of",
    "merge_of",
    "pick_of",
    "schema_result_of",
]


# --- changes -----------------------------------------------------------------------------------


@frozen
class RemoteChange(EntityChange):
    """A change with its values in wire form."""

    said: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        return self.said


@dataclass(frozen=True)
class RemoteDiff:
    """The complete difference between two targets; it has the methods of ``Diff``."""

    body: Mapping[str, Any]

    def __iter__(self) -> Iterator[EntityChange]:
        return map(change_of, self.body["changes"])

    def summary(self) -> list[TypeSummary]:
        return [
            TypeSummary(
                _entity(item["kind"], item["type"]["id"], item["type"]["name"]),
                item["inserted"],
                item["updated"],
                item["deleted"],
            )
            for item in self.body["summary"]
        ]

    def head_json(self) -> dict[str, Any]:
        return {"from": self.body["from"], "to": self.body["to"]}

    def summary_json(self) -> list[dict[str, Any]]:
        return list(self.body["summary"])

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


def diff_of(body: Mapping[str, Any]) -> RemoteDiff:
    return RemoteDiff(body)


def change_of(body: Mapping[str, Any]) -> EntityChange:
    kind, named = body["kind"], body["type"]
    sides = {side: body[side] for side in ("before", "after") if side in body}
    images = {
        side: Image(_entity(kind, named["id"], named["name"], image["properties"]), _row(image))
        for side, image in sides.items()
    }
    entity = images["after" if "after" in images else "before"].entity
    return RemoteChange(
        entity,
        body["id"],
        ChangeOp[body["op"].upper()],
        images.get("before"),
        images.get("after"),
        said=tuple(body.get("changed", ())),
    )


def commit_changes_of(body: Mapping[str, Any]) -> CommitChanges:
    return CommitChanges(_block(body), body.get("next_page_token"))


def feed_of(body: Mapping[str, Any]) -> FeedPage:
    return FeedPage(
        tuple(map(_block, body["blocks"])),
        body.get("cursor"),
        body.get("caught_up"),
        body.get("next_page_token"),
    )


def history_of(body: Mapping[str, Any]) -> EntityHistory:
    return EntityHistory(
        body["type"],
        body["id"],
        tuple((_cause(item["cause"]), change_of(item["change"])) for item in body["history"]),
        body.get("reaches_back_to"),
        body.get("more", False),
    )


def _block(body: Mapping[str, Any]) -> ChangeBlock:
    return ChangeBlock(
        _cause(body["cause"]),
        tuple(map(change_of, body["changes"])),
        tuple(map(_schema_change, body.get("schema_changes") or ())),
    )


def _schema_change(body: Mapping[str, Any]) -> SchemaChange:
    return SchemaChange(
        SchemaOp(body["op"]),
        EntityKind(body["kind"]),
        NamedId(**body["type"]),
        NamedId(**body["property"]) if body.get("property") else None,
        body.get("previous_name"),
        tuple(NamedId(**each) for each in body.get("properties") or ()),
    )


def _cause(body: Mapping[str, Any]) -> Commit:
    def ref(key: str) -> CommitRef | None:
        return CommitRef(CommitId(body[key]), "", 0) if key in body else None

    return Commit(
        CommitRef(CommitId(body["graph_commit_id"]), "", 0),
        body["authored_branch"],
        WriterKind.MUTATION,
        body["authored_at"],
        "",
        ref("parent_commit_id"),
        ref("merged_parent_commit_id"),
        body.get("actor_id"),
    )


def _row(image: Mapping[str, Any]) -> dict[str, Any]:
    ends = image.get("endpoints")
    row = dict(image["properties"])
    return row if ends is None else {**row, SRC.id: ends["from"], DST.id: ends["to"]}


def _entity(kind: str, type_id: str, name: str, names: Sequence[str] = ()) -> EntityType:
    """Return a type of which only the names of its properties are known."""
    properties = tuple(
        Property(PropertyId(each), each, each, STRING, nullable=True) for each in names
    )
    made = NodeType if kind == "node" else EdgeType
    return made(TypeId(type_id), name, properties, (), (), (), (), None, NO_ANNOTATIONS)


# --- merges ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemoteConflict:
    """A conflict of a preview; ``body`` holds both states."""

    conflict_id: str
    kind: str
    id: str | None
    message: str
    body: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


@dataclass(frozen=True)
class RemoteMerge(MergeResult):
    body: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


@dataclass(frozen=True)
class RemotePick(PickResult):
    body: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


def merge_of(body: Mapping[str, Any]) -> MergeResult:
    base = body.get("base_commit_id")
    return RemoteMerge(
        body["source"],
        body["target"],
        MergeOutcome(body["outcome"]),
        base and named_commit(base, branch="", kind=WriterKind.MUTATION),
        landed_commit(body),
        tuple(map(_outcome, body["summary"])),
        _conflicts(body),
        body.get("actor_id"),
        body.get("preview", False),
        body.get("branch_deleted"),
        body.get("branch_delete_error"),
        body,
    )


def pick_of(body: Mapping[str, Any], kind: WriterKind) -> PickResult:
    return RemotePick(
        body["branch"],
        named_commit(body["picked_commit_id"], branch="", kind=WriterKind.MUTATION),
        landed_commit(body),
        tuple(map(_outcome, body["summary"])),
        _conflicts(body),
        body.get("actor_id"),
        body.get("preview", False),
        kind.value.replace("_", "-"),
        body,
    )


def _outcome(body: Mapping[str, Any]) -> TypeOutcome:
    return TypeOutcome(
        _entity(body["kind"], body["type"], body["type"]),
        body["taken_over"],
        body.get("inserted"),
        body.get("updated"),
        body.get("deleted"),
        body.get("entities_before"),
        body.get("entities_after"),
    )


def _conflicts(body: Mapping[str, Any]) -> Any:
    """Decode conflicts. Their ids identify them; their content is known in wire form only."""
    return tuple(
        RemoteConflict(
            each["conflict_id"], each["kind"], each.get("entity_id"), each["message"], each
        )
        for each in body.get("conflicts") or ()
    )


# --- schema changes ----------------------------------------------------------------------------


@frozen
class RemotePlan(MigrationPlan):
    """The server's plan; ``steps`` are planned locally from the same two schemas, for display."""

    body: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {key: self.body[key] for key in ("supported", "step_count", "steps")}


@frozen
class RemoteSchemaResult(SchemaResult):
    body: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


def schema_result_of(body: Mapping[str, Any], plan: MigrationPlan) -> SchemaResult:
    branch, commit = body["branch"], landed_commit(body)
    head = commit or named_commit("0" * 26, branch=branch, kind=WriterKind.SCHEMA)
    return RemoteSchemaResult(
        body["uri"],
        branch,
        RemotePlan(plan.steps, body),
        RemoteHead(head, body["graph_manifest_version"]),
        commit,
        body.get("dry_run", False),
        body,
    )
