"""T35: an entity keeps its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T35", "A member of the key cannot be updated.")


def check(entity: EntityType, prop: Property, span: Span) -> Diagnostic | None:
    """The key is the identity of the entity."""
    if not entity.key or prop.id not in entity.key:
        return None
    return RULE.broken(
        span,
        f"`{prop.name}` is part of the key of `{entity.name}` and cannot change",
        "insert a new entity and delete this one",
    )
