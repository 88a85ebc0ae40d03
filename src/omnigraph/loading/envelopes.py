"""Record envelopes: the entity that a record describes or deletes.

::

    {"type": "Person", "data": {...}}                          a node
    {"edge": "Knows", "from": "ann", "to": "ben", "data": {...}}   an edge
    {"delete": "Person", "id": "ann"}                          an entity that goes

An id is at the top level or in ``data``. Records of one given type need no envelope: their names
are those of the properties, with ``from`` and ``to`` (or ``src`` and ``dst``) for the ends of an
edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import ENDPOINTS, EdgeType, NodeType
from omnigraph.frozen import frozen
from omnigraph.language.diagnostics import did_you_mean, suggest
from omnigraph.loading.json_decoder import JsonProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog, EntityType, Property

__all__ = ["HEADS", "Envelope", "open_envelope", "open_flat", "unknown_property"]

# The names that identify the kind of a record, and the names allowed beside each.
HEADS: Mapping[str, frozenset[str]] = {
    "type": frozenset({"id", "data"}),
    "edge": frozenset({"id", "data", "from", "to"}),
    "delete": frozenset({"id"}),
}


@frozen
class Envelope:
    """An unpacked record, with its original values."""

    entity: EntityType
    values: Mapping[str, Any]
    ends: Mapping[Property, Any]
    id: Any = None
    deletes: bool = False


def open_envelope(record: Any, catalog: Catalog) -> Envelope | JsonProblem:
    """Unpack an enveloped record."""
    if not isinstance(record, dict):
        return JsonProblem("envelope", "a record must be a JSON object")
    heads = [head for head in HEADS if head in record]
    if len(heads) != 1:
        several = f"has {' and '.join(heads)}" if heads else "has none of type, edge and delete"
        return JsonProblem(
            "envelope", f"a record must be a node, an edge or a deletion; this one {several}"
        )
    head = heads[0]
    unexpected = [name for name in record if name != head and name not in HEADS[head]]
    if unexpected:
        return JsonProblem("envelope", f"{unexpected[0]!r} is not allowed beside {head!r}")
    entity = _find_type(head, record[head], catalog)
    if isinstance(entity, JsonProblem):
        return entity
    if head == "delete":
        if record.get("id") is None:
            return JsonProblem("envelope", "a deletion needs an id")
        return Envelope(entity, {}, {}, record["id"], deletes=True)
    return _open_entity(entity, record)


def open_flat(record: Any, entity: EntityType) -> Envelope | JsonProblem:
    """Unpack a record of a given type."""
    if not isinstance(record, dict):
        return JsonProblem("envelope", "a record must be a JSON object")
    values = dict(record)
    given = values.pop("id", None)
    ends: dict[Property, Any] = {}
    if isinstance(entity, EdgeType):
        for name, end in ENDPOINTS.items():
            if name in values:
                if end in ends:
                    return JsonProblem("envelope", f"the {end.name} of the edge is given twice")
                ends[end] = values.pop(name)
    return Envelope(entity, values, ends, given)


def unknown_property(entity: EntityType, name: str) -> str:
    """Build the message for a property that a type does not have."""
    hint = did_you_mean(name, entity.by_name)
    return f"{entity.name} has no property {name!r}{'; ' + hint if hint else ''}"


def _open_entity(entity: EntityType, record: Mapping[str, Any]) -> Envelope | JsonProblem:
    values = record.get("data")
    if values is None:
        values = {}
    elif not isinstance(values, dict):
        return JsonProblem("envelope", "data must be a JSON object")
    inner = values.get("id")
    outer = record.get("id")
    if inner is not None and outer is not None and inner != outer:
        return JsonProblem("id", f"the record has two ids, {outer!r} and {inner!r}")
    values = {name: value for name, value in values.items() if name != "id"}
    ends = {}
    if isinstance(entity, EdgeType):
        ends = {ENDPOINTS[name]: record[name] for name in ("from", "to") if name in record}
    return Envelope(entity, values, ends, inner if outer is None else outer)


def _find_type(head: str, name: Any, catalog: Catalog) -> EntityType | JsonProblem:
    if not isinstance(name, str):
        return JsonProblem("envelope", f"{head!r} must be the name of a type")
    found: EntityType | None
    match head:
        case "type":
            found = catalog.node(name)
        case "edge":
            found = catalog.edge(name)
        case _:
            found = catalog.entity(name)
    return found or JsonProblem("unknown_type", _unknown_type(head, name, catalog))


def _unknown_type(head: str, name: str, catalog: Catalog) -> str:
    other = catalog.entity(name)
    if isinstance(other, EdgeType):
        return f'{other.name} is an edge: write {{"edge": "{other.name}", "from": …, "to": …}}'
    if isinstance(other, NodeType):
        return f'{other.name} is a node: write {{"type": "{other.name}"}}'
    known = catalog.edges if head == "edge" else catalog.nodes
    names = [entity.name for entity in known]
    hint = suggest(name, names)
    return f"the schema has no type {name[:60]!r}; {hint}"
