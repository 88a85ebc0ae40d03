"""A cursor over the tokens of a schema: looking, advancing, failing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.lexer import Token, TokenKind
from omnigraph.language.pg.problems import SchemaSyntaxProblem
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DECLARATIONS", "NAMES", "Abandoned", "Cursor", "Unparsed"]

DECLARATIONS = ("interface", "node", "edge")
NAMES = (TokenKind.TYPE_NAME, TokenKind.IDENT)
_LOOKAHEAD = 3
_PROBLEMS_MAX = 100
_SHOWN_MAX = 40


class Unparsed(Exception):
    """Unwinds to the next place where parsing can go on; the diagnostic is recorded there."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Abandoned(Exception):
    """There are so many errors that the rest is not worth reading."""


class Cursor:
    """``token`` is the one to be read next. The end of the text is never passed."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        # More ends after the end make looking ahead safe.
        self._tokens = tokens + [tokens[-1]] * _LOOKAHEAD
        self._at = 0
        self.token = tokens[0]
        self.problems: list[Diagnostic] = []

    @property
    def ahead(self) -> Token:
        """The token after the current one."""
        return self._tokens[self._at + 1]

    def peek(self, distance: int) -> Token:
        """A token further on, at most ``_LOOKAHEAD`` away."""
        return self._tokens[self._at + distance]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not TokenKind.EOF:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def accept(self, text: str) -> bool:
        """Whether this word or punctuation came next; if so it is passed."""
        if self.token.text != text:
            return False
        self.advance()
        return True

    def expect(self, text: str, remedy: str | None = None) -> Token:
        if self.token.text != text:
            self.unexpected(f"`{text}`", remedy or f"write `{text}` before it")
        return self.advance()

    def span_from(self, start: Token) -> Span:
        """From a token to the last one that was read."""
        return Span(start.start, self._tokens[self._at - 1].end)

    def touches_previous(self) -> bool:
        """Whether nothing stands between the last token read and the current one."""
        return self._tokens[self._at - 1].end == self.token.start

    def starts_line(self) -> bool:
        """Whether the current token is the first one on its line."""
        before = self._tokens[self._at - 1].end if self._at else 0
        return not self._at or "\n" in self._text[before : self.token.start]

    def fail(
        self, problem: SchemaSyntaxProblem, message: str, *, remedy: str, at: Span | None = None
    ) -> NoReturn:
        raise Unparsed(Diagnostic(problem.value, message, at or self.token.span, remedy))

    def report(
        self, problem: SchemaSyntaxProblem, message: str, *, remedy: str, at: Span | None = None
    ) -> None:
        """Records an error that does not stop the parser."""
        self.record(Diagnostic(problem.value, message, at or self.token.span, remedy))

    def record(self, diagnostic: Diagnostic) -> None:
        self.problems.append(diagnostic)
        if len(self.problems) >= _PROBLEMS_MAX:
            raise Abandoned

    def unexpected(self, expected: str, remedy: str) -> NoReturn:
        self.fail(
            SchemaSyntaxProblem.UNEXPECTED,
            f"expected {expected}, found {self.described()}",
            remedy=remedy,
        )

    def described(self) -> str:
        """The current token, for a message."""
        token = self.token
        if token.kind is TokenKind.EOF:
            return token.kind.value
        return f"`{token.text[:_SHOWN_MAX]}{'…' if len(token.text) > _SHOWN_MAX else ''}`"

    def at_declaration(self) -> bool:
        """Whether a declaration begins here: no property looks like ``node Name``."""
        return self.token.text in DECLARATIONS and self.ahead.kind in NAMES

    def at_probable_declaration(self) -> bool:
        """Also where two words begin an unindented line: the first may be a misspelt keyword."""
        return self.at_declaration() or (
            self.token.kind is TokenKind.IDENT
            and self.ahead.kind is TokenKind.TYPE_NAME
            and self._text[self.token.start - 1 : self.token.start] in ("", "\n")
        )

    def skip_until(self, stop: Callable[[], bool]) -> None:
        """Moves on by at least one token, to where ``stop`` holds or to the end."""
        self.advance()
        while self.token.kind is not TokenKind.EOF and not stop():
            self.advance()
