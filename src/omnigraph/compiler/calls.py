"""Operators, casts, ``case``, indexes and calls over lowered operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.common_types import common_type
from omnigraph.compiler.comparisons import compare
from omnigraph.compiler.functions import call_function, integer_result, signature_of
from omnigraph.compiler.operands import TypedOperand, is_integer
from omnigraph.compiler.rules import comparison, constant_argument, function_argument
from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    ListType,
    ScalarType,
    VectorType,
    is_numeric,
)
from omnigraph.ir import expressions as ir
from omnigraph.ir.functions import Function
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.language.source import Span

__all__ = [
    "arithmetic",
    "call",
    "case",
    "cast",
    "coalesce",
    "element",
    "negation",
    "shift",
    "slice_of",
]

_NUMERIC = {
    ast.ArithmeticOp.ADD: Function.ADD,
    ast.ArithmeticOp.SUBTRACT: Function.SUBTRACT,
    ast.ArithmeticOp.MULTIPLY: Function.MULTIPLY,
    ast.ArithmeticOp.DIVIDE: Function.DIVIDE,
    ast.ArithmeticOp.MODULO: Function.MODULO,
}


def arithmetic(
    unit: CompilationUnit,
    op: ast.ArithmeticOp,
    left: TypedOperand,
    right: TypedOperand,
    *,
    span: Span,
) -> ir.Call | None:
    """``a + b`` over numbers, ``a || b`` over texts and lists."""
    if op is ast.ArithmeticOp.CONCATENATE:
        dtype = _joined_type(left.dtype, right.dtype)
        func = Function.CONCATENATE
    else:
        dtype = _number_type(op, left, right)
        func = _NUMERIC[op]
    if dtype is None:
        unit.report(function_argument.operator(op.value, left, right, span))
        return None
    return ir.Call(func, (left.expr, right.expr), dtype)


def _joined_type(left: DataType | None, right: DataType | None) -> DataType | None:
    if comparison.is_text(left) and comparison.is_text(right):
        return STRING
    return left if isinstance(left, ListType) and left == right else None


def _number_type(
    op: ast.ArithmeticOp, left: TypedOperand, right: TypedOperand
) -> ScalarType | None:
    for operand in (left, right):
        if operand.dtype is None or not is_numeric(operand.dtype):
            return None
    whole = is_integer(left) and is_integer(right) and op is not ast.ArithmeticOp.DIVIDE
    return integer_result((left, right)) if whole else F64


def shift(
    unit: CompilationUnit, value: TypedOperand, duration: ast.Duration, *, sign: int, span: Span
) -> ir.Call | None:
    """A date or an instant, and a duration before or after it."""
    if value.dtype not in (DATE, DATETIME):
        unit.report(constant_argument.loose_duration(span))
        return None
    if value.dtype == DATE and duration.micros:
        unit.report(constant_argument.no_time(duration.span))
        return None
    assert value.dtype is not None  # noqa: S101 - narrowing; it is one of two types
    parts = (duration.months, duration.days, duration.micros)
    consts = (ir.Const(sign * part, I64) for part in parts)
    return ir.Call(Function.SHIFT, (value.expr, *consts), value.dtype)


def negation(unit: CompilationUnit, operand: TypedOperand) -> ir.Call | None:
    """``-a``."""
    if operand.dtype is None or not is_numeric(operand.dtype):
        unit.report(function_argument.misfit("-", "a number", operand))
        return None
    return ir.Call(Function.NEGATE, (operand.expr,), I64 if is_integer(operand) else F64)


def call(
    unit: CompilationUnit, node: ast.FunctionCall, args: Sequence[TypedOperand]
) -> ir.Expr | None:
    """A function over lowered arguments."""
    signature = signature_of(node.name)
    assert signature is not None  # noqa: S101 - narrowing; the parser knows the functions
    least, most = signature.fewest, signature.largest
    if not least <= len(args) <= most:
        found = function_argument.wrong_count(node.name, least, most, len(args), node.span)
        unit.report(found)
        return None
    return call_function(unit, signature, args)


def coalesce(
    unit: CompilationUnit, node: ast.FunctionCall, args: Sequence[TypedOperand]
) -> ir.Coalesce | None:
    """The first argument that is not NULL."""
    if not args:
        unit.report(function_argument.wrong_count("coalesce", 1, 1_000, 0, node.span))
        return None
    common = common_type(unit, args, "coalesce")
    if common is None:
        return None
    return ir.Coalesce(tuple(arg.expr for arg in common.operands), common.dtype)


def cast(unit: CompilationUnit, node: ast.Cast, operand: TypedOperand) -> ir.Expr | None:
    """``cast(a as T)``."""
    given, wanted = operand.dtype, node.dtype
    lists = isinstance(given, ListType) == isinstance(wanted, ListType)
    if given is None or isinstance(given, VectorType) or not lists or not _casts(given, wanted):
        unit.report(function_argument.misfit("cast", "a value of a type that it converts", operand))
        return None
    if given == wanted:
        return operand.expr
    return ir.Call(Function.TRY_CAST if node.tries else Function.CAST, (operand.expr,), wanted)


def _casts(given: DataType, wanted: DataType) -> bool:
    """Whether some value of the one type has an equal in the other."""
    if isinstance(given, ListType) and isinstance(wanted, ListType):
        return _casts(ScalarType(given.item), ScalarType(wanted.item))
    if given == wanted or comparison.is_text(given) or wanted == STRING:
        return True
    if {given, wanted} <= {DATE, DATETIME}:
        return True
    return all(is_numeric(each) or each == BOOL for each in (given, wanted))


def case(
    unit: CompilationUnit,
    branches: Sequence[tuple[ir.Expr, TypedOperand]],
    otherwise: TypedOperand | None,
) -> ir.Case | None:
    """Branches whose results have one type."""
    results = [result for _, result in branches]
    common = common_type(unit, [*results, *([otherwise] if otherwise else [])], "case")
    if common is None:
        return None
    taken = [operand.expr for operand in common.operands]
    pairs = zip((tested for tested, _ in branches), taken, strict=False)
    return ir.Case(tuple(pairs), taken[-1] if otherwise else None, common.dtype)


def compared_branch(
    unit: CompilationUnit, operand: TypedOperand, tested: TypedOperand
) -> ir.Expr | None:
    """The condition of ``case a when b``."""
    return compare(unit, ast.CompareOp.EQ, operand, tested, span=tested.span)


def element(unit: CompilationUnit, items: TypedOperand, index: TypedOperand) -> ir.Call | None:
    """``a[0]``: an item of a list."""
    if not isinstance(items.dtype, ListType):
        unit.report(function_argument.misfit("[…]", "a list", items))
        return None
    if not is_integer(index):
        unit.report(function_argument.misfit("[…]", "an integer", index))
        return None
    return ir.Call(Function.INDEX, (items.expr, index.expr), ScalarType(items.dtype.item))


def slice_of(
    unit: CompilationUnit,
    items: TypedOperand,
    low: TypedOperand | None,
    high: TypedOperand | None,
) -> ir.Call | None:
    """``a[1..3]``: a part of a list."""
    if not isinstance(items.dtype, ListType):
        unit.report(function_argument.misfit("[…]", "a list", items))
        return None
    ends = []
    for end in (low, high):
        if end is not None and not is_integer(end):
            unit.report(function_argument.misfit("[…]", "an integer", end))
            return None
        ends.append(ir.Const(None, I64) if end is None else end.expr)
    return ir.Call(Function.SLICE, (items.expr, *ends), items.dtype)
