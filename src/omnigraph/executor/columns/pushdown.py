"""Which part of a predicate a table scan can answer by itself.

``split`` turns what it can into an Arrow expression, which Lance evaluates with its indexes, and
gives back the rest. Nothing is lost: pushed and residual joined by AND are the predicate. Literals
are brought into the domain of their column first, because Lance raises on one that is not in it:
``i32 = 2.7`` matches nothing, ``i32 < 3e9`` matches every row that has a value.

A pushed predicate is true or false and never unknown, since a scan wants the rows where it is true.
So a negation is not pushed as such: it is pushed as the condition that makes its operand false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import (
    BOOL,
    FLOATS,
    INTEGER_RANGES,
    DataType,
    Scalar,
    ScalarType,
)
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import (
    And,
    Call,
    Case,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    Expr,
    InList,
    IsNull,
    MakeList,
    Not,
    Now,
    Or,
    ParamRef,
    PropertyRef,
    StringMatch,
    StringOp,
    Value,
)
from omnigraph.ir.walk import slots_read
from omnigraph.planner.pushable import is_known_to_lance
from omnigraph.semantics.domain import MIRRORED, OPPOSITES, fit_integer
from omnigraph.semantics.predicates import Interpreter

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Pushdown", "split"]


@frozen
class Pushdown:
    """A predicate in two halves. ``pushed`` None is always true, ``residual`` None as well."""

    pushed: pc.Expression | None
    residual: Expr | None


class _CannotPush(Exception):
    """This part stays with us."""


def split(
    where: Expr, columns: Mapping[str, str], params: Mapping[str, Value], now: dt.datetime
) -> Pushdown:
    """``columns`` maps property ids to column names."""
    translator = _Translator(columns, params, now)
    parts: Sequence[Expr] = where.operands if isinstance(where, And) else (where,)
    pushed, residual = [], []
    for part in parts:
        try:
            pushed.append(translator.true_where(part))
        except _CannotPush:
            residual.append(part)
    return Pushdown(_all(pushed) if pushed else None, _conjunction(residual))


def _all(parts: list[pc.Expression]) -> pc.Expression:
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined


def _any(parts: list[pc.Expression]) -> pc.Expression:
    joined = parts[0]
    for part in parts[1:]:
        joined = joined | part
    return joined


def _conjunction(parts: list[Expr]) -> Expr | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


class _Translator:
    def __init__(
        self, columns: Mapping[str, str], params: Mapping[str, Value], now: dt.datetime
    ) -> None:
        self._columns = columns
        self._params = params
        self._now = now

    def true_where(self, expr: Expr) -> pc.Expression:
        """Where an expression is true."""
        match expr:
            case And(operands):
                return _all([self.true_where(part) for part in operands])
            case Or(operands):
                return _any([self.true_where(part) for part in operands])
            case Not(operand):
                return self._false_where(operand)
            case PropertyRef(dtype=dtype) if dtype == BOOL:
                return self._field(expr)
            case IsNull(PropertyRef() as ref, negated):
                field = self._field(ref)
                return field.is_valid() if negated else field.is_null()
            case _:
                return self._compared(expr)

    def _compared(self, expr: Expr) -> pc.Expression:
        match expr:
            case Compare(op, PropertyRef() as ref, right):
                return self._compare(op, ref, self._constant(right))
            case Compare(op, left, PropertyRef() as ref):
                return self._compare(MIRRORED[op], ref, self._constant(left))
            case InList(PropertyRef() as ref, options):
                return self._among(ref, self._constant(options))
            case StringMatch(op, PropertyRef() as ref, needle):
                return self._match(op, ref, self._constant(needle))
            case _:
                raise _CannotPush

    def _false_where(self, expr: Expr) -> pc.Expression:
        """Where an expression is false, which is not all of where it is not true."""
        match expr:
            case And(operands):
                return _any([self._false_where(part) for part in operands])
            case Or(operands):
                return _all([self._false_where(part) for part in operands])
            case Not(operand):
                return self.true_where(operand)
            case IsNull(operand, negated):
                return self.true_where(IsNull(operand, not negated))
            case Compare(op, left, right):
                return self.true_where(Compare(OPPOSITES[op], left, right))
            case PropertyRef(dtype=dtype) if dtype == BOOL:
                return ~self._field(expr)
            case InList(PropertyRef() as ref, options):
                return self._not_among(ref, self._constant(options))
            case StringMatch(op, PropertyRef() as ref, needle):
                text = self._constant(needle)
                return _NEVER if text is None else ~self._match(op, ref, text)
            case _:
                raise _CannotPush

    def _field(self, ref: PropertyRef) -> pc.Expression:
        if not is_known_to_lance(ref):
            raise _CannotPush
        return pc.field(self._columns[ref.prop])

    def _constant(self, expr: Expr) -> Value:
        match expr:
            case Const(value=value):
                return value
            case ParamRef(name=name):
                return self._params[name]
            case Now():
                return self._now
            case MakeList() | Call() | Case() | Coalesce() if not slots_read(expr):
                return Interpreter(self._params, self._now).constant(expr)
            case _:
                raise _CannotPush

    def _compare(self, op: CompareOp, ref: PropertyRef, value: Value) -> pc.Expression:
        field = self._field(ref)
        if value is None:
            return _NEVER
        fitted = _fit(op, value, ref.dtype)
        if isinstance(fitted, bool) and not isinstance(value, bool):
            # Decided without looking: true for every row that has a value, or for none.
            return field.is_valid() if fitted else _NEVER
        return _COMPARISONS[op](field, pa.scalar(fitted, arrow_type(ref.dtype)))

    def _among(self, ref: PropertyRef, options: Value) -> pc.Expression:
        field = self._field(ref)
        fitted = _fitted_options(ref, options)
        return field.isin(pa.array(fitted, arrow_type(ref.dtype))) if fitted else _NEVER

    def _not_among(self, ref: PropertyRef, options: Value) -> pc.Expression:
        field = self._field(ref)
        if options is None or (isinstance(options, tuple | list) and None in options):
            # Whether it is one of them stays open, so nothing is certainly none of them.
            return _NEVER
        fitted = _fitted_options(ref, options)
        if not fitted:
            return field.is_valid()
        return field.is_valid() & ~field.isin(pa.array(fitted, arrow_type(ref.dtype)))

    def _match(self, op: StringOp, ref: PropertyRef, text: Value) -> pc.Expression:
        field = self._field(ref)
        if not isinstance(text, str):
            return _NEVER
        match op:
            case StringOp.STARTS_WITH:
                return pc.starts_with(field, text)
            case StringOp.CONTAINS:
                return pc.match_substring(field, text)
            case StringOp.ENDS_WITH | StringOp.MATCHES:
                raise _CannotPush


_NEVER = pc.scalar(False)  # noqa: FBT003

_COMPARISONS: dict[CompareOp, Callable[[pc.Expression, pa.Scalar], pc.Expression]] = {
    CompareOp.EQ: lambda field, value: field == value,
    CompareOp.NE: lambda field, value: field != value,
    CompareOp.LT: lambda field, value: field < value,
    CompareOp.LE: lambda field, value: field <= value,
    CompareOp.GT: lambda field, value: field > value,
    CompareOp.GE: lambda field, value: field >= value,
}


def _fitted_options(ref: PropertyRef, options: Value) -> list[Value]:
    """The options that the column can hold."""
    if not isinstance(options, tuple | list):
        return []
    fitted = [_fit(CompareOp.EQ, option, ref.dtype) for option in options if option is not None]
    if ref.dtype == BOOL:
        return fitted
    return [option for option in fitted if not isinstance(option, bool)]


def _fit(op: CompareOp, value: Value, dtype: DataType) -> Value:
    """The literal in the domain of the column, or the verdict when the domain decides alone."""
    if not isinstance(dtype, ScalarType) or isinstance(value, bool):
        return value
    if dtype.scalar in INTEGER_RANGES and isinstance(value, int | float):
        return fit_integer(op, value, dtype.scalar)
    if dtype.scalar in FLOATS and isinstance(value, int | float):
        return _fit_float(value, dtype.scalar)
    return value


def _fit_float(value: float, scalar: Scalar) -> Value:
    number = float(value)
    if scalar is Scalar.F64 and number == value:
        return number
    # A 32-bit column compares as what it holds; a literal beyond its precision stays with us.
    narrowed = pa.scalar(number, pa.float32()).as_py() if scalar is Scalar.F32 else number
    if narrowed != value:
        raise _CannotPush
    return narrowed
