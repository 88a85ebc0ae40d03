"""T40: an update sets something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Update

RULE = Rule("T40", "An update assigns at least one property.")


def check(update: Update) -> Diagnostic | None:
    """Whether there is an assignment."""
    if update.assignments:
        return None
    return RULE.broken(update.span, "this update sets nothing", "name what to set: `set { … }`")
