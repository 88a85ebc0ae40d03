"""Lazy reading of one blob of one entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from omnigraph.api.entities import Blob, BlobRequest
from omnigraph.catalog.model import ID, stored_properties
from omnigraph.datatypes.types import Scalar, ScalarType
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType, Property
    from omnigraph.session.engine import Engine

__all__ = ["read_blob"]


def read_blob(engine: Engine, request: BlobRequest) -> Blob:
    """Return a blob, or raise an error that names the wrong part of its address."""
    snapshot = engine.snapshot(request.target)
    entity = _find_type(snapshot.catalog, request)
    prop = _find_property(entity, request.property)
    table = snapshot.table(entity.id)
    found = table.scan([ID.column], filter=pc.field(ID.column) == request.id, row_addresses=True)
    if found.num_rows == 0:
        raise NotFound("entity.missing", f"there is no {entity.name} {request.id[:100]!r}")
    stored = table.blob(prop.column, found.column(ROW_ADDRESS)[0].as_py())
    if stored is None:
        raise NotFound(
            "blob.missing", f"{entity.name} {request.id[:100]!r} has no {request.property}"
        )
    return Blob(stored, snapshot.commit_id)


def _find_type(catalog: Catalog, request: BlobRequest) -> EntityType:
    entity = catalog.entity(request.type)
    if entity is None or (request.kind is not None and entity.kind.value != request.kind):
        raise NotFound(
            "type.missing",
            f"the schema has no {request.kind or ''} type {request.type[:100]!r}".replace(
                "  ", " "
            ),
            remedy=did_you_mean(request.type, [found.name for found in catalog.types.values()]),
        )
    return entity


def _find_property(entity: EntityType, name: str) -> Property:
    for prop in stored_properties(entity):
        if prop.name == name:
            break
    else:
        raise NotFound(
            "property.missing",
            f"{entity.name} has no property {name[:100]!r}",
            remedy=did_you_mean(name, [prop.name for prop in entity.properties]),
        )
    if prop.dtype != ScalarType(Scalar.BLOB):
        raise InvalidInput(
            "blob.not_a_blob",
            f"{entity.name}.{name} is not a blob",
            remedy="read it with a query",
        )
    return prop
