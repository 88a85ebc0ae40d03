"""A cursor over tokens: looking, advancing, failing and recovering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.language.diagnostics import Diagnostic, did_you_mean
from omnigraph.language.gq.problems import SyntaxProblem
from omnigraph.language.lexer import MAX_NESTING, Token, TokenKind
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.language.source import Source

__all__ = ["Cursor", "Unparsed"]

# No rule looks further ahead than this, so that many ends after the end make looking ahead safe.
_LOOKAHEAD = 4


class Unparsed(Exception):
    """Unwinds to the next place where parsing can go on; the diagnostic is recorded there."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Cursor:
    """``token`` is the one to be read next. The end of the text is never passed."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens + [tokens[-1]] * _LOOKAHEAD
        self.at = 0
        self.token = tokens[0]
        self.depth = 0
        self.problems: list[Diagnostic] = []

    # --- reading -------------------------------------------------------------------------------

    def advance(self) -> Token:
        """The current token, which is not the end; the cursor moves on."""
        token = self.token
        self.at += 1
        self.token = self.tokens[self.at]
        return token

    def ahead(self, distance: int = 1) -> Token:
        return self.tokens[self.at + distance]

    def accept(self, text: str) -> bool:
        """Whether this word or punctuation came next; if so it is passed."""
        if self.token.text != text:
            return False
        self.advance()
        return True

    def expect(self, text: str, remedy: str | None = None) -> Token:
        """Passes a word or punctuation that must come next."""
        if self.token.text != text:
            raise self.unexpected(
                f"`{text}`", remedy or self.suggest([text]) or f"write `{text}` here"
            )
        return self.advance()

    def expect_kind(self, kind: TokenKind, what: str, remedy: str) -> Token:
        """Passes a token of a kind that must come next; ``what`` names its role."""
        if self.token.kind is not kind:
            raise self.unexpected(what, remedy)
        return self.advance()

    def span_from(self, start: Token) -> Span:
        """From a token to the last one that was read."""
        return Span(start.start, self.tokens[self.at - 1].end)

    def on_new_line(self) -> bool:
        """Whether a line break stands before the current token."""
        return "\n" in self.source.text[self.tokens[self.at - 1].end : self.token.start]

    def separate(self, what: str) -> None:
        """A comma or a line break between two items of a list; nothing before its end."""
        if self.accept(",") or self.token.text == "}" or self.on_new_line():
            return
        raise self.unexpected("`,` or `}`", f"{what} are separated by commas or line breaks")

    # --- failing -------------------------------------------------------------------------------

    def error(
        self, problem: SyntaxProblem, message: str, *, remedy: str, at: Token | Span | None = None
    ) -> Unparsed:
        """An error for the caller to raise, at the current token by default."""
        return Unparsed(self._finding(problem, message, at=at, remedy=remedy))

    def report(
        self, problem: SyntaxProblem, message: str, *, remedy: str, at: Token | Span | None = None
    ) -> None:
        """Records an error that does not stop the parser."""
        self.problems.append(self._finding(problem, message, at=at, remedy=remedy))

    def _finding(
        self, problem: SyntaxProblem, message: str, *, remedy: str, at: Token | Span | None
    ) -> Diagnostic:
        place = self.token if at is None else at
        span = place if isinstance(place, Span) else place.span
        return Diagnostic(problem.value, message, span, remedy)

    def unexpected(self, expected: str, remedy: str) -> Unparsed:
        return self.error(
            SyntaxProblem.UNEXPECTED,
            f"expected {expected}, found {self.described()}",
            remedy=remedy,
        )

    def unknown_word(self, expected: str, known: Iterable[str]) -> Unparsed:
        """The current token is none of the words that may stand here."""
        words = list(known)
        return self.unexpected(expected, self.suggest(words) or f"write one of: {', '.join(words)}")

    def suggest(self, words: Iterable[str]) -> str | None:
        """The word that the current one may have been meant to be."""
        misspelt = self.token.kind is TokenKind.IDENT and len(self.token.text) <= 40
        return did_you_mean(self.token.text, words) if misspelt else None

    def described(self) -> str:
        """The current token, for a message."""
        token = self.token
        if token.kind is TokenKind.EOF:
            return token.kind.value
        return f"`{token.text}`" if len(token.text) <= 40 else f"`{token.text[:40]}…`"

    def require_at_most(self, count: int, maximum: int, what: str) -> None:
        if count > maximum:
            raise self.error(
                SyntaxProblem.TOO_MANY,
                f"more than {maximum:,} {what}",
                remedy="split the query, or pass the values as a list parameter",
            )

    def deeper(self) -> None:
        """Enters a block or parenthesis; the caller leaves it with ``depth -= 1``."""
        if self.depth >= MAX_NESTING:
            raise self.error(
                SyntaxProblem.TOO_DEEP,
                f"nested more than {MAX_NESTING} deep",
                remedy="flatten it: most nesting can be written as one clause after another",
            )
        self.depth += 1

    # --- recovering ----------------------------------------------------------------------------

    def ran_out(self) -> bool:
        """Whether the end of the text, or another query, stands where this one should go on."""
        return self.token.kind is TokenKind.EOF or self.at_query_head(self.at)

    def at_query_head(self, index: int) -> bool:
        """Whether a query begins there: nothing inside a query looks like ``query name (``."""
        return (
            self.tokens[index].text == "query"
            and self.tokens[index + 1].kind is TokenKind.IDENT
            and self.tokens[index + 2].text == "("
        )

    def skip_block(self, opening: int) -> bool:
        """Moves past the brace that closes the one at ``opening``; false when there is none."""
        open_braces = 0
        for index in range(opening, len(self.tokens) - _LOOKAHEAD):
            if self.at_query_head(index):
                return False
            open_braces += {"{": 1, "}": -1}.get(self.tokens[index].text, 0)
            if open_braces == 0:
                self._move_to(index + 1)
                return True
        return False

    def skip_to_query(self, start: int) -> None:
        """Moves to the first query head from ``start`` on, or to the end."""
        end = len(self.tokens) - _LOOKAHEAD - 1
        self._move_to(next((i for i in range(start, end) if self.at_query_head(i)), end))

    def _move_to(self, index: int) -> None:
        self.at = index
        self.token = self.tokens[index]
