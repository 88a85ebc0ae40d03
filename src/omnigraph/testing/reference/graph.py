"""Graphs as lists of dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

__all__ = ["Binding", "Entity", "Graph", "Refused", "graph_of"]


class Refused(Exception):
    """The read has no result; ``code`` is the code of the error that the language defines."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, eq=False)
class Entity:
    """A node or an edge with its values by property id."""

    type_id: str
    values: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.values["@id"])


# Entities by type. A row of a binding table: entities and values by slot.
Graph = Mapping[str, Sequence[Entity]]
Binding = Mapping[int, Any]


def graph_of(
    catalog: Catalog, rows_of: Callable[[Any], Sequence[Mapping[str, Any]]]
) -> dict[str, list[Entity]]:
    """Build a graph from the stored rows of each type, whose keys are column names."""
    graph = {}
    for type_id, entity_type in catalog.types.items():
        columns = {prop.id: prop.column for prop in entity_type.by_id.values()}
        graph[str(type_id)] = [
            Entity(str(type_id), {prop: row.get(column) for prop, column in columns.items()})
            for row in rows_of(type_id)
        ]
    return graph
