"""Serialise a catalog to canonical JSON, digest it, and read it back strictly."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import (
    Annotations,
    Catalog,
    Check,
    EdgeType,
    Interface,
    NodeType,
    Property,
    PropertyId,
    Range,
    TypeId,
)
from omnigraph.catalog.reading import StrictReader, malformed
from omnigraph.datatypes.types import (
    MAX_VECTOR_DIM,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.datatypes.types import DataType

__all__ = [
    "CATALOG_FORMAT",
    "annotations_json",
    "canonical_bytes",
    "digest",
    "from_json",
    "same_annotations",
    "same_interface",
    "to_json",
]

CATALOG_FORMAT = 1
_SCALARS = {scalar.value: scalar for scalar in Scalar}


def canonical_bytes(catalog: Catalog) -> bytes:
    """Return the canonical bytes: sorted keys, no spaces, UTF-8."""
    return _dump(to_json(catalog)).encode()


def digest(catalog: Catalog) -> str:
    """Return the SHA-256 of the canonical bytes in hex."""
    return hashlib.sha256(canonical_bytes(catalog)).hexdigest()


def same_annotations(left: Annotations, right: Annotations) -> bool:
    """Return whether annotations serialise equally; in Python, True equals 1."""
    return _dump(annotations_json(left)) == _dump(annotations_json(right))


def same_interface(left: Interface, right: Interface) -> bool:
    return _dump(_interface_json(left)) == _dump(_interface_json(right))


def _dump(body: Any) -> str:
    return json.dumps(
        body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


# --- writing -----------------------------------------------------------------------------------


def to_json(catalog: Catalog) -> dict[str, Any]:
    body: dict[str, Any] = {
        "format": CATALOG_FORMAT,
        "interfaces": [_interface_json(each) for each in catalog.interfaces],
        "nodes": [
            _entity_json(node) | {"interfaces": list(node.interfaces)} for node in catalog.nodes
        ],
        "edges": [
            _entity_json(edge)
            | {
                "source": edge.source,
                "target": edge.target,
                "cardinality": [edge.card_low, edge.card_high],
            }
            for edge in catalog.edges
        ],
    }
    # Omitted when empty: catalogs without it keep their digest.
    return {**body, "retired": list(catalog.retired)} if catalog.retired else body


def _entity_json(entity: EntityType) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "properties": [
            _property_json(prop) | {"id": prop.id, "column": prop.column}
            for prop in entity.properties
        ],
        "key": None if entity.key is None else list(entity.key),
        "uniques": [list(members) for members in entity.uniques],
        "indexes": [list(members) for members in entity.indexes],
        "ranges": [
            {"property": each.prop, "low": each.low, "high": each.high} for each in entity.ranges
        ],
        "checks": [{"property": each.prop, "pattern": each.pattern} for each in entity.checks],
        "annotations": annotations_json(entity.annotations),
    }


def _interface_json(interface: Interface) -> dict[str, Any]:
    return {
        "name": interface.name,
        "properties": [_property_json(prop) for prop in interface.properties],
        "constraints": [
            {"name": name, "properties": list(props), "low": low, "high": high, "pattern": pattern}
            for name, props, low, high, pattern in interface.constraints
        ],
        "annotations": annotations_json(interface.annotations),
    }


def _property_json(prop: Property) -> dict[str, Any]:
    return {
        "name": prop.name,
        "type": _type_json(prop.dtype),
        "nullable": prop.nullable,
        "annotations": annotations_json(prop.annotations),
    }


def _type_json(dtype: DataType) -> Any:
    match dtype:
        case ScalarType(scalar):
            return scalar.value
        case EnumType(values):
            return {"enum": list(values)}
        case ListType(item):
            return {"list": item.value}
        case VectorType(dim):
            return {"vector": dim}


def annotations_json(annotations: Annotations) -> list[Any]:
    return [
        {"name": name, "args": list(args), "kwargs": [list(pair) for pair in kwargs]}
        for name, args, kwargs in annotations.items
    ]


# --- reading -----------------------------------------------------------------------------------


def from_json(value: Any) -> Catalog:
    """Read the output of ``to_json``; raise ``SchemaFailure`` for anything else."""
    with StrictReader(value, "catalog") as reader:
        found = reader.integer("format")
        if found != CATALOG_FORMAT:
            raise malformed("catalog.format", f"{found} is not {CATALOG_FORMAT}")
        catalog = Catalog(
            tuple(_read_interface(each) for each in reader.objects("interfaces")),
            tuple(_read_node(each) for each in reader.objects("nodes")),
            tuple(_read_edge(each) for each in reader.objects("edges")),
            reader.texts("retired") if reader.has("retired") else (),
        )
    _require_consistent(catalog)
    return catalog


def _read_node(reader: StrictReader) -> NodeType:
    with reader:
        return NodeType(**_entity_fields(reader), interfaces=reader.texts("interfaces"))


def _read_edge(reader: StrictReader) -> EdgeType:
    with reader:
        low, high = reader.cardinality("cardinality")
        return EdgeType(
            **_entity_fields(reader),
            source=TypeId(reader.text("source")),
            target=TypeId(reader.text("target")),
            card_low=low,
            card_high=high,
        )


def _entity_fields(reader: StrictReader) -> dict[str, Any]:
    """Read the fields that nodes and edges share."""
    properties = tuple(_read_property(each) for each in reader.objects("properties"))
    key = reader.optional_texts("key")
    return {
        "id": TypeId(reader.text("id")),
        "name": reader.text("name"),
        "properties": properties,
        "key": None if key is None else tuple(PropertyId(each) for each in key),
        "uniques": _read_members(reader, "uniques"),
        "indexes": _read_members(reader, "indexes"),
        "ranges": tuple(_read_range(each) for each in reader.objects("ranges")),
        "checks": tuple(_read_check(each) for each in reader.objects("checks")),
        "annotations": _read_annotations(reader),
    }


def _read_members(reader: StrictReader, key: str) -> tuple[tuple[PropertyId, ...], ...]:
    return tuple(tuple(PropertyId(each) for each in members) for members in reader.text_lists(key))


def _read_range(reader: StrictReader) -> Range:
    with reader:
        return Range(PropertyId(reader.text("property")), reader.bound("low"), reader.bound("high"))


def _read_check(reader: StrictReader) -> Check:
    with reader:
        return Check(PropertyId(reader.text("property")), reader.text("pattern"))


def _read_property(reader: StrictReader) -> Property:
    with reader:
        return Property(
            id=PropertyId(reader.text("id")),
            name=reader.text("name"),
            column=reader.text("column"),
            dtype=_read_type(reader),
            nullable=reader.boolean("nullable"),
            annotations=_read_annotations(reader),
        )


def _read_interface(reader: StrictReader) -> Interface:
    with reader:
        return Interface(
            name=reader.text("name"),
            properties=tuple(_read_bare_property(each) for each in reader.objects("properties")),
            constraints=tuple(_read_constraint(each) for each in reader.objects("constraints")),
            annotations=_read_annotations(reader),
        )


def _read_bare_property(reader: StrictReader) -> Property:
    with reader:
        name = reader.text("name")
        return Property(
            id=PropertyId(""),
            name=name,
            column=name,
            dtype=_read_type(reader),
            nullable=reader.boolean("nullable"),
            annotations=_read_annotations(reader),
        )


def _read_constraint(
    reader: StrictReader,
) -> tuple[str, tuple[str, ...], int | float | None, int | float | None, str | None]:
    with reader:
        return (
            reader.text("name"),
            reader.texts("properties"),
            reader.bound("low"),
            reader.bound("high"),
            reader.optional_text("pattern"),
        )


def _read_type(reader: StrictReader) -> DataType:
    path, value = reader.any("type")
    match value:
        case str() if value in _SCALARS:
            return ScalarType(_SCALARS[value])
        case {"enum": [*values], **rest} if not rest and _is_value_set(values):
            return EnumType(tuple(values))
        case {"list": str(item), **rest} if not rest and item in _SCALARS:
            return ListType(_SCALARS[item])
        case {"vector": dim, **rest} if (
            not rest and type(dim) is int and 1 <= dim <= MAX_VECTOR_DIM
        ):
            return VectorType(dim)
        case _:
            raise malformed(path, "is not a type")


def _is_value_set(values: list[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    return bool(values) and len(texts) == len(values) and sorted(set(texts)) == texts


def _read_annotations(reader: StrictReader) -> Annotations:
    found = []
    for each in reader.objects("annotations"):
        with each:
            found.append((each.text("name"), each.scalars("args"), each.pairs("kwargs")))
    return Annotations(tuple(found))


def _require_consistent(catalog: Catalog) -> None:
    """Require unique identities and existing references."""
    entities: list[EntityType] = [*catalog.nodes, *catalog.edges]
    if len(catalog.types) != len(entities):
        raise malformed("catalog", "has one identity for two types")
    interfaces = {each.name for each in catalog.interfaces}
    if not all(interfaces.issuperset(node.interfaces) for node in catalog.nodes):
        raise malformed("catalog.nodes", "implement interfaces that do not exist")
    nodes = {node.id for node in catalog.nodes}
    for edge in catalog.edges:
        if not {edge.source, edge.target} <= nodes:
            raise malformed(f"catalog.edges[{edge.name}]", "connects types that do not exist")
    for entity in entities:
        _require_consistent_entity(entity)


def _require_consistent_entity(entity: EntityType) -> None:
    path = f"catalog[{entity.name}]"
    own = {prop.id for prop in entity.properties}
    columns = {prop.column for prop in entity.properties}
    if len(own) != len(entity.properties) or len(columns) != len(entity.properties):
        raise malformed(path, "has one identity or column for two properties")
    named = {member for members in (*entity.uniques, *entity.indexes) for member in members}
    named |= {each.prop for each in entity.ranges} | {each.prop for each in entity.checks}
    named |= set(entity.key or ())
    if not named <= entity.by_id.keys():
        raise malformed(path, "has a constraint on a property that does not exist")
