"""The rows of a merged type, for validation and for staging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.api.changes import ChangeOp
from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.changeset.rows import to_arrow
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import LimitExceeded
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.lookup import without
from omnigraph.merging.three_way import same

if TYPE_CHECKING:
    from omnigraph.merging.three_way import Row
    from omnigraph.merging.type_merge import TypeMerge
    from omnigraph.ports.tables import Staged, Table

__all__ = ["RowChange", "row_change"]

_FETCHED_ROWS = 2**17


@dataclass(frozen=True)
class RowChange:
    """Changes of ours: replaced, inserted and deleted rows."""

    merge: TypeMerge
    replaced: pa.Table
    replaced_at: np.ndarray
    inserted: pa.Table
    deleted: pa.Array
    deleted_at: np.ndarray

    @property
    def counts(self) -> tuple[int, int, int]:
        """Inserted, updated, deleted."""
        return self.inserted.num_rows, self.replaced.num_rows, len(self.deleted)

    @property
    def change(self) -> TypeChange:
        """The same change for the evaluation of rules."""
        rows = pa.concat_tables([self.replaced, self.inserted])
        return TypeChange(self.merge.entity, Mode.MERGE, rows, self.deleted)

    @property
    def is_empty(self) -> bool:
        return not any(self.counts)

    def merged(self, table: Table) -> pa.Table:
        """Return all rows of the result; ``table`` is ours, seen through the merged definition."""
        schema = table_schema(self.merge.entity)
        gone = (self.replaced.column(ID.column), self.deleted)
        staying = without(table.scan(schema.names), ID.column, *gone)
        return pa.concat_tables([staying.cast(schema), self.replaced, self.inserted])

    def stage(self, table: Table) -> Staged | None:
        """Stage the files; None if nothing changes."""
        replace = None
        if self.replaced.num_rows:
            replace = (self.replaced_at, self.replaced)
        return table.stage_change(delete=self.deleted_at, replace=replace, insert=self.inserted)


def row_change(merge: TypeMerge, *, bytes_max: int) -> RowChange:
    """Collect the rows of a merge under the current decisions, up to ``bytes_max``."""
    replaced, inserted, gone = _Rows(merge, bytes_max), _Rows(merge, bytes_max), []
    gone_at: list[int] = []
    for entity_id, sides, row in merge.outcomes():
        if same(sides.ours, row):
            continue
        if row is None:
            gone.append(entity_id)
            gone_at.append(sides.at)
        elif sides.ours is None:
            inserted.add(row)
        else:
            replaced.add(row, sides.at)
    plain, ops = merge.plain, merge.changed.ops
    replaced.add_from_theirs(plain & (ops == ChangeOp.UPDATE))
    inserted.add_from_theirs(plain & (ops == ChangeOp.INSERT))
    deleted = plain & (ops == ChangeOp.DELETE)
    ids = [pa.array(gone, pa.string()), merge.changed.ids.filter(pa.array(deleted))]
    return RowChange(
        merge,
        *replaced.finish(),
        inserted.finish()[0],
        pa.concat_arrays(ids),
        np.concatenate([np.array(gone_at, np.uint64), merge.our_states.at[deleted]]),
    )


class _Rows:
    """A collector of rows in the columns of the type's table."""

    def __init__(self, merge: TypeMerge, bytes_max: int) -> None:
        self._merge = merge
        self._schema = table_schema(merge.entity)
        self._bytes_left = bytes_max
        self._single: list[Row] = []
        self._tables: list[pa.Table] = []
        self._at: list[np.ndarray] = []
        self._single_at: list[int] = []

    def add(self, row: Row, at: int = 0) -> None:
        self._single.append(row)
        self._single_at.append(at)

    def add_from_theirs(self, chosen: np.ndarray) -> None:
        """Add whole rows of theirs for some of the differences."""
        changed, places = self._merge.changed, np.flatnonzero(chosen)
        if changed.after is None:
            return
        for start in range(0, len(places), _FETCHED_ROWS):
            some = places[start : start + _FETCHED_ROWS]
            rows = changed.after.at(changed.after_at[some])
            self._bytes_left -= rows.nbytes
            if self._bytes_left < 0:
                raise _too_large(self._merge.entity.name)
            self._tables.append(rows.select(self._schema.names).cast(self._schema))
            self._at.append(self._merge.our_states.at[some])

    def finish(self) -> tuple[pa.Table, np.ndarray]:
        """Return the rows, each with its address."""
        single = to_arrow(self._merge.entity, self._single)
        at = [np.array(self._single_at, np.uint64), *self._at]
        return pa.concat_tables([single, *self._tables]), np.concatenate(at)


def _too_large(name: str) -> LimitExceeded:
    return LimitExceeded(
        "merge.too_large",
        f"the changes of both sides to {name} do not fit in memory; nothing was changed",
        remedy="merge more often, or use the Spark engine",
        details={"resource_limit": {"name": "merge_bytes"}},
    )
