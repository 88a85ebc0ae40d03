"""The entities of a target as tables in memory, and as a NetworkX graph."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType, EntityKind
from omnigraph.errors import NotFound, Unsupported
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from io import RawIOBase

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["build_networkx", "entity_table", "to_networkx", "wanted_types", "write_entities"]


def entity_table(engine: Engine, target: str, kind: EntityKind, name: str) -> pa.Table:
    """All entities of one type: ``id``, for edges ``src`` and ``dst``, and the properties."""
    snapshot = engine.snapshot(target)
    return _table(snapshot, _require(snapshot.catalog, kind, name))


def write_entities(
    engine: Engine, target: str, kind: EntityKind, name: str, out: RawIOBase
) -> None:
    """The same as an Arrow stream, batch by batch."""
    snapshot = engine.snapshot(target)
    schema, batches = _batches(snapshot, _require(snapshot.catalog, kind, name))
    with pa.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            check_cancelled()
            writer.write_batch(batch)


def to_networkx(engine: Engine, target: str, names: Sequence[str]) -> Any:
    """The entities of a target, or of some types of it, for NetworkX."""
    snapshot = engine.snapshot(target)
    return build_networkx(snapshot.catalog, names, lambda entity: _rows(snapshot, entity))


def build_networkx(
    catalog: Catalog,
    names: Sequence[str],
    rows_of: Callable[[EntityType], Iterable[dict[str, Any]]],
) -> Any:
    """A ``MultiDiGraph``: nodes are ``(type, id)``, edges have their id as key; properties and
    ``type`` are attributes. ``names`` are types; edges come with the nodes at their ends."""
    graph = _networkx().MultiDiGraph()
    wanted = wanted_types(catalog, names)
    for node in (each for each in wanted if not isinstance(each, EdgeType)):
        for row in rows_of(node):
            graph.add_node((node.name, row.pop("id")), type=node.name, **row)
    for edge in (each for each in wanted if isinstance(each, EdgeType)):
        begin, end = (catalog.node_by_id(each).name for each in (edge.source, edge.target))
        for row in rows_of(edge):
            ends = (begin, row.pop("src")), (end, row.pop("dst"))
            graph.add_edge(*ends, key=row.pop("id"), type=edge.name, **row)
    return graph


def wanted_types(catalog: Catalog, names: Sequence[str]) -> list[EntityType]:
    """The types of these names with the nodes at the ends of edges; all if there are no names."""
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
            remedy=did_you_mean(name, known) or f"there are {', '.join(known[:20])}",
        )
    return found


def _table(snapshot: Snapshot, entity: EntityType) -> pa.Table:
    schema, batches = _batches(snapshot, entity)
    return pa.Table.from_batches(batches, schema=schema)


def _batches(snapshot: Snapshot, entity: EntityType) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    ends = [(SRC.column, "src"), (DST.column, "dst")] if isinstance(entity, EdgeType) else []
    properties = [(prop.column, prop.name) for prop in entity.properties]
    columns = [(ID.column, "id"), *ends, *properties]
    table = snapshot.table(entity.id)
    schema = pa.schema([table.schema.field(column).with_name(name) for column, name in columns])
    batches = (
        pa.RecordBatch.from_arrays([batch.column(column) for column, _ in columns], schema=schema)
        for batch in table.batches([column for column, _ in columns])
    )
    return schema, batches


def _rows(snapshot: Snapshot, entity: EntityType) -> Iterator[dict[str, Any]]:
    for batch in _table(snapshot, entity).to_batches():
        yield from batch.to_pylist()


def _networkx() -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError as error:
        raise Unsupported(
            "result.networkx_missing",
            "networkx is not installed",
            remedy="install it (pip install networkx), or use nodes() and edges()",
        ) from error
