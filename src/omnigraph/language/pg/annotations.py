"""Everything that begins with ``@``: constraints, cardinality and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.language.lexer import TokenKind
from omnigraph.language.pg.ast import Annotation, Cardinality, Constraint, RangeBound
from omnigraph.language.pg.cursor import NAMES
from omnigraph.language.pg.problems import SchemaSyntaxProblem
from omnigraph.language.pg.types import is_word_part, read_word

if TYPE_CHECKING:
    from omnigraph.language.lexer import Token
    from omnigraph.language.pg.ast import AnnotationValue
    from omnigraph.language.pg.cursor import Cursor
    from omnigraph.language.source import Span

__all__ = [
    "CONSTRAINTS",
    "at_body_constraint",
    "parse_annotation",
    "parse_body_constraint",
    "parse_cardinality",
    "parse_property_constraint",
]

CONSTRAINTS = ("key", "unique", "index", "range", "check")
_VALUED = ("range", "check")
_EXAMPLES = {
    "key": "@key(slug)",
    "unique": "@unique(email)",
    "index": "@index(name)",
    "range": "@range(age, 0..150)",
    "check": '@check(code, "[A-Z]+")',
}
_ARGUMENTS_MAX = 64
_NUMBERS = (TokenKind.INT, TokenKind.FLOAT)


def at_body_constraint(cursor: Cursor) -> bool:
    """Whether ``@key(``-like text stands here that names properties, not a bare ``@key``.

    ``@range(0..9)`` and ``@check("…")`` belong to the property before them; with a name in front,
    ``@range(age, 0..9)``, they belong to the body.
    """
    name = cursor.ahead.text
    if name not in CONSTRAINTS or cursor.peek(2).text != "(":
        return False
    return name not in _VALUED or cursor.peek(3).kind in NAMES


def parse_body_constraint(cursor: Cursor) -> Constraint:
    """``@unique(a, b)``, ``@range(a, 0..9)``, ``@check(a, "…")``."""
    start = cursor.expect("@")
    name = cursor.advance().text
    cursor.expect("(", f"name the properties: `{_EXAMPLES[name]}`")
    props = [_property_name(cursor, name)]
    bound: RangeBound | None = None
    pattern: str | None = None
    if name in _VALUED:
        cursor.expect(",", f"write `{_EXAMPLES[name]}`")
        bound, pattern = _parse_value(cursor, name)
    else:
        while cursor.accept(","):
            props.append(_property_name(cursor, name))
    cursor.expect(")")
    return Constraint(
        name,
        tuple(prop.text for prop in props),
        bound,
        pattern,
        on_property=False,
        span=cursor.span_from(start),
        prop_spans=tuple(prop.span for prop in props),
    )


def parse_property_constraint(cursor: Cursor, prop: str) -> Constraint:
    """``@key``, ``@unique``, ``@index``, ``@range(0..9)``, ``@check("…")`` after a property."""
    start = cursor.expect("@")
    name = cursor.advance().text
    bound: RangeBound | None = None
    pattern: str | None = None
    if name in _VALUED:
        cursor.expect("(", f"write `{_EXAMPLES[name]}`")
        bound, pattern = _parse_value(cursor, name)
        cursor.expect(")")
    return Constraint(name, (prop,), bound, pattern, on_property=True, span=cursor.span_from(start))


def parse_cardinality(cursor: Cursor) -> Cardinality:
    """``@card(1..*)``, ``@card(0..1)``, ``@card(1..)``."""
    start = cursor.expect("@")
    cursor.advance()
    cursor.expect("(", "write `@card(0..1)` or `@card(1..*)`")
    low = _cardinality_side(cursor)
    cursor.expect("..", "write `@card(0..1)` or `@card(1..*)`")
    high: int | None = None
    if not cursor.accept("*") and cursor.token.text != ")":
        high = _cardinality_side(cursor)
    cursor.expect(")")
    return Cardinality(low, high, cursor.span_from(start))


def parse_annotation(cursor: Cursor) -> Annotation:
    """``@name``, ``@name(value)``, ``@name(value, key=value)``."""
    start = cursor.expect("@")
    if cursor.token.kind is not TokenKind.IDENT:
        cursor.unexpected("the name of an annotation", "annotations look like `@index`")
    name = cursor.advance().text
    args: list[AnnotationValue] = []
    kwargs: list[tuple[str, AnnotationValue]] = []
    if cursor.accept("("):
        if cursor.token.text == ")":
            _report_argument(
                cursor,
                f"`@{name}()` has no arguments",
                start.span,
                f"write `@{name}`, or give it a value",
            )
        else:
            _parse_argument(cursor, args, kwargs)
        while cursor.accept(","):
            _parse_argument(cursor, args, kwargs)
        cursor.expect(")")
    return Annotation(name, tuple(args), tuple(kwargs), cursor.span_from(start))


def _parse_argument(
    cursor: Cursor, args: list[AnnotationValue], kwargs: list[tuple[str, AnnotationValue]]
) -> None:
    start = cursor.token
    if len(args) + len(kwargs) >= _ARGUMENTS_MAX:
        cursor.fail(
            SchemaSyntaxProblem.ANNOTATION_ARGUMENTS,
            f"an annotation has at most {_ARGUMENTS_MAX} values",
            remedy="keep long lists outside the schema",
        )
    if start.kind is TokenKind.IDENT and cursor.ahead.text == "=":
        key = cursor.advance().text
        cursor.advance()
        if any(key == known for known, _ in kwargs):
            _report_argument(cursor, f"`{key}` is given twice", start.span, "remove one of them")
        kwargs.append((key, _parse_scalar(cursor)))
        return
    args.append(_parse_scalar(cursor))
    if kwargs:
        _report_argument(
            cursor,
            "a value stands after a named one",
            cursor.span_from(start),
            'put named values last: `@embed("text", model="…")`',
        )


def _report_argument(cursor: Cursor, message: str, span: Span, remedy: str) -> None:
    cursor.report(SchemaSyntaxProblem.ANNOTATION_ARGUMENTS, message, at=span, remedy=remedy)


def _parse_scalar(cursor: Cursor) -> AnnotationValue:
    token = cursor.token
    if token.kind is TokenKind.STRING:
        cursor.advance()
        return str(token.value)
    if _at_number(cursor):
        return _number(cursor)
    word = read_word(cursor)
    if word is None:
        cursor.unexpected("a value", "values are strings, numbers, true, false or bare words")
    return word == "true" if word in ("true", "false") else word


def _at_number(cursor: Cursor) -> bool:
    """Whether a number stands here, not a word that begins with a digit such as ``2fa``."""
    sign = 1 if cursor.token.text == "-" else 0
    number, after = cursor.peek(sign), cursor.peek(sign + 1)
    return number.kind in _NUMBERS and not (number.end == after.start and is_word_part(after))


def _parse_value(cursor: Cursor, name: str) -> tuple[RangeBound | None, str | None]:
    """The constraint that ``@range`` or ``@check`` puts on its property."""
    if name == "range":
        return _parse_bound(cursor), None
    token = cursor.token
    if token.kind is not TokenKind.STRING:
        cursor.unexpected("a regular expression in quotes", f"write `{_EXAMPLES['check']}`")
    cursor.advance()
    return None, str(token.value)


def _parse_bound(cursor: Cursor) -> RangeBound:
    start = cursor.token
    low = None if start.text == ".." else _number(cursor)
    cursor.expect("..", "write both bounds, or leave one open: `0..150`, `0..`, `..150`")
    high = None if cursor.token.text == ")" else _number(cursor)
    if low is None and high is None:
        cursor.report(
            SchemaSyntaxProblem.CONSTRAINT_ARGUMENTS,
            "this range has no bounds",
            at=cursor.span_from(start),
            remedy="give at least one: `0..150`, `0..`, `..150`",
        )
    return RangeBound(low, high)


def _number(cursor: Cursor) -> int | float:
    negative = cursor.accept("-")
    token = cursor.token
    if token.kind not in _NUMBERS:
        cursor.unexpected("a number", "write the bound, or leave the side open: `0..`, `..150`")
    cursor.advance()
    value = int(token.value) if token.kind is TokenKind.INT else float(token.value)
    return -value if negative else value


def _cardinality_side(cursor: Cursor) -> int:
    token = cursor.token
    if token.kind is not TokenKind.INT:
        cursor.unexpected("a number of edges", "write `@card(0..1)` or `@card(1..*)`")
    cursor.advance()
    return int(token.value)


def _property_name(cursor: Cursor, constraint: str) -> Token:
    if cursor.token.kind not in NAMES:
        cursor.unexpected("the name of a property", f"write `{_EXAMPLES[constraint]}`")
    return cursor.advance()
