"""The history of one entity: every commit that changed it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from omnigraph.catalog.model import ID, stored_properties
from omnigraph.changes.compare import ChangeOp
from omnigraph.changes.model import EntityChange, Image
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.frozen import frozen
from omnigraph.history.change_json import cause_to_json, change_to_json
from omnigraph.history.commit_changes import readable, snapshots_of
from omnigraph.history.filters import parse_filter
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Commit
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["BlameRequest", "EntityHistory", "blame"]

LIMIT_MAX = 10_000


@frozen
class BlameRequest:
    type: str
    id: str
    target: str = MAIN
    limit: int = 1_000


@dataclass(frozen=True)
class EntityHistory:
    """Changes of one entity with their commits, newest first.

    A commit of a merged branch is told as well as the merge that brought its change: each changed
    the entity relative to its own parent. ``reaches_back_to`` is the oldest commit that could be
    looked at, where cleanup has removed what came before.
    """

    type: str
    id: str
    entries: tuple[tuple[Commit, EntityChange], ...]
    reaches_back_to: str | None = None
    more: bool = False

    def __repr__(self) -> str:
        return f"<EntityHistory of {self.type} {self.id!r}, {len(self.entries)} commits>"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": self.type,
            "id": self.id,
            "history": [
                {"cause": cause_to_json(commit), "change": change_to_json(change)}
                for commit, change in self.entries
            ],
        }
        if self.reaches_back_to is not None:
            body["reaches_back_to"] = self.reaches_back_to
        return {**body, "more": True} if self.more else body


def blame(engine: Engine, request: BlameRequest) -> EntityHistory:
    """Every commit that inserted, updated or deleted an entity, in all lines that were merged."""
    limit: object = request.limit
    if not isinstance(limit, int) or not 1 <= limit <= LIMIT_MAX:
        raise InvalidInput(
            "changes.bad_limit",
            f"a limit of {limit!r:.100} commits is not possible",
            remedy=f"a limit is a number from 1 to {LIMIT_MAX}",
        )
    _require_text(request.id)
    snapshot = engine.snapshot(request.target)
    (type_id,) = parse_filter((), [request.type], (), [snapshot.catalog]).types
    entries: list[tuple[Commit, EntityChange]] = []
    oldest: str | None = None
    looker = _Looker(engine, type_id, request.id)
    for commit in _ancestors(engine, snapshot.manifest.commit):
        try:
            change = looker.change(commit)
        except NotFound as error:
            if error.code != "change_feed.gap":
                raise
            oldest = commit.id
            continue
        if change is None:
            continue
        if len(entries) == request.limit:
            return EntityHistory(request.type, request.id, tuple(entries), oldest, more=True)
        entries.append((commit, change))
    return EntityHistory(request.type, request.id, tuple(entries), oldest)


def _require_text(entity_id: object) -> None:
    if not isinstance(entity_id, str):
        raise InvalidInput(
            "entity.bad_id",
            f"{entity_id!r:.100} is not the id of an entity",
            remedy="ids are texts; that of an entity with a key is its key as a text",
        )


def _ancestors(engine: Engine, newest: Commit) -> Iterator[Commit]:
    """A commit and all its ancestors, the latest first."""
    waiting, known = [(-newest.time_micros, newest.id)], {newest.id: newest}
    while waiting:
        commit = known[heapq.heappop(waiting)[1]]
        yield commit
        for parent in engine.lineage.parents(commit):
            if parent.id not in known:
                known[parent.id] = parent
                heapq.heappush(waiting, (-parent.time_micros, parent.id))


class _Looker:
    """Looks at one entity at one commit after the other."""

    def __init__(self, engine: Engine, type_id: TypeId, key: str) -> None:
        self._engine = engine
        self._type_id = type_id
        self._key = key
        # What one commit began with its parent ended with.
        self._seen: dict[tuple[Pin | None, str], Image | None] = {}

    def change(self, commit: Commit) -> EntityChange | None:
        """What a commit did to the entity; None: nothing. Reads only where the pin moved."""
        if commit.kind.is_physical:
            return None
        with readable(commit):
            before, after = snapshots_of(self._engine, commit)
            if before is not None and self._state(before) == self._state(after):
                return None
            old, new = self._image(before), self._image(after)
        known = new or old
        if known is None:
            return None
        op = ChangeOp.INSERT if old is None else ChangeOp.DELETE if new is None else ChangeOp.UPDATE
        change = EntityChange(known.entity, self._key, op, old, new)
        return None if op is ChangeOp.UPDATE and not change.changed else change

    def _state(self, snapshot: Snapshot) -> tuple[Pin | None, str]:
        manifest = snapshot.manifest
        return manifest.pins.get(self._type_id), manifest.commit.schema

    def _image(self, snapshot: Snapshot | None) -> Image | None:
        if snapshot is None:
            return None
        state = self._state(snapshot)
        if state not in self._seen:
            self._seen[state] = self._read(snapshot)
        return self._seen[state]

    def _read(self, snapshot: Snapshot) -> Image | None:
        entity = snapshot.catalog.types.get(self._type_id)
        if entity is None:
            return None
        columns = {prop.id: prop.column for prop in stored_properties(entity)}
        wanted = pc.field(ID.column) == self._key
        found = snapshot.table(entity.id).scan(list(columns.values()), filter=wanted).to_pylist()
        if not found:
            return None
        return Image(entity, {prop: found[0][name] for prop, name in columns.items()})
