"""The statistics of a plan: the schema and the row counts of the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from omnigraph.catalog.model import EdgeType, PropertyId, TypeId
from omnigraph.datatypes.types import STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.ports.tables import Pin

__all__ = ["PlannerStatistics", "bucket_of"]


@dataclass(frozen=True)
class PlannerStatistics:
    """The schema, and how many rows each table has: the pins know, nothing is read for it."""

    catalog: Catalog
    rows: Mapping[str, int]

    def entity(self, type_id: str) -> EntityType:
        return self.catalog.types[TypeId(type_id)]

    def edge(self, type_id: str) -> EdgeType:
        return cast("EdgeType", self.entity(type_id))

    def count(self, type_id: str) -> float:
        """Rows of a type; at least one, since it divides."""
        return float(max(self.rows.get(type_id, 0), 1))

    def is_unique(self, type_id: str, prop: str) -> bool:
        """Whether no two entities of the type share a value of the property."""
        entity = self.entity(type_id)
        alone = (PropertyId(prop),)
        return prop == "@id" or entity.key == alone or alone in entity.uniques

    def is_id(self, type_id: str, prop: str) -> bool:
        """Whether the property spells the id: the only member of a key, and a String."""
        entity = self.entity(type_id)
        return entity.key == (PropertyId(prop),) and prop in _texts(entity)


def _texts(entity: EntityType) -> set[str]:
    return {prop.id for prop in entity.properties if prop.dtype == STRING}


def bucket_of(type_ids: Iterable[str], pins: Mapping[TypeId, Pin]) -> tuple[int, ...]:
    """Row counts, coarsely: a plan is made anew when a table has grown about fourfold."""
    return tuple(pins[TypeId(type_id)].rows.bit_length() // 2 for type_id in type_ids)
