"""``@rename_from``: the old name must be free, claimed once, and that of something."""

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

# Something of the new schema, and the annotations that may say what it was.
_Claim: TypeAlias = "tuple[str, Iterable[Annotation]]"


def old_name(annotations: Iterable[Annotation]) -> str | None:
    """The name that ``@rename_from`` gives, when it is given well."""
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
                f"the {what} `{old}` is still there, so `{name}` cannot be the renamed one",
                span,
                f"remove `{old}`, or this annotation; exchange names by way of a third",
            )
        elif first != name:
            yield Diagnostic(
                SchemaCode.RENAME_CLAIMED_TWICE,
                f"`{first}` is already the renamed {what} `{old}`",
                span,
                "keep the annotation on one of them",
            )


def check_renames_onto_known(schema: SchemaDraft, previous: Catalog) -> Iterator[Diagnostic]:
    """When both names are known, the rename would drop one of two things without a word."""
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
            f"there are both a {what} `{old}` and a {what} `{name}` already",
            next(each.span for each in given if each.name == "rename_from"),
            f"to drop `{old}`, remove this annotation; to keep its data, drop `{name}` first",
        )


def check_renames_of_nothing(schema: SchemaDraft, previous: Catalog) -> Iterator[Diagnostic]:
    """A misspelt old name would drop what it means, and make something empty instead. Where nothing
    is dropped it does no harm: a rename of long ago may stay in the source."""
    nodes = {node.name: node for node in previous.nodes}
    edges = {edge.name.casefold(): edge for edge in previous.edges}
    yield from _of_nothing(_claims(schema.nodes), nodes, "type")
    # Edges are matched without regard to case.
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
            f"there is no {what} `{old}` to become `{name}`, and `{dropped[0]}` would be dropped",
            next(each.span for each in given if each.name == "rename_from"),
            did_you_mean(old, dropped)
            or f"name the {what} that is meant, or remove this annotation if `{name}` is new",
        )


CHECKS = (check_type_renames, check_property_renames)
