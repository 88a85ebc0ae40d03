"""The JSON form of a commit, the same at every interface: lists, single commits, write results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.json_values import to_json_value

if TYPE_CHECKING:
    from omnigraph.versioning.manifest import Commit

__all__ = ["commit_to_json", "landed_to_json"]


def commit_to_json(commit: Commit) -> dict[str, Any]:
    """Encode a commit; absent fields are left out."""
    body: dict[str, Any] = {
        "graph_commit_id": commit.id,
        "graph_branch": commit.branch,
        "graph_manifest_version": commit.ref.version,
        "parent_commit_id": commit.parent.id if commit.parent else None,
        "merged_parent_commit_id": commit.merged_parent.id if commit.merged_parent else None,
        "actor_id": commit.actor,
        "created_at": commit.time_micros,
        "created_at_text": format_micros(commit.time_micros),
        "message": commit.message,
        "kind": commit.kind.value,
        "schema": commit.schema,
        "affected_nodes": commit.counts.nodes,
        "affected_edges": commit.counts.edges,
        "counts": to_json_value(commit.counts),
        "idempotency_key": commit.idempotency_key,
    }
    return {key: value for key, value in body.items() if value is not None}


def landed_to_json(commit: Commit | None) -> dict[str, Any] | None:
    """Encode the commit of a write; None when the write changed nothing."""
    return None if commit is None else commit_to_json(commit)
