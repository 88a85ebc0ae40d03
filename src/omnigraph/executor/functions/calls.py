"""Calls of functions: by a kernel, over the distinct values of a text column, or value by value."""

from __future__ import annotations

from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.functions.kernels import kernel_of
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.comparison import ColumnOperand, ConstantOperand
from omnigraph.semantics.functions.apply import definition, takes_nulls
from omnigraph.semantics.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from omnigraph.datatypes.types import DataType
    from omnigraph.ir.expressions import Call
    from omnigraph.runtime.budget import Meter

    Operand = ColumnOperand | ConstantOperand

__all__ = ["call_rows", "make_array"]

# A deadline is noticed, and memory counted, once in so many values.
_CHUNK = 4_096


def call_rows(call: Call, operands: Sequence[Operand], count: int, meter: Meter) -> Vector:
    """The value of a function for each row."""
    kernel = kernel_of(call.func)
    if kernel is not None:
        found = kernel(call.func, call.dtype, operands, count)
        if found is not None:
            return Vector(Column(found))
    columns = [each for each in operands if isinstance(each, ColumnOperand)]
    if len(columns) == 1 and columns[0].vector.column.is_text and count > 1:
        return _over_texts(call, operands, columns[0], meter)
    return Vector(Column(_one_by_one(call, operands, count, meter)))


def _over_texts(
    call: Call, operands: Sequence[Operand], texts: ColumnOperand, meter: Meter
) -> Vector:
    """Apply the function to the distinct texts of a column."""
    encoded = texts.vector.arrow().dictionary_encode(null_encoding="encode")
    distinct = ColumnOperand(Vector(Column(encoded.dictionary)), texts.dtype)
    replaced = [distinct if each is texts else each for each in operands]
    found = _one_by_one(call, replaced, len(encoded.dictionary), meter)
    return Vector(Column(found.take(encoded.indices)))


def _one_by_one(call: Call, operands: Sequence[Operand], count: int, meter: Meter) -> pa.Array:
    function = definition(call.func)
    strict = not takes_nulls(call.func)
    dtype = call.dtype

    def apply(args: tuple[Any, ...]) -> Any:
        if strict and None in args:
            return None
        return function(dtype, *args)

    rows = zip(*(_values(each) for each in operands), strict=False) if operands else repeat(())
    return make_array(apply, iter(rows), count, dtype, meter)


def make_array(
    apply: Callable[[Any], Any], rows: Iterator[Any], count: int, dtype: DataType, meter: Meter
) -> pa.Array:
    """An array of so many results, whose memory is counted while it grows."""
    target = arrow_type(dtype)
    chunks: list[pa.Array] = []
    held = 0
    for start in range(0, count, _CHUNK):
        meter.check()
        cells = [apply(row) for row in islice(rows, min(_CHUNK, count - start))]
        chunks.append(pa.array(cells, target))
        held += chunks[-1].nbytes
        meter.hold(chunks[-1].nbytes)
    meter.release(held)
    if not chunks:
        return pa.nulls(0, target)
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _values(operand: Operand) -> Iterator[Any]:
    if isinstance(operand, ConstantOperand):
        return repeat(operand.value)
    values, dtype = operand.vector.arrow().to_pylist(), operand.dtype
    return (canonical(value, dtype) for value in values)
