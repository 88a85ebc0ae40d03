"""Staging of one merged type, as a change of the table with the right columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.arrow import table_schema
from omnigraph.merging.rows import row_change
from omnigraph.merging.schema_view import migration_between, view_as
from omnigraph.merging.snapshots import TypeState
from omnigraph.writer.plan import TableEffect

if TYPE_CHECKING:
    from omnigraph.merging.rows import RowChange
    from omnigraph.merging.type_merge import TypeMerge
    from omnigraph.ports.tables import Pin, Staged, Table

__all__ = ["stage_type"]


def stage_type(
    merge: TypeMerge, change: RowChange | None, *, bytes_max: int
) -> TableEffect | Pin | None:
    """Stage a type: a change of a table, a pin to take over, or nothing."""
    if merge.state is TypeState.THEIRS and not merge.is_row_by_row:
        return merge.snapshots.theirs.manifest.pins[merge.id]
    if merge.is_added:
        return _on_theirs(merge, bytes_max)
    if merge.ours_fits and change is None:
        return None
    table = merge.snapshots.ours.table(merge.id)
    if merge.ours_fits and change is not None:
        return _effect(merge, table, change.stage(table))
    if not merge.ours_inherits and (change is None or change.is_empty):
        return _effect(merge, table, _reshape(merge, table))
    if merge.theirs_fits:
        return _on_theirs(merge, bytes_max)
    # Both sides changed the columns differently: rewrite the table.
    seen = view_as(merge.snapshots.ours, merge.entity, merge.snapshots.base)
    rows = seen.scan() if change is None else change.merged(seen)
    return _effect(merge, table, table.stage_overwrite(rows))


def _on_theirs(merge: TypeMerge, bytes_max: int) -> TableEffect | Pin:
    """Apply the changes of ours on top of theirs, whose table has the columns."""
    theirs = merge.snapshots.theirs.table(merge.id)
    change = row_change(merge.swapped(), bytes_max=bytes_max)
    return _effect(merge, theirs, change.stage(theirs)) or theirs.pin


def _reshape(merge: TypeMerge, table: Table) -> Staged | None:
    before = merge.snapshots.ours.catalog.types[merge.id]
    migration = migration_between(before, merge.entity)
    return table.stage_reshape(table_schema(merge.entity), migration.filling())


def _effect(merge: TypeMerge, table: Table, staged: Staged | None) -> TableEffect | None:
    return None if staged is None else TableEffect(merge.id, table.pin, staged)
