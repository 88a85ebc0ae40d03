"""The JSON form of changes, the same at every interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.wire_values import to_wire

if TYPE_CHECKING:
    from omnigraph.api.changes import EntityChange, Image, NamedId, SchemaChange
    from omnigraph.api.commits import Commit

__all__ = [
    "cause_to_json",
    "change_to_json",
    "schema_change_to_json",
]


def change_to_json(change: EntityChange) -> dict[str, Any]:
    """One change with its images; ``changed`` names the properties that an update changed."""
    body: dict[str, Any] = {
        "kind": change.entity.kind.value,
        "type": {"id": change.entity.id, "name": change.entity.name},
        "id": change.id,
        "op": change.op.name.lower(),
    }
    if change.before is not None:
        body["before"] = _image(change.before)
    if change.after is not None:
        body["after"] = _image(change.after)
    if change.changed:
        body["changed"] = list(change.changed)
    return body


def schema_change_to_json(change: SchemaChange) -> dict[str, Any]:
    """One change of a definition, with identities and names."""
    body: dict[str, Any] = {
        "op": change.op.value,
        "kind": change.kind.value,
        "type": _named(change.type),
    }
    if change.property is not None:
        body["property"] = _named(change.property)
    if change.previous_name is not None:
        body["previous_name"] = change.previous_name
    if change.properties:
        body["properties"] = [_named(each) for each in change.properties]
    return body


def _named(what: NamedId) -> dict[str, str]:
    return {"id": what.id, "name": what.name}


def cause_to_json(commit: Commit) -> dict[str, Any]:
    """The commit behind a block of changes."""
    body: dict[str, Any] = {
        "graph_commit_id": commit.id,
        "parent_commit_id": commit.parent.id if commit.parent else None,
        "merged_parent_commit_id": commit.merged_parent.id if commit.merged_parent else None,
        "authored_branch": commit.branch,
        "authored_at": commit.time_micros,
        "actor_id": commit.actor,
    }
    return {key: value for key, value in body.items() if value is not None}


def _image(image: Image) -> dict[str, Any]:
    body: dict[str, Any] = {"properties": to_wire(image.properties)}
    if image.endpoints is not None:
        body["endpoints"] = dict(zip(("from", "to"), image.endpoints, strict=True))
    return body
