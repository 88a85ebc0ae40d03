"""The one provider of columns: whole columns of a pin, kept or loaded, or a few rows of them.

Operators never ask Lance for values. A column that is kept answers from memory; of one that is not,
a few rows are taken, and many are a reason to load it whole. A stream, whose values pass by, takes
its rows batch by batch where the whole would not fit the memory of the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.executor.cache import pin_key
from omnigraph.executor.columns.id_index import IdIndex
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.semantics.columns.column import Column, Vector, joined_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from omnigraph.executor.context import Context
    from omnigraph.ports.tables import Pin, Table

    Ints = npt.NDArray[np.int64]

__all__ = ["PinnedColumns", "column_key", "index_key"]

_ID = "id"
# So small a table is loaded whole: taking rows costs as much.
_SMALL_ROWS = 8_192
# Taking fewer rows than this share of a table is cheaper than loading the column.
_TAKE_SHARE = 64
# A stream leaves this share of its memory to the rest of the query.
_SPARE_SHARE = 4
# The cost of loading a column, roughly.
_LOAD_SECONDS_PER_ROW = 50e-9


def column_key(pin: tuple[str, int, str], name: str) -> tuple[object, ...]:
    return (*pin, "column", name)


def index_key(pin: tuple[str, int, str]) -> tuple[object, ...]:
    return (*pin, "ids")


class PinnedColumns:
    """The columns of one table at one pin, for one query at a time."""

    __slots__ = ("_context", "_held", "_index_key", "_open", "_too_large", "key", "rows")

    def __init__(self, pin: Pin, open_table: Callable[[], Table], context: Context) -> None:
        self._open = open_table
        self._context = context
        self.key = pin_key(pin)
        self._index_key = index_key(self.key)
        # Columns of this query stay, whatever the cache evicts.
        self._held: dict[str, Column] = {}
        # Columns that a stream found to be larger than its memory.
        self._too_large: set[str] = set()
        self.rows = pin.rows

    def vector(self, name: str, rows: Ints | None) -> Vector:
        """The values of some rows, or of all."""
        column = self._find(name)
        if column is not None:
            return Vector(column, rows)
        if rows is not None and self._is_few(len(rows), name):
            return Vector(self._taken([name], rows)[name])
        return Vector(self.column(name), rows)

    def vectors(
        self, names: Sequence[str], rows: Ints, *, passing: bool = False
    ) -> dict[str, Vector]:
        """Several columns of some rows, those that are missing read at once; ``passing``: these
        are some of many, and gone when the next are asked for."""
        missing = [name for name in names if self._find(name) is None]
        if not missing:
            return {name: Vector(self._held[name], rows) for name in names}
        taken: dict[str, Column] = {}
        if self._is_few(len(rows), missing[0]) or (passing and not self._load_if_it_fits(missing)):
            taken = self._taken(missing, rows, passing=passing)
        elif not passing:
            self._load(missing)
        return {
            name: Vector(taken[name]) if name in taken else Vector(self._held[name], rows)
            for name in names
        }

    def column(self, name: str) -> Column:
        """A whole column."""
        found = self._find(name)
        if found is None:
            self._load([name])
        return self._held[name]

    def ids(self) -> IdIndex:
        """The index of the ids."""
        key, cache = self._index_key, self._context.cache
        found: IdIndex | None = cache.get(key)
        return cache.get_or_make(key, self._make_index) if found is None else found

    @property
    def has_ids(self) -> bool:
        return self._index_key in self._context.cache

    def let_go(self) -> None:
        """The query has ended: what is kept, the cache keeps."""
        self._held.clear()
        self._too_large.clear()

    def _make_index(self) -> IdIndex:
        index = IdIndex(self.column(_ID).array)
        self._context.meter.hold(index.nbytes)
        return index

    def _is_few(self, count: int, name: str) -> bool:
        """Whether taking rows is cheaper than loading a column, this time and by now."""
        if self.rows <= _SMALL_ROWS or count * _TAKE_SHARE > self.rows:
            return False
        return (
            self._context.cache.spent(column_key(self.key, name))
            < _LOAD_SECONDS_PER_ROW * self.rows
        )

    def _find(self, name: str) -> Column | None:
        held = self._held.get(name)
        if held is None:
            held = self._context.cache.get(column_key(self.key, name))
            if held is not None:
                self._held[name] = held
        return held

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns that are read through once and not kept."""
        for batch in self._open().batches(names):
            self._context.meter.check()
            yield batch

    def _load(self, names: Sequence[str]) -> None:
        chunks: list[pa.RecordBatch] = []
        for batch in self.batches(names):
            self._context.meter.hold(batch.nbytes)
            chunks.append(batch)
        self._hold(names, chunks)

    def _load_if_it_fits(self, names: Sequence[str]) -> bool:
        """The same, unless it would take more than most of the memory that is left."""
        if not self._too_large.isdisjoint(names):
            return False
        meter = self._context.meter
        chunks: list[pa.RecordBatch] = []
        size = 0
        for batch in self.batches(names):
            size += batch.nbytes
            if not meter.has_room(size + size // _SPARE_SHARE):
                self._too_large.update(names)
                return False
            chunks.append(batch)
        meter.hold(size)
        self._hold(names, chunks)
        return True

    def _hold(self, names: Sequence[str], chunks: Sequence[pa.RecordBatch]) -> None:
        schema = chunks[0].schema if chunks else _fields(self._open().schema, names)
        loaded = pa.Table.from_batches(chunks, schema=schema)
        for name in names:
            self._held[name] = self._keep(name, joined_array(loaded.column(name)))

    def _keep(self, name: str, array: pa.Array) -> Column:
        # The cache outlives this query: what it keeps must not hold on to the query.
        cache, key = self._context.cache, column_key(self.key, name)
        column = Column(array, kept=True, on_growth=lambda: cache.weigh(key, column))
        cache.put(key, column)
        return column

    def _taken(
        self, names: Sequence[str], rows: Ints, *, passing: bool = False
    ) -> dict[str, Column]:
        started = SYSTEM_CLOCK.monotonic()
        table = self._open().take(rows, names)
        seconds = SYSTEM_CLOCK.monotonic() - started
        for name in names:
            self._context.cache.spend(column_key(self.key, name), seconds)
        meter = self._context.meter
        meter.hold(table.nbytes)
        meter.check()
        if passing:
            meter.release(table.nbytes)
        return {name: Column(joined_array(table.column(name))) for name in names}


def _fields(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])
