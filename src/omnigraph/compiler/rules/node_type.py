"""T1: a binding names a node type of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Binding

RULE = Rule("T1", "A binding names a node type of the schema.")


def unknown(catalog: Catalog, binding: Binding) -> Diagnostic:
    """The binding's type is not a node type."""
    name = binding.type_name
    return RULE.broken(
        binding.type_span,
        f"the schema has no node type `{name}`",
        _remedy(catalog, name),
    )


def _remedy(catalog: Catalog, name: str) -> str:
    edge = catalog.edge(name)
    if edge is not None:
        spelled = edge.name[0].lower() + edge.name[1:]
        return f"`{edge.name}` is an edge: traverse it with `$a {spelled} $b`"
    if any(interface.name == name for interface in catalog.interfaces):
        members = [node.name for node in catalog.nodes if name in node.interfaces]
        return (
            f"`{name}` is an interface: bind one of the types that implement it ({_list(members)})"
        )
    return suggest(name, (node.name for node in catalog.nodes))


def _list(names: list[str]) -> str:
    return ", ".join(names) or "there are none"
