"""All changes between two snapshots, by type, as a stream in canonical order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.api.changes import ChangeOp, ChangePosition, EntityChange, Image, TypeSummary
from omnigraph.catalog.model import EntityKind, stored_properties
from omnigraph.changes.compare import Side, compare
from omnigraph.changes.model import ChangeFilter
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import EntityType
    from omnigraph.changes.compare import Differences, Images
    from omnigraph.runtime.lru_cache import LruCache
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["SnapshotComparison", "TypePair", "side_of"]

# The number of changes that are read and decoded at once.
_CHUNK_ROWS = 1_024


@frozen
class TypePair:
    """A type in two snapshots; None where one of them lacks it."""

    before: EntityType | None
    after: EntityType | None

    @property
    def entity(self) -> EntityType:
        found = self.after or self.before
        assert found is not None  # noqa: S101 - at least one side has the type
        return found


@dataclass(frozen=True)
class SnapshotComparison:
    """The comparison of two snapshots. ``before`` is None before the first commit.

    ``known`` caches differences between pins, so that the next page of a long result does not
    compute them again.
    """

    before: Snapshot | None
    after: Snapshot
    wanted: ChangeFilter = field(default_factory=ChangeFilter)
    known: LruCache[Any, Differences] | None = None

    def pairs(self) -> list[TypePair]:
        """Return the types that may differ, in canonical order. Reads nothing."""
        old = self.before.catalog.types if self.before else {}
        new = self.after.catalog.types
        pairs = [TypePair(old.get(key), new.get(key)) for key in old.keys() | new.keys()]
        changed = [
            pair for pair in pairs if self.wanted.wants(pair.entity) and self._may_differ(pair)
        ]
        return sorted(
            changed, key=lambda pair: (pair.entity.kind is EntityKind.EDGE, pair.entity.id)
        )

    def changes(self, *, after: ChangePosition | None = None) -> Iterator[EntityChange]:
        """Yield the changes after a position, each with its images."""
        for pair in self.pairs():
            if after is None or _sort_key(pair) > (after.is_edge, after.type_id):
                yield from self._of_type(pair, 0)
            elif _sort_key(pair) == (after.is_edge, after.type_id):
                yield from self._of_type(pair, after.number + 1)

    def summary(self) -> list[TypeSummary]:
        """Count changes per type. A type that only one snapshot has is counted by its pin."""
        counted = [self._count(pair) for pair in self.pairs()]
        return [found for found in counted if found.total]

    def differences(self, pair: TypePair) -> Differences:
        """Compute the differences in one type, for all operations."""
        key = (self._state(self.before, pair.before), self._state(self.after, pair.after))
        if self.known is None:
            return self._compare(pair)
        return self.known.get_or_make(key, lambda: self._compare(pair))

    def _compare(self, pair: TypePair) -> Differences:
        before = self.before and pair.before and side_of(self.before, pair.before)
        after = pair.after and side_of(self.after, pair.after)
        return compare(self.after.root.tables, before or None, after or None)

    def _may_differ(self, pair: TypePair) -> bool:
        return self._state(self.before, pair.before) != self._state(self.after, pair.after)

    @staticmethod
    def _state(snapshot: Snapshot | None, entity: EntityType | None) -> tuple[Any, ...] | None:
        """Return what determines the entities of a type: its pin and its columns."""
        if snapshot is None or entity is None:
            return None
        return snapshot.manifest.pins[entity.id], tuple(_columns(entity).items())

    def _of_type(self, pair: TypePair, start: int) -> Iterator[EntityChange]:
        found = self.differences(pair)
        chosen = np.arange(start, len(found))
        if self.wanted.ops:
            chosen = chosen[np.isin(found.ops[start:], list(self.wanted.ops))]
        for begin in range(0, len(chosen), _CHUNK_ROWS):
            yield from _decode(pair, found, chosen[begin : begin + _CHUNK_ROWS])

    def _count(self, pair: TypePair) -> TypeSummary:
        ops = self.wanted.ops or frozenset(ChangeOp)
        if pair.before is None or self.before is None:
            counts = {ChangeOp.INSERT: self.after.manifest.pins[pair.entity.id].rows}
        elif pair.after is None:
            counts = {ChangeOp.DELETE: self.before.manifest.pins[pair.entity.id].rows}
        else:
            found = self.differences(pair)
            counts = {op: found.count(op) for op in ChangeOp}
        return TypeSummary(pair.entity, *(counts.get(op, 0) if op in ops else 0 for op in ChangeOp))


def _sort_key(pair: TypePair) -> tuple[bool, str]:
    return pair.entity.kind is EntityKind.EDGE, pair.entity.id


def side_of(snapshot: Snapshot, entity: EntityType) -> Side:
    """Return a type's table at a snapshot, and its columns in the schema of that snapshot."""
    return Side(snapshot.table(entity.id), _columns(entity))


def _columns(entity: EntityType) -> Mapping[str, str]:
    return {prop.id: prop.column for prop in stored_properties(entity)}


def _decode(
    pair: TypePair, differences: Differences, numbers: np.ndarray
) -> Iterator[EntityChange]:
    found = differences.select(numbers)
    before = _images(pair.before, found.before, found.before_at, found.ops != ChangeOp.INSERT)
    after = _images(pair.after, found.after, found.after_at, found.ops != ChangeOp.DELETE)
    told = zip(found.ids.to_pylist(), found.ops.tolist(), numbers.tolist(), strict=True)
    for entity_id, rank, number in told:
        op = ChangeOp(rank)
        old = next(before) if op is not ChangeOp.INSERT else None
        new = next(after) if op is not ChangeOp.DELETE else None
        # The later schema names the type, also of deleted entities, since a commit may rename it.
        yield EntityChange(pair.entity, entity_id, op, old, new, number)


def _images(
    entity: EntityType | None, images: Images | None, addresses: np.ndarray, there: np.ndarray
) -> Iterator[Image]:
    if entity is None or images is None or not there.any():
        return
    rows = images.at(addresses[there])
    columns = {prop.id: rows.column(prop.column).to_pylist() for prop in stored_properties(entity)}
    for values in zip(*columns.values(), strict=True):
        yield Image(entity, dict(zip(columns, values, strict=True)))
