"""T6: a variable that is read is bound, and the property that is read exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.model import ENDPOINTS, EdgeType
from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest, suggest_variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import AliasRef, PropertyAccess, PropertyName
    from omnigraph.language.source import Span

RULE = Rule("T6", "A variable that is read is bound, and its type has the property that is read.")


def unbound(name: str, span: Span, known: Iterable[str]) -> Diagnostic:
    """The name is neither a variable of the pattern nor a parameter."""
    if name == "_":
        return RULE.broken(
            span, "`$_` matches anything and cannot be read", "give the variable a name: `$x`"
        )
    return RULE.broken(
        span,
        f"`${name}` is neither bound in `match` nor a parameter",
        suggest_variable(name, known)
        or f"bind it with `${name}: Type`, or declare it as a parameter",
    )


def hidden(name: str, span: Span) -> Diagnostic:
    """The name is bound, but only inside a block."""
    return RULE.broken(
        span,
        f"`${name}` is bound inside a block and cannot be read outside",
        "bind it in `match` itself",
    )


def parameter_has_no_property(access: PropertyAccess) -> Diagnostic:
    """``$p.name`` where ``$p`` is a parameter."""
    return RULE.broken(
        access.variable_span,
        f"`${access.variable}` is a parameter and has no properties",
        f"write `${access.variable}` alone",
    )


def value_has_no_property(access: PropertyAccess) -> Diagnostic:
    """``$v.name`` where ``$v`` holds a value."""
    return RULE.broken(
        access.variable_span,
        f"`${access.variable}` holds a value, which has no properties",
        f"write `${access.variable}` alone",
    )


def unknown_property(entity: EntityType, access: PropertyAccess) -> Diagnostic:
    """The entity's type has no such property."""
    kind = "edge" if isinstance(entity, EdgeType) else "node"
    known = [*entity.by_name, "id"]
    if isinstance(entity, EdgeType):
        known += ENDPOINTS
    return RULE.broken(
        access.prop_span,
        f"{kind} type `{entity.name}` has no property `{access.prop}`",
        suggest(access.prop, known),
    )


def bare_word(word: PropertyName | AliasRef, name: str) -> Diagnostic:
    """A property without its variable, in a place where it could be anybody's."""
    return RULE.broken(
        word.span, f"`{name}` is not a value", f"write `$x.{name}` for a property of `$x`"
    )
