"""T29: a bare word in ``return`` or ``order`` is an alias that stands before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.language.diagnostics import Diagnostic, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.language.gq.ast import AliasRef

RULE = Rule("T29", "A bare word in `return` or `order` is an alias that was defined before it.")


def unknown(word: AliasRef, known: Iterable[str]) -> Diagnostic:
    """No earlier projection has this alias."""
    return RULE.broken(
        word.span,
        f"no column before this one is called `{word.name}`",
        did_you_mean(word.name, known) or f"write `$x.{word.name}` for a property of `$x`",
    )
