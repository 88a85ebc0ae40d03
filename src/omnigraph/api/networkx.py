"""Entities as a NetworkX graph."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import Catalog, EdgeType, EntityKind, EntityType
from omnigraph.errors import NotFound, Unsupported
from omnigraph.language.diagnostics import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "build_networkx",
    "select_types",
]


def build_networkx(
    catalog: Catalog,
    names: Sequence[str],
    rows_of: Callable[[EntityType], Iterable[dict[str, Any]]],
) -> Any:
    """Build a ``MultiDiGraph``: nodes are ``(type, id)``, edges have their id as key.

    Properties and ``type`` are attributes. ``names`` selects types; edge types include the node
    types of their endpoints.
    """
    graph = _networkx().MultiDiGraph()
    wanted = select_types(catalog, names)
    for node in (each for each in wanted if not isinstance(each, EdgeType)):
        for row in rows_of(node):
            graph.add_node((node.name, row.pop("id")), type=node.name, **row)
    for edge in (each for each in wanted if isinstance(each, EdgeType)):
        begin, end = (catalog.node_by_id(each).name for each in (edge.source, edge.target))
        for row in rows_of(edge):
            ends = (begin, row.pop("src")), (end, row.pop("dst"))
            graph.add_edge(*ends, key=row.pop("id"), type=edge.name, **row)
    return graph


def select_types(catalog: Catalog, names: Sequence[str]) -> list[EntityType]:
    """Return the named types and the node types of their endpoints; all types without names."""
    everything = list(catalog.types.values())
    if not names:
        return everything
    chosen = {_require(catalog, None, name).id for name in names}
    for entity in everything:
        if isinstance(entity, EdgeType) and entity.id in chosen:
            chosen |= {entity.source, entity.target}
    return [entity for entity in everything if entity.id in chosen]


def _require(catalog: Catalog, kind: EntityKind | None, name: str) -> EntityType:
    found = catalog.entity(name)
    if found is None or kind not in (None, found.kind):
        known = [each.name for each in catalog.types.values() if kind in (None, each.kind)]
        raise NotFound(
            "entities.unknown_type",
            f"the schema has no {kind.value if kind else ''}{' ' if kind else ''}type {name!r}",
            remedy=suggest(name, known),
        )
    return found


def _networkx() -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError as error:
        raise Unsupported(
            "result.networkx_missing",
            "networkx is not installed",
            remedy="install it (pip install networkx), or use nodes() and edges()",
        ) from error
