"""The merge of one type: changes of theirs, states of ours, and the result.

Entities that only theirs changed are processed as columns. Entities that both changed, or that a
choice refers to, are processed one by one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp
from omnigraph.api.conflicts import Take
from omnigraph.catalog.model import ID, stored_properties
from omnigraph.changes.compare import NOTHING, Differences, Images, Side, compare
from omnigraph.frozen import frozen
from omnigraph.integrity.lookup import find_rows
from omnigraph.merging.entity_states import EntityStates, find_entity_states
from omnigraph.merging.schema_view import (
    base_fills,
    fitting_properties,
    inherited,
    migration_between,
    view_as,
)
from omnigraph.merging.snapshots import TypeState
from omnigraph.merging.three_way import (
    Disagreement,
    Resolved,
    Row,
    Verdict,
    decide,
    reconsider,
)
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.catalog.model import EntityType, PropertyId, TypeId
    from omnigraph.evolution.row_migration import ConstantFill
    from omnigraph.merging.snapshots import MergeSnapshots
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["EntitySides", "TypeMerge"]


@frozen
class EntitySides:
    """The three states of one entity, and its address in ours."""

    base: Row | None
    ours: Row | None
    theirs: Row | None
    at: int


class TypeMerge:
    """The lazily computed merge of one type."""

    def __init__(self, snapshots: MergeSnapshots, entity: EntityType) -> None:
        self.snapshots = snapshots
        self.entity = entity
        self.state = snapshots.state(entity.id)
        # Decisions about entities beyond those that follow from the states.
        self._decided: dict[str, Take | Resolved] = {}
        self._loaded: dict[str, EntitySides] = {}

    @property
    def id(self) -> TypeId:
        return self.entity.id

    @property
    def is_row_by_row(self) -> bool:
        """Whether rows must be written; otherwise a pin is kept or taken over."""
        unfit = self.state is TypeState.THEIRS and not self.theirs_fits
        return self.state is TypeState.BOTH or unfit or bool(self._decided)

    @cached_property
    def ours_fits(self) -> bool:
        """Whether the table of ours has the columns of the merged type."""
        return self._fits(self.snapshots.ours)

    @cached_property
    def theirs_fits(self) -> bool:
        return self._fits(self.snapshots.theirs)

    @property
    def ours_inherits(self) -> bool:
        """Whether rows of ours get values of the base again: for dropped or unfit properties."""
        mine = self.snapshots.ours.catalog.types.get(self.id)
        if mine is None:
            return False
        lost = inherited(self.snapshots.base, mine, self.entity)
        return bool(lost) or fitting_properties(mine, self.entity) is not mine

    @property
    def is_added(self) -> bool:
        """Whether ours lacks the type."""
        return self.id not in self.snapshots.ours.manifest.pins

    def swapped(self) -> TypeMerge:
        """Return the same merge with the same result, to be written on top of theirs."""
        other = TypeMerge(self.snapshots.swapped(), self.entity)
        for entity_id, _, row in self.outcomes():
            other.decide(entity_id, Resolved(row))
        return other

    # --- states -----------------------------------------------------------------------------------

    @cached_property
    def changed(self) -> Differences:
        """The entities that theirs changed since the base; none where they do not matter."""
        if self.state is TypeState.OURS:
            return NOTHING
        base, theirs = self._side(self.snapshots.base), self._side(self.snapshots.theirs)
        # An added type is new to ours as a whole, even if ours had dropped it.
        return compare(self.snapshots.theirs.root.tables, None if self.is_added else base, theirs)

    @cached_property
    def our_states(self) -> EntityStates:
        base, ours = self._side(self.snapshots.base), self._side(self.snapshots.ours)
        return find_entity_states(self.snapshots.ours.root.tables, self.changed, base, ours)

    @cached_property
    def contested(self) -> dict[str, EntitySides]:
        """The entities that both sides changed."""
        self._load_changed(np.flatnonzero(self.our_states.touched))
        touched = self.changed.ids.filter(pa.array(self.our_states.touched))
        return {entity_id: self._loaded[entity_id] for entity_id in touched.to_pylist()}

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The decisions that follow from the states of entities that both sides changed."""
        found = {
            key: decide(sides.base, sides.ours, sides.theirs)
            for key, sides in self.contested.items()
        }
        disputed = [key for key, verdict in found.items() if isinstance(verdict, Disagreement)]
        if disputed and self.snapshots.other_bases:
            ids = pa.array(disputed, pa.string())
            states = [self._by_id(base, ids) for base in self.snapshots.other_bases]
            for key in disputed:
                bases = [by_id.get(key, (None, 0))[0] for by_id in states]
                found[key] = self._reconsidered(key, found[key], bases)
        return found

    def sides(self, entity_id: str) -> EntitySides:
        """Return the three states of one entity."""
        return self.load([entity_id])[entity_id]

    def load(self, entity_ids: Iterable[str]) -> dict[str, EntitySides]:
        """Return the three states of some entities."""
        wanted = list(dict.fromkeys(entity_ids))
        missing = pa.array([key for key in wanted if key not in self._loaded], pa.string())
        if len(missing):
            at = pc.index_in(missing, value_set=self.changed.ids)
            self._load_changed(at.drop_null().to_numpy().astype(np.int64))
            self._load_others(missing.filter(at.is_null()))
        return {key: self._loaded[key] for key in wanted}

    # --- decisions --------------------------------------------------------------------------------

    def decide(self, entity_id: str, decision: Take | Resolved) -> bool:
        """Set the decision about an entity; return False if it is already set."""
        if self._decided.get(entity_id) == decision:
            return False
        self._decided[entity_id] = decision
        return True

    def disagreements(self) -> Iterator[tuple[str, EntitySides, Disagreement]]:
        """Yield the entities with a disagreement that no choice has resolved."""
        for entity_id, verdict in self.verdicts.items():
            if entity_id not in self._decided and isinstance(verdict, Disagreement):
                yield entity_id, self.contested[entity_id], verdict

    def is_decided(self, entity_id: str) -> bool:
        return entity_id in self._decided

    # --- the result ------------------------------------------------------------------------------

    @property
    def plain(self) -> np.ndarray:
        """The mask of differences to take from theirs unchanged."""
        mask = ~self.our_states.touched
        if self._decided:
            decided = pa.array(list(self._decided), pa.string())
            mask &= ~pc.is_in(self.changed.ids, value_set=decided).to_numpy(zero_copy_only=False)
        return mask

    def outcomes(self) -> Iterator[tuple[str, EntitySides, Row | None]]:
        """Yield the entities that are processed one by one, with their resulting rows."""
        self.load(self._decided)
        for entity_id in sorted({*self.contested, *self._decided}):
            sides = self._loaded[entity_id]
            yield entity_id, sides, self._outcome(entity_id, sides)

    def outcome(self, entity_id: str) -> Row | None:
        """Return the resulting row of one entity; None if it is deleted."""
        return self._outcome(entity_id, self.sides(entity_id))

    def _outcome(self, entity_id: str, sides: EntitySides) -> Row | None:
        match self._decided.get(entity_id):
            case Resolved(row):
                return row
            case Take.OURS:
                return sides.ours
            case Take.THEIRS:
                return sides.theirs
            case None:
                verdict = self.verdicts.get(entity_id) or decide(
                    sides.base, sides.ours, sides.theirs
                )
                # Ours stays until a choice resolves the disagreement.
                return verdict.row if isinstance(verdict, Resolved) else verdict.merged

    def _reconsidered(self, key: str, verdict: Verdict, bases: list[Row | None]) -> Verdict:
        if isinstance(verdict, Resolved):
            return verdict
        sides = self.contested[key]
        return reconsider(verdict, bases, sides.ours, sides.theirs)

    # --- reading ---------------------------------------------------------------------------------

    def _load_changed(self, at: np.ndarray) -> None:
        chosen, our_states = self.changed.select(at), self.our_states
        base = _by_position(chosen.before, chosen.before_at, chosen.ops != ChangeOp.INSERT)
        theirs = _by_position(chosen.after, chosen.after_at, chosen.ops != ChangeOp.DELETE)
        side = self._side(self.snapshots.ours)
        images = Images(side) if side is not None else None
        ours = _by_position(images, our_states.at[at], our_states.present[at])
        for number, entity_id in enumerate(chosen.ids.to_pylist()):
            address = int(our_states.at[at[number]])
            self._loaded[entity_id] = EntitySides(
                base.get(number), ours.get(number), theirs.get(number), address
            )

    def _load_others(self, entity_ids: pa.Array) -> None:
        """Load entities that theirs did not change: base and theirs are equal."""
        if not len(entity_ids):
            return
        ours = self._by_id(self.snapshots.ours, entity_ids)
        theirs = self._by_id(self.snapshots.theirs, entity_ids)
        for entity_id in entity_ids.to_pylist():
            mine, at = ours.get(entity_id, (None, 0))
            other, _ = theirs.get(entity_id, (None, 0))
            self._loaded[entity_id] = EntitySides(other, mine, other, at)

    def _by_id(self, snapshot: Snapshot, entity_ids: pa.Array) -> dict[str, tuple[Row | None, int]]:
        side = self._side(snapshot)
        if side is None:
            return {}
        columns = list(side.columns.values())
        found = find_rows(side.table, ID.column, entity_ids, columns, addresses=True)
        rows = _rows(found, side)
        addresses = found.column(ROW_ADDRESS).to_pylist()
        return {row[ID.id]: (row, at) for row, at in zip(rows, addresses, strict=True)}

    def _side(self, snapshot: Snapshot) -> Side | None:
        """Return the type at a snapshot, seen through its merged definition."""
        if self.id not in snapshot.catalog.types:
            return None
        is_base = snapshot is not self.snapshots.ours and snapshot is not self.snapshots.theirs
        fills = self._base_fills if is_base else {}
        table = view_as(snapshot, self.entity, self.snapshots.base, fills)
        return Side(table, {prop.id: prop.column for prop in stored_properties(self.entity)})

    @cached_property
    def _base_fills(self) -> Mapping[PropertyId, ConstantFill]:
        ours = self.snapshots.ours.catalog.types.get(self.id)
        theirs = self.snapshots.theirs.catalog.types.get(self.id)
        return {} if ours is None or theirs is None else base_fills(self.entity, ours, theirs)

    def _fits(self, snapshot: Snapshot) -> bool:
        entity = snapshot.catalog.types.get(self.id)
        return entity is not None and not migration_between(entity, self.entity).moves_columns


def _by_position(
    images: Images | None, addresses: np.ndarray, there: np.ndarray
) -> dict[int, dict[str, Any]]:
    """Read rows by their position in a list of addresses."""
    places = np.flatnonzero(there)
    if images is None or not len(places):
        return {}
    rows = _rows(images.at(addresses[places]), images.side)
    return dict(zip(places.tolist(), rows, strict=True))


def _rows(found: pa.Table, side: Side) -> list[dict[str, Any]]:
    columns = {prop: found.column(name).to_pylist() for prop, name in side.columns.items()}
    across = zip(*columns.values(), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in across]
