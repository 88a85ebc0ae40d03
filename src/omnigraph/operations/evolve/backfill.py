"""Where rows that exist get their values of a property from.

``{"Person.full_name": "name"}``: a word is another property of the same type, as it was before the
change; anything else is a constant in JSON, so a text needs its quotes (``'"unknown"'``). Values
that are no text are constants as they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import Scalar, ScalarType, spell_type
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.errors import SchemaFailure
from omnigraph.operations.evolve.rows import Constant, Copy, Fill, fits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog, EntityType, Property, PropertyId

__all__ = ["Backfill", "parse_backfill"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Backfill:
    """The entries that the change asks for, as values and as they were spelled; and the places of
    the others: their rows have values already, or there are none."""

    fills: Mapping[PropertyId, Fill]
    spelled: Mapping[PropertyId, str]
    unwanted: tuple[str, ...]

    def require_wanted(self) -> None:
        for place in self.unwanted:
            raise SchemaFailure(
                "schema.backfill_unwanted",
                f"backfill of {place}: no row lacks a value",
                remedy="it is for a property that comes or becomes required: leave it out",
            )


def parse_backfill(given: Mapping[str, Any], accepted: Catalog, desired: Catalog) -> Backfill:
    """What was given, or a ``SchemaFailure`` that says what is wrong with an entry."""
    fills: dict[PropertyId, Fill] = {}
    spelled: dict[PropertyId, str] = {}
    unwanted: list[str] = []
    for place, value in given.items():
        entity, prop = _find(place, desired)
        before = accepted.types.get(entity.id)
        if before is None or not _is_wanted(prop, before):
            unwanted.append(place)
            continue
        fills[prop.id] = _parse_fill(place, value, prop, before)
        spelled[prop.id] = _spell(value)
    return Backfill(fills, spelled, tuple(unwanted))


def _find(place: str, desired: Catalog) -> tuple[EntityType, Property]:
    type_name, _, name = place.partition(".")
    entity = desired.entity(type_name)
    prop = entity.by_name.get(name) if entity else None
    if entity is None or prop is None:
        raise SchemaFailure(
            "schema.backfill_unknown",
            f"backfill: the new schema has no property {place!r}",
            remedy="write Type.property, with the names of the new schema",
        )
    return entity, prop


def _is_wanted(prop: Property, before: EntityType) -> bool:
    """The property comes, or becomes required."""
    old = before.by_id.get(prop.id)
    return old is None or (old.nullable and not prop.nullable)


def _parse_fill(place: str, value: Any, prop: Property, before: EntityType) -> Fill:
    if prop.dtype == ScalarType(Scalar.BLOB):
        raise _misfit(place, "blobs are not backfilled")
    if not isinstance(value, str):
        return _constant(place, value, prop)
    text = value.strip()
    try:
        return _constant(place, json.loads(text), prop)
    except (ValueError, RecursionError):
        if _WORD.fullmatch(text):
            return _copy(place, text, prop, before)
    raise SchemaFailure(
        "schema.backfill_expression",
        f"backfill of {place}: {value!r} is neither a property nor a constant",
        remedy="name a property, or write a constant as JSON: a text needs its own quotes",
    )


def _constant(place: str, value: Any, prop: Property) -> Constant:
    try:
        return Constant(coerce_json(value, prop.dtype, nullable=False))
    except ValueProblem as problem:
        raise SchemaFailure(
            "schema.backfill_value",
            f"backfill of {place}: {problem.message}",
            remedy=f"give a value of {spell_type(prop.dtype)}",
        ) from None


def _copy(place: str, name: str, prop: Property, before: EntityType) -> Copy:
    source = before.find(name)
    if source is None:
        raise SchemaFailure(
            "schema.backfill_source",
            f"backfill of {place}: {before.name} has no property {name!r} now",
            remedy="name a property of the type as it is before the change",
        )
    if not fits(source.dtype, prop.dtype):
        old, new = spell_type(source.dtype), spell_type(prop.dtype)
        raise _misfit(place, f"a value of {name} ({old}) may not fit {new}")
    return Copy(source)


def _misfit(place: str, why: str) -> SchemaFailure:
    return SchemaFailure(
        "schema.backfill_type",
        f"backfill of {place}: {why}",
        remedy="fill it with an update after the change, or load the values",
    )


def _spell(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)
