"""Types of properties: scalars, lists, vectors and enums, each optional with ``?``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import (
    MAX_ENUM_VALUES,
    MAX_VECTOR_DIM,
    STRING,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.lexer import TokenKind
from omnigraph.language.pg.cursor import NAMES
from omnigraph.language.pg.problems import SchemaSyntaxProblem

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.lexer import Token
    from omnigraph.language.pg.cursor import Cursor
    from omnigraph.language.source import Span

__all__ = ["is_word_part", "parse_type", "read_word"]

_SCALARS = {scalar.value: scalar for scalar in Scalar}
_SPELLINGS = (*_SCALARS, "Vector", "enum")
# Names of types from other languages.
_FOREIGN = {
    "int": "I32` or `I64",
    "integer": "I32` or `I64",
    "long": "I64",
    "bigint": "I64",
    "float": "F32` or `F64",
    "double": "F64",
    "number": "F64",
    "decimal": "F64",
    "text": "String",
    "varchar": "String",
    "str": "String",
    "boolean": "Bool",
    "timestamp": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
    "list": "[String]",
    "array": "[String]",
    "embedding": "Vector(768)",
}
_WORD_PART = re.compile(r"[A-Za-z0-9_-]+")


def parse_type(cursor: Cursor) -> tuple[DataType, bool]:
    """A type and whether it is optional."""
    dtype = _parse_bare_type(cursor)
    nullable = cursor.accept("?")
    return dtype, nullable


def read_word(cursor: Cursor) -> str | None:
    """Touching tokens such as ``data-eng`` or ``2fa``, or None where no word stands."""
    if not is_word_part(cursor.token):
        return None
    parts = [cursor.advance().text]
    while cursor.touches_previous() and is_word_part(cursor.token):
        parts.append(cursor.advance().text)
    return "".join(parts)


def is_word_part(token: Token) -> bool:
    """Whether a token may be a part of a bare word."""
    return _WORD_PART.fullmatch(token.text) is not None


def _parse_bare_type(cursor: Cursor) -> DataType:
    token = cursor.token
    if cursor.accept("["):
        return _parse_list(cursor)
    if token.kind not in NAMES:
        cursor.unexpected("a type", f"types are {', '.join(_SPELLINGS)} and [scalar]")
    cursor.advance()
    if token.text == "enum":
        return _parse_enum(cursor, token)
    if token.text == "Vector":
        return _parse_vector(cursor)
    return ScalarType(_scalar(cursor, token))


def _scalar(cursor: Cursor, token: Token) -> Scalar:
    """An unknown type is reported and read as String, so that the rest is still checked."""
    if found := _SCALARS.get(token.text):
        return found
    foreign = _FOREIGN.get(token.text.casefold())
    remedy = f"write `{foreign}`" if foreign else did_you_mean(token.text, _SPELLINGS)
    cursor.report(
        SchemaSyntaxProblem.UNKNOWN_TYPE,
        f"there is no type `{token.text}`",
        at=token.span,
        remedy=remedy or f"types are {', '.join(_SPELLINGS)} and [scalar]",
    )
    return STRING.scalar


def _parse_list(cursor: Cursor) -> ListType:
    token = cursor.token
    if token.text in ("Vector", "enum", "[", "Blob"):
        cursor.fail(
            SchemaSyntaxProblem.LIST_ITEM,
            f"a list cannot hold `{token.text}`",
            remedy="lists hold scalars other than Blob; for more, use a node type and an edge",
        )
    if token.kind not in NAMES:
        cursor.unexpected("the type of the list's items", "write `[String]`")
    item = _scalar(cursor, cursor.advance())
    if cursor.token.text == "?":
        cursor.report(
            SchemaSyntaxProblem.LIST_ITEM,
            "items of a list cannot be null",
            remedy=f"write `[{item.value}]?` for an optional list",
        )
        cursor.advance()
    cursor.expect("]")
    return ListType(item)


def _parse_vector(cursor: Cursor) -> VectorType:
    cursor.expect("(", "a vector has a length: `Vector(768)`")
    token = cursor.token
    if token.kind is not TokenKind.INT:
        cursor.unexpected("the length of the vector", "write `Vector(768)`")
    cursor.advance()
    dim = int(token.value)
    if not 1 <= dim <= MAX_VECTOR_DIM:
        cursor.report(
            SchemaSyntaxProblem.VECTOR_DIMENSION,
            f"a vector has 1 to {MAX_VECTOR_DIM:,} elements",
            at=token.span,
            remedy="use the length that the embedding model gives",
        )
        dim = 1
    cursor.expect(")")
    return VectorType(dim)


def _parse_enum(cursor: Cursor, start: Token) -> EnumType:
    cursor.expect("(", "list the values: `enum(draft, published)`")
    values: set[str] = set()
    if cursor.token.text == ")":
        cursor.report(
            SchemaSyntaxProblem.ENUM_VALUES,
            "an enum needs at least one value",
            at=cursor.span_from(start),
            remedy="list the values: `enum(draft, published)`",
        )
    else:
        _read_enum_values(cursor, values)
    cursor.expect(")", "separate the values of an enum with commas")
    return EnumType(tuple(sorted(values)))


def _read_enum_values(cursor: Cursor, values: set[str]) -> None:
    while True:
        token = cursor.token
        value = read_word(cursor)
        if value is None:
            cursor.unexpected(
                "a value of the enum",
                "values are bare words of letters, digits, `_` and `-`: `enum(draft, data-eng)`",
            )
        if value in values:
            _report_repeated(cursor, value, cursor.span_from(token))
        values.add(value)
        if len(values) > MAX_ENUM_VALUES:
            cursor.fail(
                SchemaSyntaxProblem.ENUM_VALUES,
                f"an enum has at most {MAX_ENUM_VALUES:,} values",
                remedy="use a String, or a node type with an edge to it",
            )
        if not cursor.accept(","):
            return


def _report_repeated(cursor: Cursor, value: str, span: Span) -> None:
    cursor.report(
        SchemaSyntaxProblem.ENUM_VALUES,
        f"the enum has `{value}` twice",
        at=span,
        remedy="remove one of them",
    )
