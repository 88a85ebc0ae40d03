"""``@rename_from``: the old name must be free, and claimed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.pg.ast import Annotation

__all__ = ["CHECKS", "check_renames_onto_known", "old_name"]


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
                f"remove `{old}`, or this annotation; exchange two names in two steps",
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


CHECKS = (check_type_renames, check_property_renames)
