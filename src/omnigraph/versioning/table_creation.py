"""Creation of the tables of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.arrow import table_schema
from omnigraph.runtime.ids import new_short_id
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.versioning.root import GraphRoot

__all__ = ["create_tables"]


def create_tables(root: GraphRoot, catalog: Catalog, *, operation_id: str) -> dict[TypeId, Pin]:
    """Create an empty table for every type, so that all branches share one history per type."""
    return {
        entity.id: root.tables.create(
            layout.table_path(entity.kind, entity.id, new_short_id()),
            table_schema(entity),
            operation_id=operation_id,
        )
        for entity in catalog.types.values()
    }
