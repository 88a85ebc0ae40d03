"""Names of types and properties.

Names that differ only by case are one name: edges are matched without regard to case, and so are
the columns of Spark.
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
# What the query language would read as something else wherever a property may stand alone.
_WORDS = frozenset({"true", "false", "null", "not", "and", "or"})
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
            message = f"there is already a type `{first.name}`, of kind {first.kind}"
        else:
            message = f"`{draft.name}` differs from `{first.name}` only by case"
        yield Diagnostic(
            SchemaCode.DUPLICATE_TYPE,
            message,
            draft.decl.name_span,
            "give one of them another name; interfaces, nodes and edges share their names",
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
        # An inherited property may be declared again, but not with another case.
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
        "remove it, or give it another name",
    )


def check_reserved_names(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for prop in draft.decl.properties:
            if reason := _reserved(prop.name, draft.kind):
                yield Diagnostic(
                    SchemaCode.RESERVED_PROPERTY,
                    f"`{prop.name}` cannot be a property: {reason}",
                    prop.name_span,
                    "choose another name",
                )


def _reserved(name: str, kind: str) -> str | None:
    folded = name.casefold()
    if folded == "id":
        return "every entity has an `id` already; a key decides what it is"
    if kind == "edge" and folded in ENDPOINTS:
        return "it means an end of the edge"
    if folded in _LANCE_COLUMNS:
        return "the storage keeps a column of its own under that name"
    if folded in _WORDS:
        return "queries read it as a value or an operator"
    if name.startswith("__"):
        return "names that start with `__` are kept for hidden columns"
    return None


CHECKS = (check_type_names, check_built_in_names, check_property_names, check_reserved_names)
