"""Commits, filtered and paged, and the contents of a snapshot."""

from __future__ import annotations

import heapq
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.api.commit_listing import CommitFilter, CommitGraph, CommitPage
from omnigraph.api.commits import WriterKind
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.ports.tables import table_version
from omnigraph.runtime.ids import CommitId, is_ulid
from omnigraph.versioning.branches import list_branches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest

__all__ = [
    "commit_graph",
    "list_commits",
    "snapshot_to_json",
]

_PAGE_MAX = 10_000
_FOREVER = 2**63


def commit_graph(engine: Engine, limit: int) -> CommitGraph:
    """Return the last commits of all branches, with their parents, newest first."""
    branches = list_branches(engine.root, engine.heads)
    names: dict[str, list[str]] = {}
    for info in branches:
        names.setdefault(info.head.commit.id, []).append(info.ref.name)
    for tag in engine.root.refs.tags():
        names.setdefault(tag.commit, []).append(f"tag {tag.name}")
    woven = tuple(islice(_merge_histories(engine, [info.head.commit for info in branches]), limit))
    return CommitGraph(woven, {commit: tuple(found) for commit, found in names.items()})


def _merge_histories(engine: Engine, heads: Iterable[Commit]) -> Iterator[Commit]:
    """Merge the histories of heads by time: a commit is always later than its parents."""
    known = {commit.id: commit for commit in heads}
    waiting = [(-commit.time_micros, commit.id) for commit in known.values()]
    heapq.heapify(waiting)
    while waiting:
        commit = known[CommitId(heapq.heappop(waiting)[1])]
        yield commit
        for parent in engine.lineage.parents(commit):
            if parent.id not in known:
                known[parent.id] = parent
                heapq.heappush(waiting, (-parent.time_micros, parent.id))


def list_commits(engine: Engine, wanted: CommitFilter) -> CommitPage:
    """List commits, newest first, along first parents."""
    _require_valid(wanted)
    matching = _matching(engine, wanted)
    if wanted.limit is None:
        return CommitPage(tuple(matching), None)
    found = tuple(islice(matching, wanted.limit + 1))
    page = found[: wanted.limit]
    return CommitPage(page, page[-1].id if len(found) > len(page) else None)


def snapshot_to_json(engine: Engine, manifest: Manifest) -> dict[str, Any]:
    """The contents of one commit: a dataset, a version and a count per type."""
    catalog = engine.root.catalog(manifest.commit.schema)
    datasets = [
        {
            "entity_kind": entity.kind.value,
            "type_name": entity.name,
            "entity_count": manifest.pins[entity.id].rows,
            "dataset_path": manifest.pins[entity.id].path,
            "published_dataset_version": table_version(manifest.pins[entity.id]),
        }
        for entity in catalog.types.values()
    ]
    return {
        "graph_branch": manifest.commit.branch,
        "graph_commit_id": manifest.commit.id,
        "graph_manifest_version": manifest.version,
        "internal_schema_version": engine.root.stamp.internal_schema_version,
        "datasets": datasets,
    }


def _matching(engine: Engine, wanted: CommitFilter) -> Iterator[Commit]:
    for commit in _from_start(engine, wanted):
        if wanted.since_micros is not None and commit.time_micros < wanted.since_micros:
            return
        if _fits(commit, wanted):
            yield commit


def _from_start(engine: Engine, wanted: CommitFilter) -> Iterator[Commit]:
    """The history from the first commit that may match."""
    newest = engine.resolver.resolve(wanted.target).commit
    if wanted.page_token is not None:
        return _after(engine, newest, wanted.page_token)
    if wanted.until_micros is None:
        return engine.lineage.line(newest)
    start = engine.lineage.newest_at(newest, wanted.until_micros)
    return engine.lineage.line(start) if start is not None else iter(())


def _after(engine: Engine, newest: Commit, token: str) -> Iterator[Commit]:
    """The history of a commit behind the last one of a page."""
    lineage = engine.lineage
    with suppress(NotFound):
        last = lineage.get(token)
        # One that has no manifest any more is looked for in the archive.
        history = lineage.line(last if lineage.positions(newest).holds(last) else newest)
        for commit in history:
            if commit.id == token:
                return history
    raise InvalidInput(
        "commits.bad_page_token",
        f"page token {token!r} is not a commit of this branch",
        remedy="start again without a page token",
    )


def _fits(commit: Commit, wanted: CommitFilter) -> bool:
    return (
        not (wanted.hide_maintenance and commit.kind.is_maintenance)
        and (wanted.actor is None or commit.actor == wanted.actor)
        and (wanted.kind is None or commit.kind.value == wanted.kind)
        and (wanted.until_micros is None or commit.time_micros <= wanted.until_micros)
    )


def _require_valid(wanted: CommitFilter) -> None:
    kinds = [kind.value for kind in WriterKind]
    if wanted.kind is not None and wanted.kind not in kinds:
        raise InvalidInput(
            "commits.bad_kind",
            f"there is no commit kind {wanted.kind!r}",
            remedy=f"one of: {', '.join(kinds)}",
        )
    if wanted.limit is not None and not _is_number(wanted.limit, 1, _PAGE_MAX):
        raise InvalidInput("commits.bad_limit", f"the limit must be between 1 and {_PAGE_MAX}")
    for moment in (wanted.since_micros, wanted.until_micros):
        if moment is not None and not _is_number(moment, -_FOREVER, _FOREVER):
            raise InvalidInput(
                "commits.bad_time",
                f"a time must be a number of microseconds, not {type(moment).__name__}",
                remedy="convert a datetime with omnigraph.runtime.clock.datetime_to_micros",
            )
    if wanted.page_token is not None and not is_ulid(str(wanted.page_token)):
        raise InvalidInput(
            "commits.bad_page_token", f"{wanted.page_token!r:.100} is not a page token"
        )


def _is_number(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
