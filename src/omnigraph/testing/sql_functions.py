"""Functions as DuckDB spells them; the others have other definitions there, and are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import INTEGER_RANGES
from omnigraph.ir.functions import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ir.expressions import Call

__all__ = ["sql_call"]

_OPERATORS = {Function.ADD: "+", Function.SUBTRACT: "-", Function.MULTIPLY: "*"}
_PARTS = {
    Function.YEAR: "year",
    Function.MONTH: "month",
    Function.DAY: "day",
    Function.WEEKDAY: "isodow",
    Function.DAY_OF_YEAR: "dayofyear",
}
# Of one, two and three arguments.
_SHAPES = {
    Function.CONCATENATE: "({0} || {1})",
    Function.LENGTH: "length({0})",
    Function.SIGN: "sign({0})",
    Function.SIZE: "len({0})",
    Function.FLOOR: "floor({0})",
    Function.CEIL: "ceil({0})",
    Function.SQRT: "CASE WHEN {0} < 0 THEN NULL ELSE sqrt({0}) END",
    Function.LEFT: "({0})[:{1}]",
    Function.REPLACE: "CASE WHEN {1} = '' THEN {0} || {1} || {2} ELSE replace({0}, {1}, {2}) END",
    Function.NULLIF: "nullif({0}, {1})",
}


def sql_call(call: Call, args: Sequence[str]) -> str | None:
    """A call in SQL; None if DuckDB defines the function otherwise."""
    whole = getattr(call.dtype, "scalar", None) in INTEGER_RANGES
    func = call.func
    if func in _OPERATORS:
        kind = "HUGEINT" if whole else "DOUBLE"
        return f"(({args[0]})::{kind} {_OPERATORS[func]} ({args[1]})::{kind})"
    if func is Function.DIVIDE:
        one, other = (f"({arg})::DOUBLE" for arg in args)
        return f"(CASE WHEN {other} = 0 THEN NULL ELSE {one} / {other} END)"
    if func in (Function.MODULO, Function.DIV) and whole:
        sign = "%" if func is Function.MODULO else "//"
        one, other = (f"({arg})::HUGEINT" for arg in args)
        return f"(CASE WHEN {other} = 0 THEN NULL ELSE {one} {sign} {other} END)"
    if func in (Function.ABS, Function.NEGATE) and whole:
        return f"{'abs' if func is Function.ABS else '-'}(({args[0]})::HUGEINT)"
    if func in _PARTS:
        return f"{_PARTS[func]}({args[0]})"
    return _other(call, args, whole=whole)


def _other(call: Call, args: Sequence[str], *, whole: bool) -> str | None:
    shape: Any = _SHAPES.get(call.func)
    rounded = call.func in (Function.FLOOR, Function.CEIL)
    if shape is None or (rounded and whole):
        return args[0] if rounded else None
    return f"({shape.format(*(f'({arg})' for arg in args))})"
