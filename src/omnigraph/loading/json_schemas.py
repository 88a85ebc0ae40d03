"""Arrow schemas of the JSON records of each type, for the columnar parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import (
    FLOATS,
    INTEGER_RANGES,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.loading.convert import UncertainConversion
from omnigraph.loading.envelopes import HEADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.api.writes import Mode
    from omnigraph.catalog.model import Catalog, EntityType, Property
    from omnigraph.datatypes.types import DataType

__all__ = ["JsonSchema", "JsonSchemas"]

_HEADER = re.compile(rb'\{\s*"(?P<head>[a-z]+)"\s*:\s*"(?P<name>.*)"', re.DOTALL)
_DATA = "data"


@dataclass(frozen=True, eq=False)
class JsonSchema:
    """The schema of records of one type under one written form of its name."""

    entity: EntityType
    schema: pa.Schema
    # The name that identifies the kind of a record, and its value; None for flat records.
    head: str | None = None
    name: str = ""
    # The names that hold the ends of an edge.
    ends: Mapping[Property, str] = field(default_factory=dict)

    @property
    def deletes(self) -> bool:
        return self.head == "delete"

    @property
    def inside(self) -> tuple[str, ...]:
        """The path of the object with the properties, if there is one."""
        return (_DATA,) if _DATA in self.schema.names and self.head is not None else ()

    @cached_property
    def fields(self) -> Mapping[tuple[str, ...], pa.DataType]:
        """The type of each path, from the outermost name inwards."""
        fields: dict[tuple[str, ...], pa.DataType] = {
            (field.name,): field.type for field in self.schema
        }
        if self.inside:
            data = fields.pop(self.inside)
            fields |= {(*self.inside, field.name): field.type for field in data}
        return fields

    def takes_strings(self, paths: Iterable[tuple[str, ...]]) -> bool:
        """Return whether strings are allowed at all these paths."""
        return all(self.fields.get(path) == pa.string() for path in paths)

    def schema_of(self, first_record: bytes) -> pa.Schema:
        """Return the schema with integer ids if the first record contains such."""
        schema = self.schema
        for name in (ID.name, *self.ends.values()):
            if re.search(rb'"%b"\s*:\s*-?[0-9]' % name.encode(), first_record):
                schema = schema.set(schema.get_field_index(name), pa.field(name, pa.int64()))
        return schema


class JsonSchemas:
    """The schemas of the records of one load, built on demand.

    With ``entity``, records are flat and of that type.
    """

    def __init__(self, catalog: Catalog, mode: Mode, entity: EntityType | None = None) -> None:
        self.catalog = catalog
        self.mode = mode
        self.entity = entity
        self._known: dict[tuple[str, str], JsonSchema] = {}
        self.heads = pa.schema([(head, pa.string()) for head in HEADS])
        self.flat = None if entity is None else _flat_shape(entity)

    def of_header(self, header: bytes) -> JsonSchema:
        """Return the schema of records with this beginning."""
        found = _HEADER.fullmatch(header)
        if found is None:
            raise UncertainConversion
        return self.of(found["head"].decode(), found["name"].decode())

    def of(self, head: str, name: str) -> JsonSchema:
        """Return the schema of records of a type, by head and name."""
        shape = self._known.get((head, name))
        if shape is None:
            # Two threads may build the same schema; either result is valid.
            shape = self._known.setdefault((head, name), self._make(head, name))
        return shape

    def _make(self, head: str, name: str) -> JsonSchema:
        fields: list[tuple[str, pa.DataType]] = [(head, pa.string()), (ID.name, pa.string())]
        entity: EntityType | None
        match head:
            case "type":
                entity = self.catalog.node(name)
            case "edge":
                entity = self.catalog.edge(name)
            case _:
                entity = self.catalog.entity(name) if self.mode == "merge" else None
        if entity is None:
            raise UncertainConversion
        if head == "delete":
            return JsonSchema(entity, pa.schema(fields), head, name)
        ends = {SRC: "from", DST: "to"} if isinstance(entity, EdgeType) else {}
        fields += [(end, pa.string()) for end in ends.values()]
        fields.append((_DATA, pa.struct([*_property_fields(entity), (ID.name, pa.string())])))
        return JsonSchema(entity, pa.schema(fields), head, name, ends)


def _flat_shape(entity: EntityType) -> JsonSchema:
    ends = {SRC: "from", DST: "to"} if isinstance(entity, EdgeType) else {}
    fields = [
        (ID.name, pa.string()),
        *((end, pa.string()) for end in ends.values()),
        *_property_fields(entity),
    ]
    return JsonSchema(entity, pa.schema(fields), ends=ends)


def _property_fields(entity: EntityType) -> list[tuple[str, pa.DataType]]:
    return [(prop.name, _json_type(prop.dtype)) for prop in entity.properties]


def _json_type(dtype: DataType) -> pa.DataType:
    """Return the type of JSON values: numbers are parsed as such, all else as text."""
    match dtype:
        case ScalarType(scalar):
            return _json_scalar(scalar)
        case EnumType():
            return pa.string()
        case ListType(item):
            return pa.list_(_json_scalar(item))
        case VectorType():
            return pa.list_(pa.float64())


def _json_scalar(scalar: Scalar) -> pa.DataType:
    if scalar in FLOATS:
        return pa.float64()
    if scalar in INTEGER_RANGES or scalar is Scalar.BOOL:
        return arrow_type(ScalarType(scalar))
    return pa.string()
