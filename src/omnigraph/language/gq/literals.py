"""Literals and variables: the operands that need nothing around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.datatypes.values import ValueProblem, parse_date, parse_datetime
from omnigraph.language.gq.ast import Duration, Literal
from omnigraph.language.gq.cursor import Cursor, Unparsed
from omnigraph.language.gq.problems import SyntaxProblem
from omnigraph.language.lexer import Token, TokenKind

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from omnigraph.language.source import Span

__all__ = ["LiteralParser"]

_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<weeks>\d{1,6})W)?"
    r"(?:(?P<days>\d{1,7})D)?(?:T(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,9})M)?"
    r"(?:(?P<seconds>\d{1,10})(?:\.(?P<fraction>\d{1,6}))?S)?)?"
)
_INTEGER_MIN = -(2**63)
_INTEGER_MAX = 2**64 - 1


class LiteralParser(Cursor):
    """Reads numbers, dates and the names of variables."""

    def variable_name(self) -> Token:
        """Passes a variable that must come next."""
        token = self.token
        if token.kind is not TokenKind.VARIABLE:
            if token.text == "$":
                raise self.bad_variable()
            raise self.unexpected("a variable", "variables are written `$name`")
        if token.text.startswith("$__"):
            raise self.error(
                SyntaxProblem.RESERVED_NAME,
                f"`{token.text}` is reserved: names that start with `$__` belong to the system",
                remedy=f"write `${token.text[1:].lstrip('_') or 'name'}`",
            )
        return self.advance()

    def bad_variable(self) -> Unparsed:
        following = self.ahead()
        name = following.text
        if following.start == self.token.end and following.kind is TokenKind.TYPE_NAME:
            return self.error(
                SyntaxProblem.UNEXPECTED,
                f"`${name}` is not a variable",
                at=self.token.span.to(following.span),
                remedy=f"variables start lower case: `${name[0].lower()}{name[1:]}`",
            )
        return self.error(
            SyntaxProblem.UNEXPECTED,
            "`$` is not followed by a name",
            remedy="variables start with a lower-case letter or `_`: `$name`",
        )

    def null_literal(self) -> Literal:
        return Literal(None, self.advance().span)

    def integer_literal(self, sign: int = 1, start: Token | None = None) -> Literal:
        token = self.advance()
        span = self.span_from(start or token)
        value = sign * int(token.value)
        if not _INTEGER_MIN <= value <= _INTEGER_MAX:
            raise self.error(
                SyntaxProblem.INTEGER_RANGE,
                "this integer does not fit into 64 bits",
                at=span,
                remedy=f"integers lie between {_INTEGER_MIN} and {_INTEGER_MAX}; write larger ones "
                "as floats, with `.0`",
            )
        return Literal(value, span)

    def float_literal(self, sign: int = 1, start: Token | None = None) -> Literal:
        token = self.advance()
        return Literal(sign * float(token.value), self.span_from(start or token))

    def negative_literal(self) -> Literal:
        minus = self.advance()
        if self.token.kind is TokenKind.INT:
            return self.integer_literal(-1, minus)
        if self.token.kind is TokenKind.FLOAT:
            return self.float_literal(-1, minus)
        raise self.unexpected("a number after `-`", "write a number")

    def date_literal(self) -> Literal:
        return self._instant(parse_date, "date", "2026-01-31")

    def datetime_literal(self) -> Literal:
        return self._instant(parse_datetime, "datetime", "2026-01-31T12:00:00Z")

    def duration_literal(self) -> Duration:
        """``duration("P1Y2M3DT4H5M6.5S")``, with a sign in front for the opposite direction."""
        start = self.advance()
        self.advance()
        token = self.expect_kind(TokenKind.STRING, "a string", 'write `duration("P1M2DT3H")`')
        found = _DURATION.fullmatch(str(token.value))
        if found is None or str(token.value)[-1] in "PT":
            raise self.error(
                SyntaxProblem.BAD_DATE,
                "this is no duration",
                at=token,
                remedy="write years, months, weeks and days after `P`, hours, minutes and seconds "
                'after `T`: `duration("P1Y2M3DT4H5M6.5S")`',
            )
        self.expect(")")
        return _duration(found, self.span_from(start))

    def _instant(self, parse: Callable[[str], dt.date], name: str, example: str) -> Literal:
        start = self.advance()
        self.advance()
        token = self.expect_kind(
            TokenKind.STRING,
            "a string",
            f'write `{name}("{example}")`; pass parameters as they are',
        )
        try:
            value = parse(str(token.value))
        except ValueProblem as problem:
            remedy = f'write it as in `{name}("{example}")`'
            raise self.error(
                SyntaxProblem.BAD_DATE, problem.message, at=token, remedy=remedy
            ) from None
        self.expect(")")
        return Literal(value, self.span_from(start))


def _duration(found: re.Match[str], span: Span) -> Duration:
    parts = {name: int(text or 0) for name, text in found.groupdict().items() if name != "sign"}
    sign = -1 if found["sign"] else 1
    fraction = int((found["fraction"] or "").ljust(6, "0"))
    seconds = parts["hours"] * 3600 + parts["minutes"] * 60 + parts["seconds"]
    return Duration(
        sign * (parts["years"] * 12 + parts["months"]),
        sign * (parts["weeks"] * 7 + parts["days"]),
        sign * (seconds * 1_000_000 + fraction),
        span,
    )
