"""Writing the rows of one merged type: as a change of ours where its table has its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.arrow import table_schema
from omnigraph.operations.merge.rows import row_change
from omnigraph.operations.merge.shaped import passage_between, shaped
from omnigraph.operations.merge.three import State
from omnigraph.writer.plan import TableEffect

if TYPE_CHECKING:
    from omnigraph.operations.merge.rows import RowChange
    from omnigraph.operations.merge.types import TypeMerge
    from omnigraph.ports.tables import Pin, Staged, Table

__all__ = ["stage_type"]


def stage_type(merge: TypeMerge, change: RowChange | None) -> TableEffect | Pin | None:
    """What a merge does to one type: a change of a table, a pin that is taken over, or nothing."""
    theirs = merge.three.theirs.manifest.pins.get(merge.id)
    if merge.state is State.THEIRS and not merge.is_row_by_row:
        return theirs
    if merge.ours_fits:
        return None if change is None else _on_ours(merge, change)
    ours = merge.three.ours.table(merge.id)
    if change is None or change.is_empty:
        return _effect(merge, ours, _reshape(merge, ours))
    if merge.theirs_fits:
        # Theirs has the columns: what ours changed is written on top of it.
        table = merge.three.theirs.table(merge.id)
        swapped = row_change(merge.swapped(), bytes_max=change.bytes_max)
        return _effect(merge, table, swapped.stage(table)) or theirs
    # Both sides changed the columns, each in its way: the table is written anew.
    before = merge.three.ours.catalog.types[merge.id]
    rows = change.merged(shaped(ours, before, merge.entity))
    return _effect(merge, ours, ours.stage_overwrite(rows))


def _on_ours(merge: TypeMerge, change: RowChange) -> TableEffect | None:
    table = merge.three.ours.table(merge.id)
    return _effect(merge, table, change.stage(table))


def _reshape(merge: TypeMerge, table: Table) -> Staged | None:
    before = merge.three.ours.catalog.types[merge.id]
    passage = passage_between(before, merge.entity)
    return table.stage_reshape(table_schema(merge.entity), passage.filling())


def _effect(merge: TypeMerge, table: Table, staged: Staged | None) -> TableEffect | None:
    return None if staged is None else TableEffect(merge.id, table.pin, staged)
