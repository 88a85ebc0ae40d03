"""Validate the names of types and properties.

Names that differ only by case are duplicates: edge names and Spark columns are case-insensitive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.catalog.model import ENDPOINTS
from omnigraph.datatypes.types import Scalar
from omnigraph.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.language.pg.ast import PropertyDecl

__all__ = ["CHECKS"]

_BUILT_IN = frozenset({*(scalar.value for scalar in Scalar), "Vector"})
# Literals and operators of the query language.
_QUERY_KEYWORDS = frozenset({"true", "false", "null", "not", "and", "or"})
# Virtual columns of every Lance table.
_LANCE_COLUMNS = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)


def check_type_names(schema: SchemaDraft) -> Iterator[Diagnostic]:
    known: dict[str, AnyDraft] = {}
    for draft in schema.types:
        first = known.setdefault(draft.name.casefold(), draft)
        if first is draft:
            continue
        if first.name == draft.name:
            message = f"type `{first.name}` already exists, as {first.kind}"
        else:
            message = f"`{draft.name}` differs from `{first.name}` only by case"
        yield Diagnostic(
            SchemaCode.DUPLICATE_TYPE,
            message,
            draft.decl.name_span,
            "rename one of them; interfaces, nodes and edges share one namespace",
        )


def check_built_in_names(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        if draft.name in _BUILT_IN:
            yield Diagnostic(
                SchemaCode.RESERVED_TYPE,
                f"`{draft.name}` is a built-in type",
                draft.decl.name_span,
                "choose another name",
            )


def check_property_names(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        own = {prop.name for prop in draft.decl.properties}
        # An inherited property may be redeclared, but not in another case.
        known = {prop.name.casefold(): prop for prop in draft.properties if prop.name not in own}
        for prop in draft.decl.properties:
            first = known.setdefault(prop.name.casefold(), prop)
            if first is not prop:
                yield _duplicate_property(draft, first, prop)


def _duplicate_property(draft: AnyDraft, first: PropertyDecl, prop: PropertyDecl) -> Diagnostic:
    if first.name == prop.name:
        message = f"`{draft.name}` already has a property `{prop.name}`"
    else:
        message = f"`{prop.name}` differs from `{first.name}` only by case"
    return Diagnostic(
        SchemaCode.DUPLICATE_PROPERTY,
        message,
        prop.name_span,
        "remove or rename it",
    )


def check_reserved_names(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for prop in draft.decl.properties:
            if reason := _reserved(prop.name, draft.kind):
                yield Diagnostic(
                    SchemaCode.RESERVED_PROPERTY,
                    f"`{prop.name}` is not allowed as a property name: {reason}",
                    prop.name_span,
                    "choose another name",
                )


def _reserved(name: str, kind: str) -> str | None:
    folded = name.casefold()
    if folded == "id":
        return "every entity has an `id`, derived from its key"
    if kind == "edge" and folded in ENDPOINTS:
        return "it names an endpoint of the edge"
    if folded in _LANCE_COLUMNS:
        return "it is a virtual column of the storage"
    if folded in _QUERY_KEYWORDS:
        return "queries read it as a value or an operator"
    if name.startswith("__"):
        return "names that start with `__` are reserved for hidden columns"
    return None


CHECKS = (check_type_names, check_built_in_names, check_property_names, check_reserved_names)
