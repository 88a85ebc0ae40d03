"""The history of one entity: the commits that its state comes from, through merges.

Merges simplify the history, as in ``git log -- path``. Where a merge kept the entity as one of its
parents had it, only that parent is followed. Where it combined both, each parent is followed for
the properties that come from it. A commit whose changes a merge discarded is not listed.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from omnigraph.api.change_pages import BlameRequest, EntityHistory
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.history.entity_reader import EntityReader, values_of
from omnigraph.history.filters import parse_filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import EntityChange
    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine

__all__ = ["blame"]

LIMIT_MAX = 10_000


def blame(engine: Engine, request: BlameRequest) -> EntityHistory:
    """List the commits that inserted, updated or deleted an entity and were not discarded."""
    limit: object = request.limit
    if not isinstance(limit, int) or not 1 <= limit <= LIMIT_MAX:
        raise InvalidInput(
            "changes.bad_limit",
            f"the limit {limit!r:.100} is out of range",
            remedy=f"use a limit from 1 to {LIMIT_MAX}",
        )
    _require_text(request.id)
    snapshot = engine.snapshot(request.target)
    (type_id,) = parse_filter((), [request.type], (), [snapshot.catalog]).types
    entries: list[tuple[Commit, EntityChange]] = []
    walk = _Walk(engine, EntityReader(engine, type_id, request.id))
    for commit, change in walk.changes(snapshot.manifest.commit):
        if len(entries) == request.limit:
            return EntityHistory(
                request.type, request.id, tuple(entries), walk.reaches_back_to, more=True
            )
        entries.append((commit, change))
    return EntityHistory(request.type, request.id, tuple(entries), walk.reaches_back_to)


def _require_text(entity_id: object) -> None:
    if not isinstance(entity_id, str):
        raise InvalidInput(
            "entity.bad_id",
            f"{entity_id!r:.100} is not the id of an entity",
            remedy="an id is text; that of an entity with a key is its key as text",
        )


class _Walk:
    """Walks from a commit to the ancestors that determine the state of one entity."""

    def __init__(self, engine: Engine, reader: EntityReader) -> None:
        self._lineage = engine.lineage
        self._reader = reader
        # Per waiting commit: the properties for which no later state comes from it.
        self._discarded: dict[str, frozenset[str]] = {}
        self.reaches_back_to: str | None = None

    def changes(self, newest: Commit) -> Iterator[tuple[Commit, EntityChange]]:
        """Yield the effective changes, latest first.

        A commit is later than its parents, so all of its children are visited before it."""
        waiting, known = [(-newest.time_micros, newest.id)], {newest.id: newest}
        self._discarded[newest.id] = frozenset()
        while waiting:
            commit = known[heapq.heappop(waiting)[1]]
            discarded = self._discarded[commit.id]
            change = self._change(commit)
            if change is not None and not _touched(change) <= discarded:
                yield commit, change
            for parent, omitted in self._sources(commit):
                if parent.id not in known:
                    known[parent.id] = parent
                    heapq.heappush(waiting, (-parent.time_micros, parent.id))
                earlier = self._discarded.get(parent.id)
                added = discarded | omitted
                self._discarded[parent.id] = added if earlier is None else earlier & added

    def _change(self, commit: Commit) -> EntityChange | None:
        try:
            return self._reader.change(commit)
        except NotFound as error:
            if error.code != "change_feed.gap":
                raise
            self.reaches_back_to = self.reaches_back_to or commit.id
            return None

    def _sources(self, commit: Commit) -> list[tuple[Commit, frozenset[str]]]:
        """Return the parents that the entity comes from, each with the properties that do not."""
        parents = self._lineage.parents(commit)
        if len(parents) < 2:
            return [(parent, frozenset()) for parent in parents]
        ours, theirs = parents
        try:
            merged, left, right = map(self._reader.values, (commit, ours, theirs))
        except NotFound as error:
            if error.code != "change_feed.gap":
                raise
            return [(ours, frozenset()), (theirs, frozenset())]
        if merged == left:
            return [(ours, frozenset())]
        if merged == right:
            return [(theirs, frozenset())]
        names = merged.keys() | left.keys() | right.keys()
        from_ours = {name for name in names if merged.get(name) == left.get(name)}
        from_theirs = {name for name in names - from_ours if merged.get(name) == right.get(name)}
        return [(ours, frozenset(from_theirs)), (theirs, frozenset(from_ours))]


def _touched(change: EntityChange) -> frozenset[str]:
    """Return the identities of changed properties, with ``ID`` for an insert or delete."""
    old, new = values_of(change.before), values_of(change.after)
    return frozenset(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
