"""T13: a property is assigned once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Assignment

RULE = Rule("T13", "A statement assigns each property, and each endpoint, once.")


def repeated(assignment: Assignment) -> Diagnostic:
    """The same property, or the same endpoint under another name, was assigned before."""
    return RULE.broken(
        assignment.prop_span, f"`{assignment.prop}` is assigned twice", "keep one of the two"
    )
