"""T10: a mutation names a type of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Statement

RULE = Rule("T10", "A mutation names a node or edge type of the schema.")


def unknown(catalog: Catalog, statement: Statement) -> Diagnostic:
    """There is no such type."""
    name = statement.type_name
    remedy = suggest(name, (entity.name for entity in catalog.types.values()))
    if any(interface.name == name for interface in catalog.interfaces):
        remedy = f"`{name}` is an interface: name one of the types that implement it"
    return RULE.broken(statement.type_span, f"the schema has no type `{name}`", remedy)
