"""Matches the entries of a backfill with the properties of a new schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.errors import SchemaFailure
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType, Property, PropertyId

__all__ = ["BackfillEntries", "BackfillEntry", "match_backfill"]


@frozen
class BackfillEntry:
    """The value of a property for the rows of a type as it is before the change."""

    place: str
    value: Any
    prop: Property
    before: EntityType


@dataclass(frozen=True)
class BackfillEntries:
    """Entries for properties whose rows lack a value, and the places of all others."""

    wanted: tuple[BackfillEntry, ...]
    unwanted: tuple[str, ...]

    @property
    def spelled(self) -> dict[PropertyId, str]:
        """The expressions as their author wrote them."""
        return {entry.prop.id: _spell(entry.value) for entry in self.wanted}


def match_backfill(given: object, accepted: Catalog, desired: Catalog) -> BackfillEntries:
    """Find the property of every entry, or raise a ``SchemaFailure``."""
    if not isinstance(given, Mapping):
        raise SchemaFailure(
            "schema.backfill_no_mapping",
            f"a backfill is a mapping from Type.property to an expression, not {given!r:.100}",
            remedy="""write {"Person.full_name": 'first + " " + last'}""",
        )
    wanted: list[BackfillEntry] = []
    unwanted: list[str] = []
    for place, value in given.items():
        entity, prop = _find(place, desired)
        before = accepted.types.get(entity.id)
        if before is None or not _is_wanted(prop, before):
            unwanted.append(place)
        else:
            wanted.append(BackfillEntry(place, value, prop, before))
    return BackfillEntries(tuple(wanted), tuple(unwanted))


def _find(place: object, desired: Catalog) -> tuple[EntityType, Property]:
    type_name, _, name = str(place).partition(".")
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
    """Whether the property is new, or becomes required."""
    old = before.by_id.get(prop.id)
    return old is None or (old.nullable and not prop.nullable)


def _spell(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)
