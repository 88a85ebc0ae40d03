"""Filters of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.changes import ChangeOp
from omnigraph.catalog.model import EntityKind
from omnigraph.changes.model import ChangeFilter
from omnigraph.errors import InvalidInput
from omnigraph.language.diagnostics import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.catalog.model import Catalog, TypeId

__all__ = ["OPS", "parse_filter"]

OPS = {op.name.lower(): op for op in ChangeOp}


def parse_filter(
    kinds: Sequence[str], types: Sequence[str], ops: Sequence[str], catalogs: Iterable[Catalog]
) -> ChangeFilter:
    """Build a filter from names; the first schema with a type of that name resolves it."""
    known = list(catalogs)
    return ChangeFilter(
        frozenset(EntityKind(_member("kind", kind, tuple(EntityKind))) for kind in _each(kinds)),
        frozenset(_type_id(name, known) for name in _each(types)),
        frozenset(OPS[_member("op", op, tuple(OPS))] for op in _each(ops)),
    )


def _each(names: str | Sequence[str]) -> Sequence[str]:
    """Accept a single name: a text is a sequence too, but of letters."""
    return (names,) if isinstance(names, str) else names


def _member(what: str, given: str, known: Sequence[str]) -> str:
    if given in known:
        return given
    raise InvalidInput(
        f"changes.bad_{what}",
        f"there is no {what} {given!r}",
        remedy=f"one of: {', '.join(known)}",
    )


def _type_id(name: object, catalogs: Sequence[Catalog]) -> TypeId:
    for catalog in catalogs:
        entity = catalog.entity(name) if isinstance(name, str) else None
        if entity is not None:
            return entity.id
    names = list(
        dict.fromkeys(entity.name for catalog in catalogs for entity in catalog.types.values())
    )
    raise InvalidInput(
        "changes.unknown_type",
        f"the schema has no type {name!r:.100}",
        remedy=suggest(str(name), names),
    )
