"""T11: a mutation names properties of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.model import EdgeType
from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T11", "A mutation names properties of the type that it changes.")


def unknown(entity: EntityType, name: str, span: Span, *, assigned: bool) -> Diagnostic:
    """The type has no such property; ``id`` and the endpoints are read, not assigned."""
    known = [*entity.by_name]
    if isinstance(entity, EdgeType):
        known += ["from", "to"]
    if not assigned:
        known.append("id")
    return RULE.broken(span, f"type `{entity.name}` has no property `{name}`", suggest(name, known))


def assigned_id(entity: EntityType, span: Span) -> Diagnostic:
    """Ids are derived from the key, or generated."""
    remedy = "assign the members of the key instead" if entity.key else "leave it out"
    return RULE.broken(span, "`id` is given by the system and cannot be assigned", remedy)


def ambiguous_endpoint(edge: EdgeType, name: str, span: Span) -> Diagnostic:
    """An endpoint type's name is ambiguous when both ends have it."""
    return RULE.broken(
        span,
        f"both ends of `{edge.name}` could be `{name}`",
        "name the ends `from` and `to`",
    )
