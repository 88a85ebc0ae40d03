"""Tokens of both languages.

One alternation regex finds every token, so that the work per token is a lookup and a tuple. The
lexer never stops at an error: it reports it and goes on, and the parsers read what is left.
"""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.source import Span
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from omnigraph.language.source import Source

__all__ = [
    "MAX_NAME_LENGTH",
    "MAX_NESTING",
    "MAX_SOURCE_CHARS",
    "Token",
    "TokenKind",
    "independent",
    "quote_string",
    "tokenize",
]

# Far above any text that a person keeps; tokens take some hundred times the room of their text.
MAX_SOURCE_CHARS = 1024 * 1024
MAX_NAME_LENGTH = 255
# Checked by the parsers: how deep blocks, parentheses and brackets may be nested.
MAX_NESTING = 64
# A text with more of them is not what it claims to be.
_MAX_PROBLEMS = 100
# A deadline is noticed once in so many tokens: asking costs as much as reading one.
_TOKENS_PER_CHECK = 1024
# Enough for any 64-bit integer and for every digit that a double can use.
_MAX_NUMBER_LENGTH = 400


class TokenKind(StrEnum):
    """Kinds of tokens; the value is their name in messages."""

    IDENT = "a name"
    TYPE_NAME = "a type name"
    VARIABLE = "a variable"
    INT = "an integer"
    FLOAT = "a number"
    STRING = "a string"
    PUNCT = "punctuation"
    EOF = "the end of the text"


