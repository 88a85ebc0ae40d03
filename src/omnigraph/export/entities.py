"""Entities of a target as in-memory tables, and as a NetworkX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.networkx import _require, build_networkx
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, EntityKind
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import RawIOBase

    from omnigraph.catalog.model import EntityType
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["entity_table", "to_networkx", "write_entities"]


def entity_table(engine: Engine, target: str, kind: EntityKind, name: str) -> pa.Table:
    """Return all entities of one type: ``id``, for edges ``src`` and ``dst``, and properties."""
    snapshot = engine.snapshot(target)
    return _table(snapshot, _require(snapshot.catalog, kind, name))


def write_entities(
    engine: Engine, target: str, kind: EntityKind, name: str, out: RawIOBase
) -> None:
    """Write the same table as an Arrow stream, batch by batch."""
    snapshot = engine.snapshot(target)
    schema, batches = _batches(snapshot, _require(snapshot.catalog, kind, name))
    with pa.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            check_cancelled()
            writer.write_batch(batch)


def to_networkx(engine: Engine, target: str, names: Sequence[str]) -> Any:
    """Return the entities of a target, or of some of its types, for NetworkX."""
    snapshot = engine.snapshot(target)
    return build_networkx(snapshot.catalog, names, lambda entity: _rows(snapshot, entity))


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
