"""Types of functions: the operands that each takes, and the type of its result."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.compiler.common_types import common_type
from omnigraph.compiler.operands import TypedOperand, is_integer
from omnigraph.compiler.rules import comparison, constant_argument, function_argument
from omnigraph.datatypes.types import (
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    is_numeric,
)
from omnigraph.frozen import frozen
from omnigraph.ir import expressions as ir
from omnigraph.ir.functions import Function
from omnigraph.semantics.functions.dates import CALENDAR_UNITS, CLOCK_UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.unit import CompilationUnit

__all__ = ["Kind", "Signature", "call_function", "check_text_pattern", "signature_of"]

_U64 = ScalarType(Scalar.U64)


class Kind(StrEnum):
    """Kinds of operands; the value names them in messages."""

    TEXT = "a String"
    INTEGER = "an integer"
    NUMBER = "a number"
    TEMPORAL = "a Date or a DateTime"
    INSTANT = "a DateTime"
    LIST = "a list"
    TEXTS = "a list of String"
    SEQUENCE = "a String or a list"
    VALUE = "a single value"
    UNIT = "a unit of time in quotes"
    PATTERN = "a regular expression that is the same in every row"


@frozen
class Signature:
    """The operands of a function; the last kind repeats where ``most`` allows more.

    ``result`` None: the type of the operand at ``like``.
    """

    func: Function
    kinds: tuple[Kind, ...]
    result: DataType | None = None
    least: int | None = None
    most: int | None = None
    like: int = 0

    @property
    def fewest(self) -> int:
        return len(self.kinds) if self.least is None else self.least

    @property
    def largest(self) -> int:
        return len(self.kinds) if self.most is None else self.most

    def kind(self, place: int) -> Kind:
        return self.kinds[min(place, len(self.kinds) - 1)]


_T, _I, _N = Kind.TEXT, Kind.INTEGER, Kind.NUMBER
_MANY = 1_000

_SIGNATURES: dict[str, Signature] = {
    signature.func.value: signature
    for signature in (
        *(
            Signature(func, (_T,), STRING)
            for func in (
                *(Function.LOWER, Function.UPPER, Function.TRIM),
                *(Function.TRIM_START, Function.TRIM_END),
            )
        ),
        Signature(Function.SUBSTRING, (_T, _I, _I), STRING, least=2),
        Signature(Function.LEFT, (_T, _I), STRING),
        Signature(Function.RIGHT, (_T, _I), STRING),
        Signature(Function.REPLACE, (_T, _T, _T), STRING),
        Signature(Function.REGEX_REPLACE, (_T, Kind.PATTERN, _T), STRING),
        Signature(Function.SPLIT, (_T, _T), ListType(Scalar.STRING)),
        Signature(Function.JOIN, (Kind.TEXTS, _T), STRING),
        Signature(Function.LENGTH, (_T,), I64),
        Signature(Function.HASH, (_T,), I64),
        Signature(Function.REVERSE, (Kind.SEQUENCE,)),
        Signature(Function.SIGN, (_N,), I64),
        *(Signature(func, (_N,)) for func in (Function.ABS, Function.FLOOR, Function.CEIL)),
        Signature(Function.ROUND, (_N, _I), least=1),
        *(
            Signature(func, (_N,), F64)
            for func in (Function.SQRT, Function.LN, Function.LOG10, Function.EXP)
        ),
        Signature(Function.POWER, (_N, _N), F64),
        Signature(Function.DIV, (_I, _I)),
        *(
            Signature(func, (Kind.TEMPORAL,), I64)
            for func in (
                *(Function.YEAR, Function.MONTH, Function.DAY),
                *(Function.WEEKDAY, Function.DAY_OF_YEAR),
            )
        ),
        *(
            Signature(func, (Kind.INSTANT,), I64)
            for func in (Function.HOUR, Function.MINUTE, Function.SECOND)
        ),
        Signature(Function.TRUNCATE, (Kind.UNIT, Kind.TEMPORAL), like=1),
        Signature(Function.DIFFERENCE, (Kind.UNIT, Kind.TEMPORAL, Kind.TEMPORAL), I64),
        Signature(Function.SIZE, (Kind.LIST,), I64),
        Signature(Function.LIST_DISTINCT, (Kind.LIST,)),
        Signature(Function.LIST_SORT, (Kind.LIST,)),
        Signature(Function.RANGE, (_I, _I, _I), ListType(Scalar.I64), least=2),
        Signature(Function.LEAST, (Kind.VALUE,), most=_MANY),
        Signature(Function.GREATEST, (Kind.VALUE,), most=_MANY),
        Signature(Function.NULLIF, (Kind.VALUE, Kind.VALUE)),
    )
}
_COMMON = (Function.LEAST, Function.GREATEST, Function.NULLIF)


def signature_of(name: str) -> Signature | None:
    """The signature of a function; None for one that has rules of its own."""
    return _SIGNATURES.get(name)


def call_function(
    unit: CompilationUnit, signature: Signature, args: Sequence[TypedOperand]
) -> ir.Call | None:
    """A call whose number of arguments fits, if their types do."""
    for place, arg in enumerate(args):
        if unit.fails(_check(signature, place, arg)):
            return None
    func = signature.func
    if func in _COMMON:
        common = common_type(unit, args, func.value)
        if common is None:
            return None
        return ir.Call(func, tuple(arg.expr for arg in common.operands), common.dtype)
    if func in (Function.TRUNCATE, Function.DIFFERENCE) and not _fits_unit(unit, func, args):
        return None
    if func is Function.REGEX_REPLACE and not check_text_pattern(unit, args[1]):
        return None
    result = signature.result or _like(func, args[signature.like], args)
    return ir.Call(func, tuple(arg.expr for arg in args), result)


def _like(func: Function, arg: TypedOperand, args: Sequence[TypedOperand]) -> DataType:
    dtype = arg.dtype
    assert dtype is not None  # noqa: S101 - narrowing; _check refuses entities
    if func is Function.DIV:
        return integer_result(args)
    if func in (Function.ABS, Function.FLOOR, Function.CEIL, Function.ROUND):
        return integer_result([arg]) if is_integer(arg) else F64
    return dtype if isinstance(dtype, ListType | ScalarType) else STRING


def integer_result(args: Sequence[TypedOperand]) -> ScalarType:
    """The type of integers that an operation makes: 64 bits, unsigned if an operand is."""
    return _U64 if any(arg.dtype == _U64 for arg in args) else I64


def _check(
    signature: Signature, place: int, arg: TypedOperand
) -> function_argument.Diagnostic | None:
    kind, dtype, fits = signature.kind(place), arg.dtype, False
    match kind:
        case Kind.TEXT | Kind.PATTERN | Kind.UNIT:
            fits = comparison.is_text(dtype)
        case Kind.INTEGER:
            fits = is_integer(arg)
        case Kind.NUMBER:
            fits = dtype is not None and is_numeric(dtype)
        case Kind.TEMPORAL | Kind.INSTANT:
            fits = dtype == DATETIME or (dtype == DATE and kind is Kind.TEMPORAL)
        case Kind.LIST | Kind.TEXTS:
            fits = isinstance(dtype, ListType)
            fits = fits and (kind is Kind.LIST or dtype == ListType(Scalar.STRING))
        case Kind.SEQUENCE:
            fits = isinstance(dtype, ListType) or comparison.is_text(dtype)
        case Kind.VALUE:
            return comparison.check_single(arg)
    return None if fits else function_argument.misfit(signature.func.value, kind.value, arg)


def _fits_unit(unit: CompilationUnit, func: Function, args: Sequence[TypedOperand]) -> bool:
    """Whether the unit is one, and fits the dates."""
    given, first, last = args[0], args[1], args[-1]
    units = CALENDAR_UNITS if first.dtype == DATE else (*CALENDAR_UNITS, *CLOCK_UNITS)
    if not isinstance(given.expr, ir.Const) or given.expr.value not in units:
        unit.report(constant_argument.unit(func.value, units, given.span))
        return False
    if first.dtype != last.dtype:
        unit.report(function_argument.unlike(func.value, first, last))
        return False
    return True


def check_text_pattern(unit: CompilationUnit, pattern: TypedOperand) -> bool:
    """Whether a pattern is the same in every row; its syntax is checked when the query begins."""
    if isinstance(pattern.expr, ir.Const | ir.ParamRef):
        return True
    unit.report(constant_argument.varying_pattern(pattern.span))
    return False
