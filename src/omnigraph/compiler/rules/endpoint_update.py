"""T16: an edge keeps its endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Assignment

RULE = Rule("T16", "The endpoints of an edge cannot be updated.")


def moved(assignment: Assignment) -> Diagnostic:
    """An update assigns an endpoint."""
    return RULE.broken(
        assignment.prop_span,
        f"`{assignment.prop}` is an endpoint, and an edge keeps its endpoints",
        "delete the edge and insert another one",
    )
