"""The class of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from omnigraph.language.source import Span

__all__ = ["Rule"]


@frozen
class Rule:
    """A stable code and, in one line, what must hold."""

    code: str
    meaning: str

    def broken(self, span: Span, message: str, remedy: str) -> Diagnostic:
        """The finding that the rule does not hold at a place."""
        return Diagnostic(self.code, message, span, remedy)
