"""Random typed expressions over properties, for reads that are made as IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    INTEGER_RANGES,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    is_numeric,
)
from omnigraph.ir.expressions import (
    Call,
    Case,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    Expr,
    IsNull,
    MakeList,
    Quantified,
    Quantifier,
    Slot,
    StringMatch,
    StringOp,
    ValueRef,
    ValueSlot,
    type_of,
)
from omnigraph.ir.functions import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ir.expressions import PropertyRef

__all__ = ["computed", "computed_conditions", "numbers", "texts"]

U64 = ScalarType(Scalar.U64)
# Slots of items: no pattern has so many.
_ITEM_SLOT = 100_000
_PATTERNS = ("a.*", "[a-z]+", ".", "(gr|GR).*", r"\w+", "")
_UNITS = ("year", "quarter", "month", "week", "day")


def _integer_type(*exprs: Expr) -> DataType:
    return U64 if U64 in map(type_of, exprs) else I64


def _is_whole(expr: Expr) -> bool:
    dtype = type_of(expr)
    return isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES


def _of(refs: Sequence[PropertyRef], *kinds: Any) -> list[Expr]:
    return [ref for ref in refs if any(_is_kind(ref.dtype, kind) for kind in kinds)]


def _is_kind(dtype: DataType, kind: Any) -> bool:
    match kind:
        case "number":
            return is_numeric(dtype)
        case "text":
            return dtype == STRING or isinstance(dtype, EnumType)
        case "list":
            return isinstance(dtype, ListType)
        case _:
            return bool(dtype == kind)


def _leaf(refs: Sequence[Expr], constants: Sequence[Expr]) -> st.SearchStrategy[Expr]:
    known = st.sampled_from([*constants])
    return st.sampled_from([*refs]) | known if refs else known


_INTEGERS = [Const(value, I64) for value in (0, 1, -2, 7, 2**31, 2**62, None)]
_REALS = [Const(value, F64) for value in (0.0, 0.5, -1.5, 2.5, 1e300)]
_TEXTS = [Const(value, STRING) for value in ("", "a", "Ab", " x ", "a,b", "12", "-3.5", "true")]


@st.composite
def numbers(draw: st.DrawFn, refs: Sequence[PropertyRef], depth: int = 2) -> Expr:
    """A number."""
    if not depth or draw(st.integers(0, 2)) == 0:
        return draw(_leaf(_of(refs, "number"), [*_INTEGERS, *_REALS]))
    inner = numbers(refs, depth - 1)
    match draw(st.integers(0, 7)):
        case 0 | 1 | 2:
            return _arithmetic(draw(st.sampled_from(_OPERATORS)), draw(inner), draw(inner))
        case 3:
            return draw(_rounded(inner))
        case 4:
            return draw(_counted(refs, depth - 1))
        case 5:
            one, other = draw(_alike(inner))
            func = draw(st.sampled_from([Function.LEAST, Function.GREATEST, Function.NULLIF]))
            return Call(func, (one, other), type_of(one) or F64)
        case 6:
            one, other = draw(_alike(inner))
            return Coalesce((one, other), type_of(one) or F64)
        case _:
            one, other = draw(_alike(inner))
            tested = draw(computed_conditions(refs, depth - 1))
            return Case(((tested, one),), draw(st.none() | st.just(other)), type_of(one) or F64)


_OPERATORS = (
    *(Function.ADD, Function.SUBTRACT, Function.MULTIPLY),
    *(Function.DIVIDE, Function.MODULO, Function.DIV),
)


def _arithmetic(func: Function, left: Expr, right: Expr) -> Expr:
    whole = _is_whole(left) and _is_whole(right)
    if func is Function.DIV and not whole:
        func = Function.DIVIDE
    dtype = _integer_type(left, right) if whole and func is not Function.DIVIDE else F64
    return Call(func, (left, right), dtype)


@st.composite
def _rounded(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    value = draw(inner)
    like = _integer_type(value) if _is_whole(value) else F64
    func = draw(st.sampled_from([Function.ROUND, Function.FLOOR, Function.CEIL, Function.ABS]))
    if func is Function.ROUND and draw(st.booleans()):
        return Call(func, (value, Const(draw(st.integers(-2, 2)), I64)), like)
    match draw(st.integers(0, 3)):
        case 0:
            return Call(Function.NEGATE, (value,), I64 if _is_whole(value) else F64)
        case 1:
            return Call(Function.SIGN, (value,), I64)
        case 2:
            return Call(Function.SQRT, (value,), F64)
        case _:
            return Call(func, (value,), like)


@st.composite
def _counted(draw: st.DrawFn, refs: Sequence[PropertyRef], depth: int) -> Expr:
    """An integer that is found in a text, a list or a date."""
    days = _of(refs, DATE, DATETIME)
    match draw(st.integers(0, 3)):
        case 0:
            return Call(Function.LENGTH, (draw(texts(refs, depth)),), I64)
        case 1 if lists := _of(refs, "list"):
            return Call(Function.SIZE, (draw(st.sampled_from(lists)),), I64)
        case 2 if days:
            parts = [Function.YEAR, Function.MONTH, Function.DAY, Function.WEEKDAY]
            return Call(draw(st.sampled_from(parts)), (draw(st.sampled_from(days)),), I64)
        case 3 if days:
            day = draw(st.sampled_from(days))
            alike = [each for each in days if type_of(each) == type_of(day)]
            unit = Const(draw(st.sampled_from(_UNITS)), STRING)
            return Call(Function.DIFFERENCE, (unit, day, draw(st.sampled_from(alike))), I64)
        case _:
            return Call(Function.TRY_CAST, (draw(texts(refs, depth)),), I64)


@st.composite
def _alike(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> tuple[Expr, Expr]:
    """Two numbers of one type."""
    one, other = draw(inner), draw(inner)
    if type_of(one) == type_of(other):
        return one, other
    return _cast(one, F64), _cast(other, F64)


def _cast(expr: Expr, dtype: DataType) -> Expr:
    return expr if type_of(expr) == dtype else Call(Function.CAST, (expr,), dtype)


@st.composite
def texts(draw: st.DrawFn, refs: Sequence[PropertyRef], depth: int = 2) -> Expr:
    """A text."""
    if not depth or draw(st.integers(0, 2)) == 0:
        return draw(_leaf(_of(refs, "text"), _TEXTS))
    inner = texts(refs, depth - 1)
    one = draw(inner)
    match draw(st.integers(0, 6)):
        case 0:
            func = draw(st.sampled_from([Function.LOWER, Function.UPPER, Function.TRIM]))
            return Call(func, (one,), STRING)
        case 1:
            return Call(Function.CONCATENATE, (one, draw(inner)), STRING)
        case 2:
            places = [Const(draw(st.integers(-2, 3)), I64) for _ in range(draw(st.integers(1, 2)))]
            return Call(Function.SUBSTRING, (one, *places), STRING)
        case 3:
            return Call(Function.REPLACE, (one, draw(inner), draw(inner)), STRING)
        case 4:
            func = draw(st.sampled_from([Function.REVERSE, Function.LEFT, Function.RIGHT]))
            count = () if func is Function.REVERSE else (Const(draw(st.integers(0, 3)), I64),)
            return Call(func, (one, *count), STRING)
        case 5:
            return Coalesce((one, draw(inner)), STRING)
        case _:
            return _cast(draw(_leaf(_of(refs, I64, BOOL, DATE), _INTEGERS)), STRING)


@st.composite
def _lists(draw: st.DrawFn, refs: Sequence[PropertyRef], depth: int) -> Expr:
    lists = _of(refs, "list")
    if not lists or draw(st.integers(0, 2)) == 0:
        items = tuple(draw(st.lists(texts(refs, depth), max_size=3)))
        if draw(st.booleans()):
            return MakeList(items, STRING)
        parts = (draw(texts(refs, depth)), Const(",", STRING))
        return Call(Function.SPLIT, parts, ListType(Scalar.STRING))
    base = draw(st.sampled_from(lists))
    dtype = type_of(base) or ListType(Scalar.STRING)
    match draw(st.integers(0, 4)):
        case 0:
            func = draw(st.sampled_from([Function.LIST_SORT, Function.LIST_DISTINCT]))
            return Call(func, (base,), dtype)
        case 1:
            low, high = (draw(st.none() | st.integers(-2, 2)) for _ in range(2))
            return Call(Function.SLICE, (base, Const(low, I64), Const(high, I64)), dtype)
        case 2:
            return Call(Function.REVERSE, (base,), dtype)
        case 3:
            return Call(Function.CONCATENATE, (base, base), dtype)
        case _:
            return base


@st.composite
def _dates(draw: st.DrawFn, refs: Sequence[PropertyRef]) -> Expr | None:
    days = _of(refs, DATE, DATETIME)
    if not days:
        return None
    day = draw(st.sampled_from(days))
    dtype = type_of(day) or DATE
    match draw(st.integers(0, 2)):
        case 0:
            unit = Const(draw(st.sampled_from(_UNITS)), STRING)
            return Call(Function.TRUNCATE, (unit, day), dtype)
        case 1:
            parts = (draw(st.integers(-14, 14)), draw(st.integers(-40, 40)), 0)
            return Call(Function.SHIFT, (day, *(Const(part, I64) for part in parts)), dtype)
        case _:
            return _cast(day, DATE if dtype == DATETIME else DATETIME)


@st.composite
def computed(draw: st.DrawFn, refs: Sequence[PropertyRef]) -> Expr:
    """A value of any type that is computed from properties."""
    match draw(st.integers(0, 5)):
        case 0 | 1:
            return draw(numbers(refs))
        case 2:
            return draw(texts(refs))
        case 3:
            found = draw(_lists(refs, 1))
            if draw(st.booleans()):
                item = type_of(found)
                held = ScalarType(item.item) if isinstance(item, ListType) else STRING
                return Call(Function.INDEX, (found, Const(draw(st.integers(-2, 2)), I64)), held)
            return found
        case 4:
            return draw(_dates(refs)) or draw(texts(refs))
        case _:
            return draw(computed_conditions(refs))


@st.composite
def computed_conditions(draw: st.DrawFn, refs: Sequence[PropertyRef], depth: int = 1) -> Expr:
    """A condition on computed values."""
    op = draw(st.sampled_from(list(CompareOp)))
    match draw(st.integers(0, 4)):
        case 0 | 1:
            return Compare(op, draw(numbers(refs, depth)), draw(numbers(refs, depth)))
        case 2:
            text = draw(texts(refs, depth))
            match_op = draw(st.sampled_from(list(StringOp)))
            if match_op is StringOp.MATCHES:
                pattern = Const(draw(st.sampled_from(_PATTERNS)), STRING)
                return StringMatch(match_op, text, pattern)
            return StringMatch(match_op, text, draw(texts(refs, depth)))
        case 3:
            return draw(_quantified(refs))
        case _:
            return IsNull(draw(numbers(refs, depth)), draw(st.booleans()))


@st.composite
def _quantified(draw: st.DrawFn, refs: Sequence[PropertyRef]) -> Expr:
    found = draw(_lists(refs, 0))
    dtype = type_of(found)
    held = ScalarType(dtype.item) if isinstance(dtype, ListType) else STRING
    item = ValueSlot(Slot(_ITEM_SLOT + draw(st.integers(0, 10**6))), held, nullable=True, name="i")
    ref = ValueRef(item.slot, held, nullable=True)
    condition: Expr = IsNull(ref, negated=True)
    if is_numeric(held):
        condition = Compare(draw(st.sampled_from(list(CompareOp))), ref, draw(numbers(refs, 0)))
    elif held == STRING:
        condition = StringMatch(StringOp.CONTAINS, ref, draw(texts(refs, 0)))
    return Quantified(draw(st.sampled_from(list(Quantifier))), item, found, condition)
