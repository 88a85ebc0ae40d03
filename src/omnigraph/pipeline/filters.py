"""Filters of Spark as expressions of Arrow, where a table answers them as Spark would."""

from __future__ import annotations

import datetime as dt
import operator
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as ds

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import EnumType, Scalar, ScalarType
from omnigraph.datatypes.values import ValueProblem, coerce_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from omnigraph.catalog.model import Property

__all__ = ["to_expression"]

# Of 32-bit floats a literal is not what is stored; unsigned numbers have no structured form.
_LEFT_TO_SPARK = frozenset({Scalar.F32, Scalar.U32, Scalar.U64, Scalar.BLOB})


def to_expression(wanted: ds.Filter, columns: Mapping[str, Property]) -> Any:
    """The expression of a filter; None when Spark has to apply it."""
    match wanted:
        case ds.Not(child=child):
            # NULL stays NULL under a negation, in Lance as in Spark.
            inner = to_expression(child, columns)
            return None if inner is None else ~inner
        case ds.In(attribute=attribute, value=values):
            prop = _column(attribute, columns)
            literals = [_literal(prop, value) for value in values if value is not None]
            if prop is None or not literals or None in literals:
                return None
            return reduce(operator.or_, [pc.field(prop.column) == literal for literal in literals])
        case ds.IsNull(attribute=attribute) | ds.IsNotNull(attribute=attribute):
            prop = _column(attribute, columns, any_type=True)
            if prop is None:
                return None
            is_null = pc.field(prop.column).is_null()
            return is_null if isinstance(wanted, ds.IsNull) else ~is_null
        case ds.StringStartsWith(attribute=attribute, value=value):
            prop = _column(attribute, columns)
            if prop is None or not isinstance(value, str):
                return None
            return pc.starts_with(pc.field(prop.column), pattern=value)
        case _:
            return _comparison(wanted, columns)


def _comparison(wanted: Any, columns: Mapping[str, Property]) -> Any:
    compare = _OPERATORS.get(type(wanted))
    if compare is None:
        return None
    prop = _column(wanted.attribute, columns)
    literal = None if prop is None else _literal(prop, wanted.value)
    return None if prop is None or literal is None else compare(pc.field(prop.column), literal)


_OPERATORS: dict[type[ds.Filter], Callable[[Any, Any], Any]] = {
    ds.EqualTo: operator.eq,
    ds.GreaterThan: operator.gt,
    ds.GreaterThanOrEqual: operator.ge,
    ds.LessThan: operator.lt,
    ds.LessThanOrEqual: operator.le,
}


def _column(
    attribute: tuple[str, ...], columns: Mapping[str, Property], *, any_type: bool = False
) -> Property | None:
    prop = columns.get(attribute[0]) if len(attribute) == 1 else None
    if prop is None or any_type:
        return prop
    match prop.dtype:
        case ScalarType(scalar) if scalar not in _LEFT_TO_SPARK:
            return prop
        case EnumType():
            return prop
        case _:
            return None


def _literal(prop: Property | None, value: Any) -> pa.Scalar | None:
    """A value in the type of a column; None when it is not one of it."""
    if prop is None or value is None:
        return None
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        # Spark passes instants in the time zone of the session, without saying which.
        return None
    dtype = ScalarType(Scalar.STRING) if isinstance(prop.dtype, EnumType) else prop.dtype
    try:
        typed = coerce_json(value, dtype)
    except ValueProblem:
        return None
    return pa.scalar(typed, arrow_type(dtype))
