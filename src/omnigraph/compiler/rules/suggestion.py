"""Remedies that rules share: for names that do not exist, and for values of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.types import EnumType, ListType, Scalar, ScalarType, VectorType
from omnigraph.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.datatypes.types import DataType

_SHOWN_NAMES = 8
_SCALARS = {
    Scalar.STRING: "a text in quotes",
    Scalar.BOOL: "`true` or `false`",
    Scalar.I32: "a whole number of 32 bits",
    Scalar.I64: "a whole number of 64 bits",
    Scalar.U32: "a whole number of 32 bits, not negative",
    Scalar.U64: "a whole number of 64 bits, not negative",
    Scalar.F32: "a number that 32 bits can hold",
    Scalar.F64: "a number",
    Scalar.DATE: 'a day, as in `date("2026-01-31")`',
    Scalar.DATETIME: 'an instant, as in `datetime("2026-01-31T12:00:00Z")`',
    Scalar.BLOB: '`"base64:…"`, or pass a parameter',
}


def suggest(word: str, known: Iterable[str]) -> str:
    """The closest known name; where none is close, the first few of them."""
    names = list(known)
    if not names:
        return "the schema declares none"
    if close := did_you_mean(word, names):
        return close
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    rest = len(names) - _SHOWN_NAMES
    return f"there is {shown}" + (f" and {rest} more" if rest > 0 else "")


def suggest_variable(name: str, known: Iterable[str]) -> str | None:
    """The closest variable or parameter; the ``$`` must not make strangers look alike."""
    close = did_you_mean(name, known)
    return None if close is None else close.replace("`", "`$", 1)


def how_to_write(dtype: DataType) -> str:
    """How a literal of the type is written."""
    match dtype:
        case ScalarType(scalar):
            return _SCALARS[scalar]
        case ListType(item):
            return f"a list, with {_SCALARS[item]} for each item"
        case VectorType(dim):
            return f"a list of {dim} numbers"
        case EnumType():
            return "one of its members, in quotes"
