"""Constraint violations of the merged entities, as conflicts.

The rules are those of every writer; this module only names the entities involved, so that a user
can choose between the sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.api.changes import ChangeOp
from omnigraph.api.conflicts import ConflictKind, EntityConflict
from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, SRC, EdgeType
from omnigraph.changes.compare import Images, Side
from omnigraph.integrity.cardinality import check_cardinality
from omnigraph.integrity.changes import ChangeSet, TypeChange
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.lookup import is_among
from omnigraph.integrity.uniqueness import check_uniqueness
from omnigraph.integrity.violations import Report
from omnigraph.merging.schema import row_definition
from omnigraph.merging.schema_view import SchemaViewReader
from omnigraph.merging.snapshots import TypeState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import Catalog, EntityType, TypeId
    from omnigraph.integrity.violations import Violation
    from omnigraph.merging.rows import RowChange
    from omnigraph.merging.type_merge import TypeMerge
    from omnigraph.ports.tables import Table
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["edges_at", "find_violations"]

# The limit of reported conflicts; a strategy resolves more in rounds.
_REPORTED_MAX = 10_000
_KINDS = {"unique": ConflictKind.UNIQUE, "cardinality": ConflictKind.CARDINALITY}


def find_violations(
    catalog: Catalog, merges: Mapping[TypeId, TypeMerge], changes: Mapping[TypeId, RowChange]
) -> Iterator[EntityConflict]:
    """Yield violations among changed rows and, where a definition changed, among all rows."""
    merged = _MergeChanges(catalog, merges, changes)
    for type_id in {**changes, **merged.whole}:
        merge, report = merges[type_id], Report(_REPORTED_MAX)
        reader = SchemaViewReader(merge.snapshots.ours, catalog, merge.snapshots.base)
        change = merged.changes.by_type[type_id]
        check_columns(change, report)
        check_uniqueness(change, reader, report)
        if isinstance(merge.entity, EdgeType):
            check_cardinality(merge.entity, merged.changes, reader, report)
        for violation in report.violations:
            yield _conflict(merge, violation)


class _MergeChanges:
    """The merge result as changes that the rules can check."""

    def __init__(
        self,
        catalog: Catalog,
        merges: Mapping[TypeId, TypeMerge],
        changes: Mapping[TypeId, RowChange],
    ) -> None:
        self._catalog = catalog
        self._merges = merges
        self._changes = changes
        # Types that need a check of every row: rows may have been written under other rules.
        self.whole = {key: None for key, merge in merges.items() if self._meets_new_rules(merge)}
        seen = {key: self._change(merge) for key, merge in merges.items() if self._counts(merge)}
        self.changes = ChangeSet({key: change for key, change in seen.items() if change})

    def _meets_new_rules(self, merge: TypeMerge) -> bool:
        """Return whether rows that a side changed are subject to rules that it did not have."""
        snapshots = merge.snapshots
        wanted, types = row_definition(merge.entity), [merge.id]
        if isinstance(merge.entity, EdgeType) and merge.entity.card_low:
            # A node without edges violates such a rule as well.
            types.append(merge.entity.source)
        for snapshot in (snapshots.ours, snapshots.theirs):
            if row_definition(snapshot.catalog.types.get(merge.id)) != wanted:
                pins = snapshot.manifest.pins
                if any(pins.get(key) != snapshots.base.manifest.pins.get(key) for key in types):
                    return True
        return False

    def _counts(self, merge: TypeMerge) -> bool:
        """Return whether a type needs a check, for its own rules or for those of edges at it."""
        if merge.is_row_by_row or merge.id in self.whole:
            return True
        return any(
            edge.source == merge.id and edge.card_low and self._is_checked(edge.id)
            for edge in self._catalog.edges
        )

    def _is_checked(self, type_id: TypeId) -> bool:
        return type_id in self.whole or self._merges[type_id].is_row_by_row

    def _change(self, merge: TypeMerge) -> TypeChange | None:
        change = self._changes.get(merge.id)
        if merge.id in self.whole or self._has_checked_edges(merge):
            return TypeChange(merge.entity, Mode.OVERWRITE, self._all_rows(merge))
        if change is not None:
            return change.change
        changed = merge.changed
        deleted = changed.ops == ChangeOp.DELETE
        # For a type that is taken over whole, the ids suffice.
        rows = pa.table({ID.column: changed.ids.filter(pa.array(np.invert(deleted)))})
        return TypeChange(merge.entity, Mode.MERGE, rows, changed.ids.filter(pa.array(deleted)))

    def _has_checked_edges(self, merge: TypeMerge) -> bool:
        return any(
            edge.source == merge.id and edge.card_low and edge.id in self.whole
            for edge in self._catalog.edges
        )

    def _all_rows(self, merge: TypeMerge) -> pa.Table:
        snapshots, change = merge.snapshots, self._changes.get(merge.id)
        if change is not None:
            return change.merged(self._table(snapshots.ours, merge))
        snapshot = snapshots.theirs if merge.state is TypeState.THEIRS else snapshots.ours
        return self._table(snapshot, merge).scan()

    def _table(self, snapshot: Snapshot, merge: TypeMerge) -> Table:
        return SchemaViewReader(snapshot, self._catalog, merge.snapshots.base).table(merge.id)


def edges_at(merge: TypeMerge, source: str) -> list[str]:
    """Return the edges of a source that a side has changed."""
    node = pa.array([source], pa.string())
    columns: dict[str, str] = {ID.id: ID.column, SRC.id: SRC.column}
    changed, found = merge.changed, []
    for images, at, op in (
        (changed.before, changed.before_at, ChangeOp.INSERT),
        (changed.after, changed.after_at, ChangeOp.DELETE),
    ):
        if images is not None:
            rows = Images(Side(images.side.table, columns), images.kept).at(at[changed.ops != op])
            found.append(rows)
    snapshots = merge.snapshots
    base, ours, _ = snapshots.pins(merge.id)
    if base is not None and ours is not None and base != ours:
        left, written = snapshots.ours.root.tables.differing_rows(base, ours)
        for snapshot, part in ((snapshots.base, left), (snapshots.ours, written)):
            batches = snapshot.table(merge.id).read(part, list(columns.values()))
            found += [pa.Table.from_batches([batch]) for batch in batches]
    hits = [rows.filter(is_among(rows.column(SRC.column), node)) for rows in found]
    return sorted({key for rows in hits for key in rows.column(ID.column).to_pylist()})


def _conflict(merge: TypeMerge, violation: Violation) -> EntityConflict:
    entity, kind = merge.entity, _KINDS.get(violation.rule, ConflictKind.VALUE)
    message = f"{entity.name} {violation.id!r}: {violation.message}"
    if kind is ConflictKind.CARDINALITY:
        # The conflict concerns the source: its edges have nothing else in common.
        message = f"{entity.name}: {violation.message}"
        return EntityConflict(
            kind, entity, None, message, other=violation.value, witness=(message,)
        )
    assert violation.id is not None  # noqa: S101 - a violation of a row rule names the row
    states = merge.load([key for key in (violation.id, violation.holder) if key is not None])
    sides = states[violation.id]
    rival = states.get(violation.holder or "")
    return EntityConflict(
        kind,
        entity,
        violation.id,
        message,
        _property_ids(entity, violation.property),
        sides.base,
        sides.ours,
        sides.theirs,
        other=violation.holder,
        witness=(rival and (rival.ours, rival.theirs),),
    )


def _property_ids(entity: EntityType, names: str | None) -> tuple[str, ...]:
    by_name = {prop.name: prop.id for prop in (*entity.by_id.values(),)}
    return tuple(by_name[name] for name in (names or "").split(", ") if name in by_name)
