"""Validate ``@rename_from``: the old name must exist, be unused and be claimed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from omnigraph.catalog.codes import SchemaCode
from omnigraph.language.diagnostics import Diagnostic, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.language.pg.ast import Annotation

__all__ = ["CHECKS", "check_renames_of_nothing", "check_renames_onto_known", "old_name"]

# The name of a type or property of the new schema, and its annotations.
_Claim: TypeAlias = "tuple[str, Iterable[Annotation]]"


def old_name(annotations: Iterable[Annotation]) -> str | None:
    """Return the argument of ``@rename_from``, if it is a string."""
    for annotation in annotations:
        if annotation.name == "rename_from" and annotation.args:
            name = annotation.args[0]
            return name if isinstance(name, str) else None
    return None


def check_type_renames(schema: SchemaDraft) -> Iterator[Diagnostic]:
    drafts: tuple[AnyDraft, ...] = (*schema.nodes, *schema.edges)
    claims = ((draft.name, draft.decl.annotations) for draft in drafts)
    yield from _check(claims, schema.by_name, "type")


def check_property_renames(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        claims = ((prop.name, prop.annotations) for prop in draft.properties)
        yield from _check(claims, draft.by_name, "property")


def _check(
    claims: Iterable[tuple[str, Iterable[Annotation]]], living: Collection[str], what: str
) -> Iterator[Diagnostic]:
    claimed: dict[str, str] = {}
    for name, given in claims:
        old = old_name(given)
        if old is None or old == name:
            continue
        span = next(each.span for each in given if each.name == "rename_from")
        first = claimed.setdefault(old, name)
        if old in living:
            yield Diagnostic(
                SchemaCode.RENAME_OF_LIVING,
                f"cannot rename {what} `{old}` to `{name}`: `{old}` still exists in the schema",
                span,
                f"remove `{old}` or this annotation; to swap two names, use a temporary third one",
            )
        elif first != name:
            yield Diagnostic(
                SchemaCode.RENAME_CLAIMED_TWICE,
                f"{what} `{old}` is already renamed to `{first}`",
                span,
                "keep the annotation on one of them",
            )


def check_renames_onto_known(schema: SchemaDraft, previous: Catalog) -> Iterator[Diagnostic]:
    """Refuse renames onto an existing name: one of the two would be dropped silently."""
    drafts: tuple[AnyDraft, ...] = (*schema.nodes, *schema.edges)
    known = {entity.name: entity for entity in previous.types.values()}
    for draft in drafts:
        yield from _onto_known(draft.name, draft.decl.annotations, known, schema.by_name, "type")
        before = known.get(draft.name)
        for prop in draft.properties if before else ():
            names = before.by_name if before else {}
            yield from _onto_known(prop.name, prop.annotations, names, draft.by_name, "property")


def _onto_known(
    name: str,
    given: Iterable[Annotation],
    known: Collection[str],
    living: Collection[str],
    what: str,
) -> Iterator[Diagnostic]:
    old = old_name(given)
    if old is not None and old != name and {old, name} <= set(known) and old not in living:
        yield Diagnostic(
            SchemaCode.RENAME_ONTO_KNOWN,
            f"cannot rename {what} `{old}` to `{name}`: the accepted schema has both",
            next(each.span for each in given if each.name == "rename_from"),
            f"to drop `{old}`, remove this annotation; to keep its data, drop `{name}` first",
        )


def check_renames_of_nothing(schema: SchemaDraft, previous: Catalog) -> Iterator[Diagnostic]:
    """Refuse renames of unknown names if something else would be dropped.

    A misspelt old name would drop the intended type and create an empty one. Where nothing is
    dropped, the annotation of an earlier rename may stay in the source."""
    nodes = {node.name: node for node in previous.nodes}
    edges = {edge.name.casefold(): edge for edge in previous.edges}
    yield from _of_nothing(_claims(schema.nodes), nodes, "type")
    # Edge names are case-insensitive.
    folded = [(name.casefold(), given) for name, given in _claims(schema.edges)]
    yield from _of_nothing(folded, edges, "type", fold=str.casefold)
    known: dict[str, EntityType] = {**edges, **nodes}
    drafts: tuple[AnyDraft, ...] = (*schema.nodes, *schema.edges)
    for draft in drafts:
        old = old_name(draft.decl.annotations)
        before = known.get(draft.name) or known.get(draft.name.casefold()) or known.get(old or "")
        if before is not None:
            claims = [(prop.name, prop.annotations) for prop in draft.properties]
            yield from _of_nothing(claims, before.by_name, "property")


def _claims(drafts: Iterable[AnyDraft]) -> list[_Claim]:
    return [(draft.name, draft.decl.annotations) for draft in drafts]


def _of_nothing(
    claims: Sequence[_Claim],
    known: Collection[str],
    what: str,
    fold: Callable[[str], str] = str,
) -> Iterator[Diagnostic]:
    olds = {name: fold(old_name(given) or "") for name, given in claims}
    dropped = [name for name in known if name not in olds and name not in olds.values()]
    for name, given in claims:
        old = olds[name]
        if not dropped or not old or name in known or old in known or old in olds:
            continue
        yield Diagnostic(
            SchemaCode.RENAME_OF_NOTHING,
            f"cannot rename {what} `{old}` to `{name}`: `{old}` does not exist, "
            f"and `{dropped[0]}` would be dropped",
            next(each.span for each in given if each.name == "rename_from"),
            did_you_mean(old, dropped)
            or f"name an existing {what}, or remove this annotation if `{name}` is new",
        )


CHECKS = (check_type_renames, check_property_renames)
