"""T26: a variable has one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Binding

RULE = Rule("T26", "A variable that is bound twice is bound to the same type.")


def rebound(binding: Binding, entity: EntityType) -> Diagnostic:
    """The second binding names another type."""
    return RULE.broken(
        binding.type_span,
        f"`${binding.variable}` is a {entity.name} already and cannot be a {binding.type_name}",
        "choose another name for one of the two",
    )
