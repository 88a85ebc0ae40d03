"""Row numbers for entities.

A *space* numbers the entities of one type for one query and gives their values. There are two ways
to number: by position in the pinned table, where columns and topology are in memory
(``PositionSpace``), or by first mention, where only what is needed is fetched by id (``IdSpace``).
Operators do not know which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID, PropertyId
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.cache import pin_key
from omnigraph.executor.columns.id_index import node_missing
from omnigraph.executor.columns.pushdown import split
from omnigraph.ir.expressions import And
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.semantics.columns.column import Column, Vector, joined_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from omnigraph.catalog.model import EntityType
    from omnigraph.executor.columns.pinned_columns import PinnedColumns
    from omnigraph.executor.context import Context
    from omnigraph.ir.expressions import Expr
    from omnigraph.ports.tables import Table

    Ints = npt.NDArray[np.int64]

__all__ = ["IdSpace", "PositionSpace", "RowSpace", "ValueSpace"]

# Fetching more ids than this at once is slower than reading the table through.
_FETCH_MAX = 2_000
_NONE = np.empty(0, np.int64)


class RowSpace(Protocol):
    """The entities of one type, numbered."""

    @property
    def size(self) -> int:
        """All numbers in use are below it."""
        ...

    def candidates(
        self, ids: Sequence[str] | None, filters: Sequence[Expr]
    ) -> tuple[Ints | None, Sequence[Expr]]:
        """Rows that may pass (None: all of them), and the filters that they have yet to pass."""
        ...

    def vector(self, prop: str, rows: Ints | None) -> Vector:
        """The values of a property; None rows are all."""
        ...

    def fetch(
        self, props: Sequence[str], rows: Ints, *, passing: bool = False
    ) -> Mapping[str, Vector]:
        """Several properties at once; ``passing``: one batch of many, not needed after the next."""
        ...

    def ranks(self, rows: Ints) -> Ints:
        """Numbers in the order of the ids."""
        ...


class PositionSpace:
    """Entities by their place in the pinned table."""

    __slots__ = ("_properties", "columns", "entity")

    def __init__(self, entity: EntityType, columns: PinnedColumns) -> None:
        self.entity = entity
        self.columns = columns
        self._properties = entity.by_id

    @property
    def size(self) -> int:
        return self.columns.rows

    def candidates(
        self, ids: Sequence[str] | None, filters: Sequence[Expr]
    ) -> tuple[Ints | None, Sequence[Expr]]:
        if ids is None:
            return None, filters
        index = self.columns.ids()
        if len(ids) == 1:
            return index.find_one(ids[0]), filters
        found = index.find(list(dict.fromkeys(ids)))
        return found[found >= 0], filters

    def vector(self, prop: str, rows: Ints | None) -> Vector:
        return self.columns.vector(self._properties[PropertyId(prop)].column, rows)

    def fetch(
        self, props: Sequence[str], rows: Ints, *, passing: bool = False
    ) -> Mapping[str, Vector]:
        names = {prop: self._properties[PropertyId(prop)].column for prop in props}
        wanted = list(dict.fromkeys(names.values()))
        found = self.columns.vectors(wanted, rows, passing=passing)
        return {prop: found[name] for prop, name in names.items()}

    def ranks(self, rows: Ints) -> Ints:
        if self.columns.has_ids or 8 * len(rows) >= self.size:
            return self.columns.ids().ranks(rows)
        return self.vector("@id", rows).ordered().codes


class ValueSpace:
    """The distinct values of a slot, in their order; NULL is the first."""

    __slots__ = ("_column",)

    def __init__(self, column: Column) -> None:
        self._column = column

    @property
    def size(self) -> int:
        return len(self._column)

    def candidates(
        self,
        ids: Sequence[str] | None,  # noqa: ARG002 - values are found by no id
        filters: Sequence[Expr],
    ) -> tuple[Ints | None, Sequence[Expr]]:
        return None, filters

    def vector(self, prop: str, rows: Ints | None) -> Vector:  # noqa: ARG002 - a value has no properties
        return Vector(self._column, rows)

    def fetch(
        self,
        props: Sequence[str],
        rows: Ints,
        *,
        passing: bool = False,  # noqa: ARG002 - values are in memory
    ) -> Mapping[str, Vector]:
        return {prop: self.vector(prop, rows) for prop in props}

    def ranks(self, rows: Ints) -> Ints:
        return rows


class IdSpace:
    """Entities by first mention; what is known of them is fetched by id."""

    def __init__(
        self,
        entity: EntityType,
        table: Table,
        context: Context,
        *,
        early: Sequence[str],
        late: Sequence[str],
    ) -> None:
        self.entity = entity
        self._table = table
        self._names: Mapping[str, str] = {
            prop_id: prop.column for prop_id, prop in entity.by_id.items()
        }
        self._context = context
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        # Columns that filters, hops and orders need, and columns that are only returned.
        first = [prop for prop in early if prop != ID.id]
        self._shelves = (
            _Shelf(_column_types(entity, first)),
            _Shelf(_column_types(entity, [prop for prop in late if prop not in (*early, ID.id)])),
        )
        self._ids: Column | None = None

    @property
    def size(self) -> int:
        return len(self._texts)

    def candidates(
        self, ids: Sequence[str] | None, filters: Sequence[Expr]
    ) -> tuple[Ints | None, Sequence[Expr]]:
        pushed, rest = None, filters
        if filters:
            where, context = And(tuple(filters)), self._context
            halves = split(where, self._names, context.params, context.now)
            pushed = halves.pushed
            rest = () if halves.residual is None else (halves.residual,)
        if ids is not None:
            chosen = pc.field("id").isin(pa.array(ids, pa.string()))
            pushed = chosen if pushed is None else chosen & pushed
        return self._read(self._shelves[0], pushed), rest

    def vector(self, prop: str, rows: Ints | None) -> Vector:
        rows = np.arange(self.size) if rows is None else rows
        if prop == "@id":
            if self._ids is None or len(self._ids) != self.size:
                self._ids = Column(pa.array(self._texts, pa.string()))
            return Vector(self._ids, rows)
        name = self._names[prop]
        shelf = self._shelves[0] if name in self._shelves[0].names else self._shelves[1]
        missing = shelf.missing(rows, self.size)
        if len(missing):
            self._fetch_missing(shelf, missing)
        return shelf.vector(name, rows)

    def fetch(
        self,
        props: Sequence[str],
        rows: Ints,
        *,
        passing: bool = False,  # noqa: ARG002 - what was looked up is found again by its number
    ) -> Mapping[str, Vector]:
        return {prop: self.vector(prop, rows) for prop in props}

    def ranks(self, rows: Ints) -> Ints:
        return self.vector("@id", rows).ordered().codes

    # --- for the hops of looked-up adjacency ---

    def numbers_of(self, ids: pa.ChunkedArray | pa.Array) -> Ints:
        """The numbers of ids, new ones for ids that were not mentioned yet."""
        encoded = pa.chunked_array([ids]) if isinstance(ids, pa.Array) else ids
        joined = encoded.combine_chunks().dictionary_encode()
        codes, texts = self._codes, self._texts
        numbers = np.empty(len(joined.dictionary), np.int64)
        for place, text in enumerate(joined.dictionary.to_pylist()):
            number = codes.get(text)
            if number is None:
                number = codes[text] = len(texts)
                texts.append(text)
            numbers[place] = number
        return numbers[joined.indices.to_numpy()] if len(joined) else _NONE

    def texts(self, rows: Ints) -> list[str]:
        """The ids of rows."""
        texts = self._texts
        return [texts[row] for row in rows.tolist()]

    def read_edges(self, endpoint: str, ids: Sequence[str], *, whole: bool) -> pa.Table:
        """The edges that have one of these ids at an endpoint; ``whole`` with their columns."""
        names = ["src", "dst"]
        if whole:
            names = ["id", *dict.fromkeys((*names, *self._shelves[0].names))]
        return self._scan(names, endpoint, ids)

    def numbers_of_rows(self, rows: pa.Table) -> Ints:
        """The numbers of fetched rows, which are kept."""
        numbers = self.numbers_of(rows.column("id"))
        self._shelves[0].add(numbers, rows, self.size)
        return numbers

    # --- reading ---

    def _read(self, shelf: _Shelf, pushed: pc.Expression | None) -> Ints:
        table = self._timed(["id", *shelf.names], pushed)
        numbers = self.numbers_of(table.column("id"))
        shelf.add(numbers, table, self.size)
        return numbers

    def _fetch_missing(self, shelf: _Shelf, rows: Ints) -> None:
        table = self._scan(["id", *shelf.names], "id", self.texts(rows))
        shelf.add(self.numbers_of(table.column("id")), table, self.size)
        if len(absent := shelf.missing(rows, self.size)):
            # Its place would be -1, which numpy takes for the last row: another's values.
            raise node_missing(self._table.pin.path, self.texts(absent))

    def _scan(self, names: Sequence[str], column: str, ids: Sequence[str]) -> pa.Table:
        wanted = pa.array(ids, pa.string())
        if len(ids) <= _FETCH_MAX:
            return self._timed(names, pc.field(column).isin(wanted))
        table = self._timed(names, None)
        return table.filter(pc.is_in(table.column(column), value_set=wanted))

    def _timed(self, names: Sequence[str], pushed: pc.Expression | None) -> pa.Table:
        started = SYSTEM_CLOCK.monotonic()
        table = self._table.scan(names, filter=pushed)
        seconds = SYSTEM_CLOCK.monotonic() - started
        self._context.cache.spend(pin_key(self._table.pin), seconds)
        self._context.meter.hold(table.nbytes)
        self._context.meter.check()
        return table


class _Shelf:
    """Fetched rows of some columns, found by number."""

    __slots__ = ("_columns", "_parts", "_place", "_rows", "_types", "names")

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self.names = tuple(types)
        self._types = types
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._place = _NONE
        self._columns: dict[str, Column] = {}

    def missing(self, rows: Ints, size: int) -> Ints:
        """The numbers among these that were not fetched."""
        self._make_room(size)
        return np.unique(rows[self._place[rows] < 0])

    def add(self, numbers: Ints, table: pa.Table, size: int) -> None:
        self._make_room(size)
        self._place[numbers] = np.arange(self._rows, self._rows + len(numbers))
        self._parts.append(table.select(list(self.names)))
        self._rows += len(numbers)
        self._columns.clear()

    def vector(self, name: str, rows: Ints) -> Vector:
        column = self._columns.get(name)
        if column is None:
            chunks = [chunk for part in self._parts for chunk in part.column(name).chunks]
            column = Column(joined_array(pa.chunked_array(chunks, self._types[name])))
            self._columns[name] = column
        return Vector(column, self._place[rows])

    def _make_room(self, size: int) -> None:
        if len(self._place) < size:
            room = np.full(max(size, 2 * len(self._place)), -1, np.int64)
            room[: len(self._place)] = self._place
            self._place = room


def _column_types(entity: EntityType, props: Sequence[str]) -> Mapping[str, pa.DataType]:
    found = [entity.by_id[PropertyId(prop)] for prop in props]
    return {prop.column: arrow_type(prop.dtype) for prop in found}
