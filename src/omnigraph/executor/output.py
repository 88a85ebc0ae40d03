"""From bindings to the typed result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.api.results import Cells
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, PropertyId, TypeId
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import ListType, Scalar
from omnigraph.errors import InvariantBroken
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import EntityRef, PropertyRef, type_of
from omnigraph.ir.queries import EntitySlot
from omnigraph.ir.walk import nodes
from omnigraph.planner.passes.projection import entity_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import PlanRun
    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.ir.queries import ReadIR
    from omnigraph.semantics.columns.column import Vector

    Fetched = Mapping[Slot, Mapping[str, Vector]]
    Ints = npt.NDArray[np.int64]

__all__ = ["Output"]

# The rows of the first batch, the most that a batch has, and about what it weighs.
_FIRST_ROWS = 1_024
_BATCH_ROWS = 16_384
_BATCH_BYTES = 1 << 26
_NAMES = {ID.id: "id", SRC.id: "from", DST.id: "to"}


@frozen
class _Column:
    """One column: an expression, its type, and for an entity its fields by property."""

    expr: Expr
    field: pa.Field
    nullable: bool
    shape: Mapping[str, pa.Field] | None


class Output:
    """Makes the result of one query out of rows; prepared once, used by every run."""

    def __init__(self, ir: ReadIR, catalog: Catalog) -> None:
        self._columns = [
            _column(projection.expr, catalog, column.name, nullable=column.nullable)
            for projection, column in zip(ir.returns, ir.columns, strict=True)
        ]
        self.schema = pa.schema([column.field for column in self._columns])
        # Slots whose entities may be NULL; their values are read by the evaluator.
        slots = (each for each in nodes(ir) if isinstance(each, EntitySlot))
        self._optional = frozenset(each.slot for each in slots if each.nullable)
        self._wanted: dict[Slot, list[str]] = {}
        for column in self._columns:
            self._want(column)

    def cells(self, rows: Bindings, run: PlanRun) -> Cells:
        """The values of a few rows."""
        fetched = self._fetched(rows, run)
        columns = [self._cells(column, rows, run, fetched) for column in self._columns]
        return Cells(self.schema, columns, rows.count)

    def table(self, rows: Bindings, run: PlanRun) -> pa.Table:
        """All rows, within the memory of the query."""
        fetched = self._fetched(rows, run)
        if rows.count <= _FIRST_ROWS:
            return pa.Table.from_arrays(self._arrays(rows, run, fetched), schema=self.schema)
        batches = []
        for batch in self._batches(rows, run, fetched):
            run.context.meter.hold(batch.nbytes)
            batches.append(batch)
        return pa.Table.from_batches(batches, schema=self.schema)

    def batches(self, rows: Bindings, run: PlanRun) -> Iterator[pa.RecordBatch]:
        """All rows, their values read a batch at a time."""
        return self._batches(rows, run, None)

    def _batches(
        self, rows: Bindings, run: PlanRun, fetched: Fetched | None
    ) -> Iterator[pa.RecordBatch]:
        start, size = 0, _FIRST_ROWS
        while start < rows.count:
            run.context.meter.check()
            places = np.arange(start, min(start + size, rows.count))
            some = rows.take(places)
            if fetched is None:
                known = self._fetched(some, run, passing=True)
            else:
                known = _some_of(fetched, places)
            arrays = self._arrays(some, run, known)
            batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            yield batch
            start += len(places)
            # One text may be found by many rows: their number is a poor measure of their size.
            size = min(_BATCH_ROWS, max(1, _BATCH_BYTES * len(places) // max(batch.nbytes, 1)))

    def _arrays(self, rows: Bindings, run: PlanRun, fetched: Fetched) -> list[pa.Array]:
        return [self._array(column, rows, run, fetched) for column in self._columns]

    def _fetched(self, rows: Bindings, run: PlanRun, *, passing: bool = False) -> Fetched:
        if not self._wanted:
            return {}
        return {
            slot: run.space_of(slot).fetch(props, rows.columns[slot], passing=passing)
            for slot, props in self._wanted.items()
            if slot in rows.columns
        }

    def _cells(self, column: _Column, rows: Bindings, run: PlanRun, fetched: Fetched) -> list[Any]:
        expr = column.expr
        known = rows.computed.get(id(expr))
        if known is not None:
            cells = known.cells()
        elif isinstance(expr, PropertyRef) and expr.slot not in self._optional:
            cells = fetched[expr.slot][expr.prop].cells()
        else:
            cells = self._array(column, rows, run, fetched).to_pylist()
        if not column.nullable and None in cells:
            raise _never_null(column)
        return cells

    def _want(self, column: _Column) -> None:
        """Properties of one slot are read at once."""
        match column.expr:
            case EntityRef(slot) | PropertyRef(slot) if slot in self._optional:
                pass
            case EntityRef(slot) if column.shape is not None:
                self._wanted.setdefault(slot, []).extend(column.shape)
            case PropertyRef(slot, prop):
                self._wanted.setdefault(slot, []).append(prop)
            case _:
                pass

    def _array(
        self,
        column: _Column,
        rows: Bindings,
        run: PlanRun,
        fetched: Mapping[Slot, Mapping[str, Vector]],
    ) -> pa.Array:
        expr = column.expr
        known = rows.computed.get(id(expr))
        if known is not None:
            array = _fitted(known.arrow(), column.field.type)
        elif isinstance(expr, EntityRef) and expr.slot in self._optional:
            array = _optional_entities(column, expr.slot, rows, run)
        elif isinstance(expr, EntityRef) and column.shape is not None:
            values = fetched[expr.slot]
            array = pa.StructArray.from_arrays(
                [_fitted(values[prop].arrow(), field.type) for prop, field in column.shape.items()],
                fields=list(column.shape.values()),
            )
        elif isinstance(expr, PropertyRef) and expr.slot not in self._optional:
            array = _fitted(fetched[expr.slot][expr.prop].arrow(), column.field.type)
        else:
            array = _fitted(run.vector(expr, rows).arrow(), column.field.type)
        if array.null_count and not column.nullable:
            raise _never_null(column)
        return array


def _optional_entities(column: _Column, slot: Slot, rows: Bindings, run: PlanRun) -> pa.Array:
    """Whole entities, of which some are NULL."""
    entity = run.catalog.types[TypeId(run.plan.types[slot])]
    shape = column.shape or {}
    refs = [
        PropertyRef(slot, prop, entity.by_id[PropertyId(prop)].dtype, nullable=True)
        for prop in shape
    ]
    arrays = [
        _fitted(run.vector(ref, rows).arrow(), field.type)
        for ref, field in zip(refs, shape.values(), strict=True)
    ]
    missing = pa.array(rows.columns[slot] < 0)
    return pa.StructArray.from_arrays(arrays, fields=list(shape.values()), mask=missing)


def _some_of(fetched: Fetched, places: Ints) -> Fetched:
    """The values of some rows."""
    return {
        slot: {prop: values.take(places) for prop, values in props.items()}
        for slot, props in fetched.items()
    }


def _never_null(column: _Column) -> InvariantBroken:
    return InvariantBroken(10, f"the column {column.field.name} was compiled as never NULL")


def _column(expr: Expr, catalog: Catalog, name: str, *, nullable: bool) -> _Column:
    if isinstance(expr, EntityRef):
        shape = _shape(catalog.types[TypeId(expr.type_id)])
        dtype: Any = pa.struct(list(shape.values()))
        return _Column(expr, pa.field(name, dtype, nullable=nullable), nullable, shape)
    # A list of enum values has no type of its own.
    dtype = arrow_type(type_of(expr) or ListType(Scalar.STRING))
    return _Column(expr, pa.field(name, dtype, nullable=nullable), nullable, None)


def _shape(entity: EntityType) -> Mapping[str, pa.Field]:
    """The fields of a whole entity by property."""
    ends = (SRC.id, DST.id) if isinstance(entity, EdgeType) else ()
    shape = {}
    for prop_id in entity_properties(entity):
        prop = entity.by_id[PropertyId(prop_id)]
        name = _NAMES.get(prop.id, prop.name) if prop_id in (ID.id, *ends) else prop.name
        shape[prop_id] = pa.field(name, arrow_type(prop.dtype), nullable=prop.nullable)
    return shape


def _fitted(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    return array if array.type == dtype else array.cast(dtype)
