"""Validate keys, unique constraints and indexes, and the properties that they name."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.catalog.model import ENDPOINTS
from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType, spell_type
from omnigraph.language.diagnostics import Diagnostic, did_you_mean
from omnigraph.language.source import NO_SPAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.pg.ast import Constraint
    from omnigraph.language.source import Span

__all__ = ["CHECKS"]

_NAMES_SHOWN_MAX = 20
# The constraints that may name the endpoints of an edge.
_ON_ENDPOINTS = ("key", "unique", "index")


def check_members_exist(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint in draft.constraints:
            for name, span in _members(constraint):
                on_endpoint = draft.is_endpoint(name) and constraint.name in _ON_ENDPOINTS
                if name not in draft.by_name and not on_endpoint:
                    yield Diagnostic(
                        SchemaCode.UNKNOWN_MEMBER,
                        f"`{draft.name}` has no property `{name}`",
                        span,
                        did_you_mean(name, draft.by_name) or _members_remedy(draft),
                    )


def _members_remedy(draft: AnyDraft) -> str:
    if not draft.by_name:
        return f"`{draft.name}` has no properties"
    return f"its properties are {', '.join(islice(draft.by_name, _NAMES_SHOWN_MAX))}"


def check_members_distinct(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint in draft.own_constraints:
            seen: set[str] = set()
            for name, span in _members(constraint):
                canonical = _canonical_name(draft, name)
                if canonical in seen:
                    yield Diagnostic(
                        SchemaCode.REPEATED_MEMBER,
                        f"`@{constraint.name}` names `{canonical}` twice",
                        span,
                        "remove one of them",
                    )
                seen.add(canonical)


def check_member_types(schema: SchemaDraft) -> Iterator[Diagnostic]:
    """Require types whose values can be compared."""
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("key", "unique", "index"):
            if not _is_allowed_on(constraint.name, prop.dtype):
                yield Diagnostic(
                    SchemaCode.MEMBER_TYPE,
                    f"`@{constraint.name}` is not allowed on {draft.spell(prop)}",
                    _member_span(constraint, prop.name),
                    _type_remedy(constraint.name),
                )


def _is_allowed_on(constraint: str, dtype: DataType) -> bool:
    match dtype:
        case ScalarType(Scalar.BLOB) | ListType():
            return False
        case VectorType():
            return constraint == "index"
        case _:
            return True


def _type_remedy(constraint: str) -> str:
    if constraint == "index":
        return "index scalars, enums and vectors"
    return f"`@{constraint}` takes scalars other than Blob, and enums"


def check_edge_keys(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.edges:
        for constraint in draft.constraints:
            if constraint.name != "key":
                continue
            members = {_canonical_name(draft, name) for name in constraint.props}
            if not {"src", "dst"} <= members:
                rest = [name for name in constraint.props if name not in ENDPOINTS]
                yield Diagnostic(
                    SchemaCode.EDGE_KEY,
                    f"the key of the edge `{draft.name}` does not include both endpoints",
                    constraint.span,
                    f"write `@key({', '.join(['src', 'dst', *rest])})` in the body of the edge",
                )


def check_keys_required(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("key"):
            if prop.nullable:
                yield Diagnostic(
                    SchemaCode.NULLABLE_KEY,
                    f"`{draft.name}.{prop.name}` is part of the key but may be null",
                    _member_span(constraint, prop.name),
                    f"write `{prop.name}: {spell_type(prop.dtype)}`, without `?`",
                )


def check_single_key(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        keys = [constraint for constraint in draft.constraints if constraint.name == "key"]
        for constraint in keys[1:]:
            if constraint.props != keys[0].props:
                yield Diagnostic(
                    SchemaCode.SEVERAL_KEYS,
                    f"`{draft.name}` has a second key; the first is "
                    f"`@key({', '.join(keys[0].props)})`",
                    constraint.span,
                    "keep one; use `@unique` for the other, or one key of several properties",
                )


def check_repeated_constraints(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        seen: set[tuple[object, ...]] = set()
        for constraint in draft.own_constraints:
            members = tuple(_canonical_name(draft, name) for name in constraint.props)
            declaration = (constraint.name, members, constraint.pattern, constraint.bound)
            if declaration in seen:
                yield Diagnostic(
                    SchemaCode.REPEATED_CONSTRAINT,
                    f"`@{constraint.name}` is declared twice for `{', '.join(members)}`",
                    constraint.span,
                    "remove one of them",
                )
            seen.add(declaration)


def _canonical_name(draft: AnyDraft, name: str) -> str:
    """Return the canonical name of a member; endpoints have two spellings."""
    return ENDPOINTS[name].name if draft.is_endpoint(name) else name


def _members(constraint: Constraint) -> Iterator[tuple[str, Span]]:
    for index, name in enumerate(constraint.props):
        spans = constraint.prop_spans
        yield name, spans[index] if index < len(spans) else constraint.span


def _member_span(constraint: Constraint, name: str) -> Span:
    return next((span for member, span in _members(constraint) if member == name), NO_SPAN)


CHECKS = (
    check_members_exist,
    check_members_distinct,
    check_member_types,
    check_edge_keys,
    check_keys_required,
    check_single_key,
    check_repeated_constraints,
)
