"""One entity at a sequence of commits, from the latest to the earliest.

Mutations and loads put new values into new rows, and bring no removed row back. So where two
commits of such a sequence hold the entity at the same place, it has not changed between them. The
place is compared by the files of the two versions, which reads no row; steps that double, and a
bisection, find the commit that put the row there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp, EntityChange, Image
from omnigraph.api.commits import WriterKind
from omnigraph.catalog.model import ID, stored_properties
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.history.commit_changes import readable, snapshot_of, snapshots_of
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.commits import Commit
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin, RowSet
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

    State = tuple[Pin | None, str]

__all__ = ["EntityReader", "values_of"]

# Kinds of commits that build on their parent and bring no removed row back.
_SIMPLE = frozenset({WriterKind.MUTATION, WriterKind.LOAD})
_FRAGMENT_SHIFT = 32


@frozen
class _RowLocation:
    """A row of a version of a table."""

    pin: Pin
    address: int

    def is_in(self, rows: RowSet) -> bool:
        if self.address >> _FRAGMENT_SHIFT in rows.whole:
            return True
        at = int(np.searchsorted(rows.addresses, np.uint64(self.address)))
        return at < len(rows.addresses) and int(rows.addresses[at]) == self.address


@frozen
class _Read:
    """An entity in one state of its table, and where its row is; the image is None if absent."""

    image: Image | None
    place: _RowLocation | None = None


def values_of(image: Image | None) -> dict[str, Any]:
    """Return the values of an entity by property identity, without NULLs; empty if it is absent."""
    if image is None:
        return {}
    return {name: value for name, value in image.row.items() if value is not None}


class EntityReader:
    """Reads one entity at a sequence of commits."""

    def __init__(self, engine: Engine, type_id: TypeId, key: str) -> None:
        self._engine = engine
        self._type_id = type_id
        self._key = key
        # A commit starts from the state of its parent, so states are reused.
        self._reads: dict[State, _Read] = {}
        self._unchanged: set[str] = set()

    def change(self, commit: Commit) -> EntityChange | None:
        """Return the change of a commit to the entity, if any."""
        if commit.kind.is_physical or commit.id in self._unchanged:
            return None
        with readable(commit):
            before, after = snapshots_of(self._engine, commit)
            if before is not None and self._is_unchanged(commit, before, after):
                return None
            old, new = self._read(before).image, self._read(after).image
        known = new or old
        if known is None:
            return None
        # The schema after the commit names the type, even if the commit deletes the entity.
        entity = after.catalog.types.get(self._type_id) or known.entity
        op = ChangeOp.INSERT if old is None else ChangeOp.DELETE if new is None else ChangeOp.UPDATE
        change = EntityChange(entity, self._key, op, old, new)
        return None if op is ChangeOp.UPDATE and not change.changed else change

    def values(self, commit: Commit) -> dict[str, Any]:
        """Return the values of the entity at a commit, without NULLs; empty if it is absent."""
        with readable(commit):
            return values_of(self._read(snapshot_of(self._engine, commit)).image)

    # --- unchanged ranges -------------------------------------------------------------------------

    def _is_unchanged(self, commit: Commit, before: Snapshot, after: Snapshot) -> bool:
        """Whether a commit left the entity alone, as far as its files show."""
        earlier, later = self._state(before), self._state(after)
        if earlier == later:
            return True
        if commit.kind not in _SIMPLE or earlier[1] != later[1]:
            return False
        read = self._read(after)
        if read.place is None:
            # A mutation counts the entities that it deletes.
            counts = commit.counts
            deletes = counts.nodes_deleted or counts.edges_deleted
            if commit.kind is not WriterKind.MUTATION or deletes:
                return False
        elif not self._holds(earlier[0], read.place):
            return False
        self._reads[earlier] = read
        if read.place is not None:
            self._skip(commit, read)
        return True

    def _skip(self, newest: Commit, read: _Read) -> None:
        """Record the commits before one that hold the row at the same place."""
        ahead = self._simple_ancestors(newest)
        line: list[Commit] = []
        held, missed, step = -1, None, 1
        while missed is None:
            while len(line) <= held + step and (commit := next(ahead, None)) is not None:
                line.append(commit)
            probe = min(held + step, len(line) - 1)
            if probe <= held:
                break
            held, missed = (probe, None) if self._is_at(line[probe], read) else (held, probe)
            step *= 2
        while missed is not None and missed - held > 1:
            middle = (held + missed) // 2
            held, missed = (middle, missed) if self._is_at(line[middle], read) else (held, middle)
        # The last commit that holds the row may have put it there.
        self._unchanged |= {commit.id for commit in line[: max(held, 0)]}
        if held >= 0:
            self._reads[self._state_of(line[held])] = read

    def _simple_ancestors(self, newest: Commit) -> Iterator[Commit]:
        """The first parents of a commit, as long as none can bring a removed row back and none
        changes the schema: each is followed by simple commits only."""
        for commit in self._engine.lineage.line(newest):
            if commit.schema != newest.schema:
                return
            if commit.id != newest.id:
                yield commit
            if not (commit.kind in _SIMPLE or commit.kind.is_physical):
                return

    def _is_at(self, commit: Commit, read: _Read) -> bool:
        try:
            pin = self._state_of(commit)[0]
        except GraphError:
            # Its manifest or its table is gone: the visit of the commit reports that.
            return False
        return read.place is not None and self._holds(pin, read.place)

    def _holds(self, pin: Pin | None, place: _RowLocation) -> bool:
        if pin is None or pin.path != place.pin.path:
            return False
        try:
            _, moved = self._engine.root.tables.differing_rows(pin, place.pin)
        except GraphError:
            return False
        return not place.is_in(moved)

    # --- reading ----------------------------------------------------------------------------------

    def _state_of(self, commit: Commit) -> State:
        manifest = self._engine.root.manifest(commit.ref.incarnation, commit.ref.version)
        return manifest.pins.get(self._type_id), manifest.commit.schema

    def _state(self, snapshot: Snapshot) -> State:
        manifest = snapshot.manifest
        return manifest.pins.get(self._type_id), manifest.commit.schema

    def _read(self, snapshot: Snapshot | None) -> _Read:
        if snapshot is None:
            return _Read(None)
        state = self._state(snapshot)
        if state not in self._reads:
            self._reads[state] = self._look_up(snapshot)
        return self._reads[state]

    def _look_up(self, snapshot: Snapshot) -> _Read:
        entity = snapshot.catalog.types.get(self._type_id)
        if entity is None:
            return _Read(None)
        columns = {prop.id: prop.column for prop in stored_properties(entity)}
        table = snapshot.table(entity.id)
        wanted = pc.field(ID.column) == self._key
        found = table.scan(list(columns.values()), filter=wanted, row_addresses=True).to_pylist()
        if not found:
            return _Read(None)
        row = found[0]
        image = Image(entity, {prop: row[name] for prop, name in columns.items()})
        return _Read(image, _RowLocation(table.pin, row[ROW_ADDRESS]))
