"""Staging of the tables of an accepted change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.commits import Counts
from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, EntityKind
from omnigraph.integrity.lookup import is_among, locate
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.writer.plan import PreparedWrite, TableEffect

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    from omnigraph.catalog.model import TypeId
    from omnigraph.integrity.changes import ChangeSet, SnapshotReader, TypeChange
    from omnigraph.integrity.evaluate import Evaluation
    from omnigraph.ports.tables import Staged, Table

__all__ = ["count_changes", "stage_changes"]

# Inserts of at least this many rows are reused by a retry.
_KEPT_ROWS_MIN = 10_000


def stage_changes(
    changes: ChangeSet,
    evaluation: Evaluation,
    reader: SnapshotReader,
    *,
    reads: Iterable[TypeId] = (),
    inserts: MutableMapping[TypeId, Staged] | None = None,
) -> PreparedWrite | None:
    """Write the data files of a change; None when it changes nothing.

    ``reads`` are further tables of the read set. ``inserts`` keeps the files of large inserts for a
    retry: they fit every later version of their table.
    """
    effects = []
    for type_id, change in changes.by_type.items():
        check_cancelled()
        table = reader.table(type_id)
        located = evaluation.located[type_id]
        staged: Staged | None
        if inserts is not None and _is_large_insert(change, located):
            staged = inserts.get(type_id) or table.stage_append(change.rows)
            inserts[type_id] = staged
        else:
            staged = _stage_type(change, table, located)
        if staged is not None:
            effects.append(TableEffect(type_id, table.pin, staged))
    if not effects:
        return None
    return PreparedWrite(
        effects=tuple(effects),
        reads=evaluation.reads | frozenset(reads),
        counts=count_changes(changes, evaluation, reader),
    )


def count_changes(changes: ChangeSet, evaluation: Evaluation, reader: SnapshotReader) -> Counts:
    """Count the entities that a change inserts, updates and deletes."""
    totals = {kind: np.zeros(3, np.int64) for kind in EntityKind}
    for type_id, change in changes.by_type.items():
        updated = evaluation.located[type_id].num_rows
        deleted = len(change.deletes)
        if change.mode is Mode.OVERWRITE:
            table = reader.table(type_id)
            updated = 0 if change.fresh_ids else locate(table, change.ids).num_rows
            deleted = table.pin.rows - updated
        done = (change.rows.num_rows - updated, updated, deleted)
        totals[change.entity.kind] += np.array(done)
    return Counts(*totals[EntityKind.NODE].tolist(), *totals[EntityKind.EDGE].tolist())


def _is_large_insert(change: TypeChange, located: pa.Table) -> bool:
    return (
        change.mode is not Mode.OVERWRITE
        and change.rows.num_rows >= _KEPT_ROWS_MIN
        and not located.num_rows
        and not len(change.deletes)
    )


def _stage_type(change: TypeChange, table: Table, located: pa.Table) -> Staged | None:
    if change.mode is Mode.OVERWRITE:
        unchanged = not table.pin.rows and not change.rows.num_rows
        return None if unchanged else table.stage_overwrite(change.rows)
    replaced, new = _split(change.rows, located)
    return table.stage_change(
        delete=_deleted_at(change, table),
        replace=_replacement(replaced, located),
        insert=new,
    )


def _deleted_at(change: TypeChange, table: Table) -> np.ndarray:
    if change.deleted_at is not None:
        return change.deleted_at
    if not len(change.deletes):
        return np.empty(0, np.uint64)
    return _addresses(locate(table, change.deletes))


def _split(rows: pa.Table, located: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Split rows into those with an existing id, in the order of ``located``, and the others."""
    if not located.num_rows:
        return rows.slice(0, 0), rows
    existing = located.column(ID.column).combine_chunks()
    ids = rows.column(ID.column)
    at = pc.index_in(existing, value_set=ids.combine_chunks())
    return rows.take(at), rows.filter(pc.invert(is_among(ids, existing)))


def _replacement(rows: pa.Table, located: pa.Table) -> tuple[np.ndarray, pa.Table] | None:
    return (_addresses(located), rows) if rows.num_rows else None


def _addresses(rows: pa.Table) -> np.ndarray:
    addresses: np.ndarray = rows.column(ROW_ADDRESS).to_numpy()
    return addresses
