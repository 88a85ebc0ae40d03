"""The changes of one commit relative to its first parent."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.api.change_pages import ChangeBlock, CommitChanges, CommitChangesRequest
from omnigraph.changes.comparison import SnapshotComparison
from omnigraph.changes.schema import schema_changes
from omnigraph.changes.tokens import CommitToken, filter_digest, rejected
from omnigraph.errors import Conflict, NotFound
from omnigraph.history.filters import parse_filter
from omnigraph.history.pages import page_budget
from omnigraph.versioning.snapshot import open_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import ChangePosition, EntityChange, SchemaChange
    from omnigraph.api.commits import Commit, CommitRef
    from omnigraph.changes.model import ChangeFilter
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot

__all__ = [
    "changes_of",
    "commit_changes",
    "schema_changes_of",
]

_GONE = frozenset(
    {"manifest.missing", "table.missing", "table.version_missing", "table.pin_mismatch"}
)


def commit_changes(engine: Engine, request: CommitChangesRequest) -> CommitChanges:
    """Return a page of the changes of a commit."""
    budget = page_budget(request.limit)
    commit = engine.lineage.get(request.commit)
    with readable(commit):
        before, after = snapshots_of(engine, commit)
    catalogs = [after.catalog, *([before.catalog] if before else [])]
    wanted = parse_filter(request.kinds, request.types, request.ops, catalogs)
    graph, scope = engine.root.stamp.graph_id, filter_digest(wanted)
    start = None
    if request.page_token is not None:
        token = CommitToken.decode(request.page_token)
        if (token.graph, token.commit, token.scope) != (graph, commit.id, scope):
            raise rejected("it belongs to another graph, commit or filter")
        start = token.after
    with readable(commit):
        defined = schema_changes_of(engine, commit, wanted) if start is None else ()
        changes, complete = budget.fill(changes_of(engine, commit, wanted, after=start))
    block = ChangeBlock(commit, tuple(changes), defined)
    if complete:
        return CommitChanges(block, None)
    return CommitChanges(block, CommitToken(graph, commit.id, scope, changes[-1].position).encode())


def changes_of(
    engine: Engine, commit: Commit, wanted: ChangeFilter, *, after: ChangePosition | None = None
) -> Iterator[EntityChange]:
    """Return the changes of a commit after a position; none for a physical commit."""
    if commit.kind.is_physical:
        return iter(())
    old, new = snapshots_of(engine, commit)
    return SnapshotComparison(old, new, wanted, engine.compared).changes(after=after)


def schema_changes_of(
    engine: Engine, commit: Commit, wanted: ChangeFilter
) -> tuple[SchemaChange, ...]:
    """Return the schema changes of a commit; reads at most a parent and two schemas."""
    if commit.kind.is_physical:
        return ()
    schema = None
    if commit.parent is not None:
        schema = _manifest(engine, commit.parent).commit.schema
        if schema == commit.schema:
            return ()
    before = None if schema is None else engine.root.catalog(schema)
    return schema_changes(before, engine.root.catalog(commit.schema), wanted)


def snapshots_of(engine: Engine, commit: Commit) -> tuple[Snapshot | None, Snapshot]:
    """Return the snapshots of the first parent, if any, and of the commit."""
    before = _open(engine, commit.parent) if commit.parent else None
    return before, snapshot_of(engine, commit)


def snapshot_of(engine: Engine, commit: Commit) -> Snapshot:
    """Open the snapshot of a commit, or report that cleanup has removed it."""
    return _open(engine, commit.ref)


@contextmanager
def readable(commit: Commit, cursor: str | None = None) -> Iterator[None]:
    """Report removed data as a gap: retrying cannot help, a baseline can."""
    try:
        yield
    except (NotFound, Conflict) as error:
        if error.code not in _GONE and error.code != "snapshot.reclaimed":
            raise
        raise change_gap(commit.id, cursor) from error


def change_gap(commit_id: str, cursor: str | None) -> NotFound:
    """Build the error for history that cleanup has removed."""
    gap = {"first_unreadable_commit_id": commit_id}
    return NotFound(
        "change_feed.gap",
        f"the changes of commit {commit_id} are unavailable: cleanup has removed its data",
        remedy="take a new baseline and continue from its cursor",
        details={"change_feed_gap": {**gap, "cursor": cursor} if cursor else gap},
    )


def _open(engine: Engine, ref: CommitRef) -> Snapshot:
    return open_snapshot(engine.root, _manifest(engine, ref))


def _manifest(engine: Engine, ref: CommitRef) -> Manifest:
    manifest = engine.root.manifest(ref.incarnation, ref.version)
    if manifest.commit.id != ref.id:
        raise NotFound("snapshot.reclaimed", f"commit {ref.id} no longer exists")
    return manifest
