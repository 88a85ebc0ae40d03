"""The expression language of backfills: properties, constants, ``+`` and ``coalesce``.

``first + " " + last`` joins texts; ``coalesce(nick, name, "nobody")`` is the first of several that
has a value. A word is a property, anything else a JSON constant.
"""

from __future__ import annotations

import json
import re
from typing import Any

from omnigraph.frozen import frozen

__all__ = [
    "Coalesce",
    "Concatenation",
    "Constant",
    "Expression",
    "ExpressionSyntaxError",
    "PropertyName",
    "parse_expression",
]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = re.compile(r"\s*")
_LITERALS = ("true", "false", "null")
_DEPTH_MAX = 16


class ExpressionSyntaxError(Exception):
    """The text is not an expression."""


@frozen
class PropertyName:
    name: str


@frozen
class Constant:
    value: Any


@frozen
class Concatenation:
    parts: tuple[Expression, ...]


@frozen
class Coalesce:
    options: tuple[Expression, ...]


Expression = PropertyName | Constant | Concatenation | Coalesce


def parse_expression(text: str) -> Expression:
    """Parse an expression, or raise ``ExpressionSyntaxError``."""
    return _Parser(text).run()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def run(self) -> Expression:
        found = self._sum()
        if self._at != len(self._text):
            raise ExpressionSyntaxError
        return found

    def _sum(self) -> Expression:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ExpressionSyntaxError
        parts = [self._term()]
        while self._takes("+"):
            parts.append(self._term())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _term(self) -> Expression:
        self._skip()
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] in _LITERALS:
            return self._constant()
        self._at = word.end()
        if not self._takes("("):
            return PropertyName(word[0])
        if word[0] != "coalesce":
            raise ExpressionSyntaxError
        options = [self._sum()]
        while self._takes(","):
            options.append(self._sum())
        if not self._takes(")"):
            raise ExpressionSyntaxError
        return Coalesce(tuple(options))

    def _constant(self) -> Constant:
        try:
            value, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            raise ExpressionSyntaxError from None
        self._skip()
        return Constant(value)

    def _takes(self, sign: str) -> bool:
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        self._skip()
        return True

    def _skip(self) -> None:
        spaces = _SPACE.match(self._text, self._at)
        self._at = spaces.end() if spaces else self._at