class Token(NamedTuple):
    """``value`` is the number, the unescaped string, or the variable's name without ``$``.

    A string's ``text`` keeps its quotes, so comparing ``text`` alone never mistakes it for a word
    or for punctuation.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    value: str | int | float

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


_TOKEN = re.compile(
    r"""
      (?P<skip>      [ \t\r\n]++ | \A\ufeff | //[^\n]*+ | /\*(?s:.*?)\*/ )
    | (?P<ident>     [a-z_][A-Za-z0-9_]*+ )
    | (?P<punct>     \.\.\.? | -> | \|\| | [<>!]= | [{}()\[\]:,.<>=?@*+;|%-] | /(?![*/]) )
    | (?P<variable>  \$[a-z_][A-Za-z0-9_]*+ )
    | (?P<type_name> [A-Z][A-Za-z0-9_]*+ )
    | (?P<string>    "[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+" )
    | (?P<float>     [0-9]++(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++) )
    | (?P<int>       [0-9]++ )
    | (?P<dollar>    \$ )
    | (?P<open_string>  "[^\r\n]*+ )
    | (?P<open_comment> /\*(?s:.*) )
    | (?P<illegal>   [^ \t\r\nA-Za-z0-9_$"{}()\[\]:,.<>!=?@*+;|/%-]++ | (?s:.) )
    """,
    re.VERBOSE,
)

# Tokens whose value is their text need no further work.
_PLAIN = {
    "ident": TokenKind.IDENT,
    "punct": TokenKind.PUNCT,
    "type_name": TokenKind.TYPE_NAME,
    "dollar": TokenKind.PUNCT,
}

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
)
_SIMPLE_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
}


def tokenize(source: Source) -> tuple[list[Token], list[Diagnostic]]:
    """All tokens, the last one ``EOF``, and what is lexically wrong with the text."""
    text = source.text
    if len(text) > MAX_SOURCE_CHARS:
        return [_end_of(text)], [_too_large(text)]
    tokens: list[Token] = []
    problems: list[Diagnostic] = _lone_surrogates(text)
    append = tokens.append
    for match in _TOKEN.finditer(text):
        if not len(tokens) % _TOKENS_PER_CHECK:
            checkpoint()
        if len(problems) >= _MAX_PROBLEMS:
            problems.append(_too_many(match.start()))
            break
        group = match.lastgroup
        if group == "skip":
            continue
        start, end = match.span()
        if kind := _PLAIN.get(group):  # type: ignore[arg-type] # every alternative is named
            word = match[0]
            append(Token(kind, word, start, end, word))
            if end - start > MAX_NAME_LENGTH:
                problems.append(_name_too_long(start, end))
        elif token := _read(group, match[0], start, problems):
            append(token)
    append(_end_of(text))
    return tokens, problems


def independent(
    source: Source, lexical: list[Diagnostic], syntactic: list[Diagnostic]
) -> list[Diagnostic]:
    """Both kinds of findings, without the syntactic ones that a lexical one explains.

    A parser stumbles over what the lexer could not read, on the same line; and an unclosed comment
    swallows everything after it.
    """
    if any(found.code == _GAVE_UP for found in lexical):
        return lexical
    lines = {source.position(found.span.start).line for found in lexical}
    swallowed = min(
        (found.span.start for found in lexical if found.code in _SWALLOWING),
        default=len(source.text) + 1,
    )
    return lexical + [
        found
        for found in syntactic
        if found.span.start < swallowed and source.position(found.span.start).line not in lines
    ]


def quote_string(text: str) -> str:
    """A string as both languages write it: JSON's escapes are ours."""
    return json.dumps(text, ensure_ascii=False)


_SWALLOWING = frozenset({"syntax.unterminated_comment", "syntax.too_large"})
_GAVE_UP = "syntax.too_many_errors"


def _read(group: str | None, text: str, start: int, problems: list[Diagnostic]) -> Token | None:
    """The tokens that need work, and everything that is not a token."""
    end = start + len(text)
    match group:
        case "string":
            return Token(TokenKind.STRING, text, start, end, _unescape(text, start, problems))
        case "variable":
            if len(text) > MAX_NAME_LENGTH:
                problems.append(_name_too_long(start, end))
            return Token(TokenKind.VARIABLE, text, start, end, text[1:])
        case "int" | "float":
            return _number(group, text, start, problems)
        case "open_string":
            problems.append(
                Diagnostic(
                    "syntax.unterminated_string",
                    "this string has no closing quote on its line",
                    Span(start, end),
                    'close it with `"`; write a line break inside a string as `\\n`',
                )
            )
            return Token(TokenKind.STRING, text, start, end, text[1:])
        case "open_comment":
            problems.append(
                Diagnostic(
                    "syntax.unterminated_comment",
                    "this comment is never closed",
                    Span(start, start + 2),
                    "close it with `*/`, or use `//` for the rest of a line",
                )
            )
            return None
        case _:
            problems.append(_illegal(text, start))
            return None


def _number(group: str, text: str, start: int, problems: list[Diagnostic]) -> Token:
    end = start + len(text)
    kind = TokenKind.INT if group == "int" else TokenKind.FLOAT
    if len(text) <= _MAX_NUMBER_LENGTH:
        value = int(text) if group == "int" else float(text)
        if math.isfinite(value) if group == "float" else True:
            return Token(kind, text, start, end, value)
    problems.append(
        Diagnostic(
            "syntax.number_too_large",
            "this number is larger than any type can hold",
            Span(start, end),
            "use a number below 1.8e308",
        )
    )
    return Token(kind, text, start, end, 0)


def _unescape(text: str, start: int, problems: list[Diagnostic]) -> str:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner

    def replace(match: re.Match[str]) -> str:
        high, low, unit, simple = match.groups()
        if high:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
        if unit and not 0xD800 <= (code := int(unit, 16)) <= 0xDFFF:
            return chr(code)
        if simple in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[simple]
        at = start + 1 + match.start()
        problems.append(_bad_escape(match[0], at))
        return ""

    return _ESCAPE.sub(replace, inner)


def _bad_escape(text: str, start: int) -> Diagnostic:
    span = Span(start, start + len(text))
    if len(text) > 2:
        return Diagnostic(
            "syntax.bad_escape",
            f"`{text}` is half of a surrogate pair",
            span,
            "write both halves, `\\ud83d\\ude00`, or the character itself",
        )
    return Diagnostic(
        "syntax.bad_escape",
        f"`{text}` is not an escape",
        span,
        'the escapes are \\" \\\\ \\/ \\n \\t \\r \\b \\f and \\uXXXX; write a backslash as `\\\\`',
    )


_OTHER_QUOTES = ("'", "\u2018", "\u2019", "\u201c", "\u201d")


def _illegal(text: str, start: int) -> Diagnostic:
    shown = text if text.isprintable() else " ".join(f"U+{ord(char):04X}" for char in text[:8])
    if text in _OTHER_QUOTES:
        remedy = 'strings are written in straight double quotes: `"…"`'
    elif text == "#":
        remedy = "comments start with `//`"
    elif text == "!":
        remedy = "write `not`, or `!=` to compare"
    else:
        remedy = "remove it, or put it into a string"
    return Diagnostic(
        "syntax.illegal_character",
        f"`{shown[:40]}` means nothing here",
        Span(start, start + len(text)),
        remedy,
    )


def _name_too_long(start: int, end: int) -> Diagnostic:
    return Diagnostic(
        "syntax.name_too_long",
        f"this name has {end - start} characters",
        Span(start, end),
        f"names have at most {MAX_NAME_LENGTH} characters",
    )


def _too_many(start: int) -> Diagnostic:
    return Diagnostic(
        _GAVE_UP,
        "there are so many errors that the rest was not read",
        Span(start, start),
        "is this the right file?",
    )


def _too_large(text: str) -> Diagnostic:
    return Diagnostic(
        "syntax.too_large",
        f"the text has {len(text):,} characters; the limit is {MAX_SOURCE_CHARS:,}",
        Span(0, 0),
        "split it into several files",
    )


def _lone_surrogates(text: str) -> list[Diagnostic]:
    """Texts from undecodable bytes carry half characters that nothing could store."""
    if text.isascii():
        return []
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return [
            Diagnostic(
                "syntax.not_unicode",
                f"U+{ord(text[error.start]):04X} is not a character",
                Span(error.start, error.start + 1),
                "save the file as UTF-8",
            )
        ]
    return []


def _end_of(text: str) -> Token:
    return Token(TokenKind.EOF, "", len(text), len(text), "")
