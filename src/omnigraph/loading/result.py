"""The parts that a load in process and a load on Spark share: the schema check and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.writes import LoadResult, TypeCount
from omnigraph.catalog.model import EntityKind
from omnigraph.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.api.commits import Commit, Counts
    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import EntityType
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["build_result", "require_same_schema"]


def require_same_schema(snapshot: Snapshot, schema: str) -> None:
    """Require a snapshot to have the schema that typed the input, by its digest."""
    if snapshot.manifest.commit.schema != schema:
        raise Conflict(
            "load.schema_moved",
            "the schema of the branch changed while the input was read",
            remedy="load again",
        )


def build_result(
    request: LoadRequest,
    loaded: Iterable[tuple[EntityType, int]],
    counts: Counts,
    commit: Commit | None = None,
    *,
    superseded: int,
    created: bool = False,
) -> LoadResult:
    """Build the result of a load from the number of loaded entities of each type."""
    by_kind: dict[EntityKind, list[TypeCount]] = {kind: [] for kind in EntityKind}
    for entity, count in loaded:
        by_kind[entity.kind].append(TypeCount(entity.name, count))
    return LoadResult(
        branch=request.branch,
        mode=request.mode,
        base_branch=request.from_,
        branch_created=created,
        nodes=tuple(by_kind[EntityKind.NODE]),
        edges=tuple(by_kind[EntityKind.EDGE]),
        superseded=superseded,
        deleted=counts.nodes_deleted + counts.edges_deleted,
        actor=request.actor,
        commit=commit,
        dry_run=request.dry_run,
    )
