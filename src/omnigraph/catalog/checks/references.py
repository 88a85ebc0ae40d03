"""Validate references between types: interfaces and endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.datatypes.types import spell_type
from omnigraph.language.diagnostics import Diagnostic, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.draft import Declaration, SchemaDraft
    from omnigraph.language.pg.ast import NodeDecl, PropertyDecl
    from omnigraph.language.source import Span

__all__ = ["CHECKS"]


def check_interfaces_exist(schema: SchemaDraft) -> Iterator[Diagnostic]:
    names = [draft.name for draft in schema.interfaces]
    for node in (draft.decl for draft in schema.nodes):
        for name, span in node.implements:
            if name not in schema.by_name:
                yield Diagnostic(
                    SchemaCode.UNKNOWN_INTERFACE,
                    f"interface `{name}` does not exist",
                    span,
                    did_you_mean(name, names) or f"declare `interface {name} {{ … }}`",
                )


def check_interfaces_are_interfaces(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for node in (draft.decl for draft in schema.nodes):
        seen: set[str] = set()
        for name, span in node.implements:
            found = schema.by_name.get(name)
            if found and found.kind != "interface":
                yield Diagnostic(
                    SchemaCode.NOT_AN_INTERFACE,
                    f"`{name}` is of kind {found.kind}, not an interface",
                    span,
                    "only interfaces can be implemented",
                )
            elif name in seen:
                yield Diagnostic(
                    SchemaCode.NOT_AN_INTERFACE,
                    f"`{node.name}` implements `{name}` twice",
                    span,
                    "remove one of them",
                )
            seen.add(name)


def check_interfaces_agree(schema: SchemaDraft) -> Iterator[Diagnostic]:
    """Require one type and nullability for a property with several declarations."""
    for node in (draft.decl for draft in schema.nodes):
        known: dict[str, tuple[str, PropertyDecl]] = {}
        for owner, span in _owners(schema, node):
            for prop in {each.name: each for each in reversed(owner.properties)}.values():
                first_owner, first = known.setdefault(prop.name, (owner.name, prop))
                if (first.dtype, first.nullable) != (prop.dtype, prop.nullable):
                    yield Diagnostic(
                        SchemaCode.INTERFACE_CONFLICT,
                        f"`{owner.name}.{prop.name}` is {_spell(prop)}, but "
                        f"`{first_owner}.{first.name}` is {_spell(first)}",
                        span or prop.name_span,
                        f"declare it as {_spell(first)}, or remove it here",
                    )


def _owners(schema: SchemaDraft, node: NodeDecl) -> Iterator[tuple[Declaration, Span | None]]:
    """Yield the interfaces of a node with the position of their names, then the node itself."""
    for name, span in dict(node.implements).items():
        if (found := schema.by_name.get(name)) and found.kind == "interface":
            yield found.decl, span
    yield node, None


def check_endpoints(schema: SchemaDraft) -> Iterator[Diagnostic]:
    names = [draft.name for draft in schema.nodes]
    for edge in (draft.decl for draft in schema.edges):
        for name, span in ((edge.source, edge.source_span), (edge.target, edge.target_span)):
            found = schema.by_name.get(name)
            if found is None:
                yield Diagnostic(
                    SchemaCode.UNKNOWN_ENDPOINT,
                    f"node type `{name}` does not exist",
                    span,
                    did_you_mean(name, names) or f"declare `node {name} {{ … }}`",
                )
            elif found.kind != "node":
                yield Diagnostic(
                    SchemaCode.ENDPOINT_NOT_NODE,
                    f"`{name}` is of kind {found.kind}; edges connect node types",
                    span,
                    _endpoint_remedy(schema, name),
                )


def _endpoint_remedy(schema: SchemaDraft, name: str) -> str:
    implementing = [draft.name for draft in schema.nodes if name in dict(draft.decl.implements)]
    if implementing:
        return f"declare one edge type for each of: {', '.join(implementing[:20])}"
    return "name a node type"


def _spell(prop: PropertyDecl) -> str:
    return f"`{spell_type(prop.dtype, nullable=prop.nullable)}`"


CHECKS = (
    check_interfaces_exist,
    check_interfaces_are_interfaces,
    check_interfaces_agree,
    check_endpoints,
)
