"""Deletion of the edges of deleted nodes, in the same change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, NodeType, TypeId
from omnigraph.integrity.lookup import find_rows
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.integrity.changes import SnapshotReader

__all__ = ["cascade", "distinct"]

_PLACE = [ID.column, ROW_ADDRESS]


def cascade(deletes: Mapping[TypeId, pa.Table], reader: SnapshotReader) -> dict[TypeId, pa.Table]:
    """Return the given deletions and the edges of deleted nodes; each id once.

    Both are ids with the addresses of their rows. The result has every incident edge type, even
    without edges: the write depends on their absence.
    """
    found: dict[TypeId, list[pa.Table]] = {key: [rows] for key, rows in deletes.items()}
    for type_id, rows in deletes.items():
        if not isinstance(reader.catalog.types[type_id], NodeType):
            continue
        ids = rows.column(ID.column)
        for edge in reader.catalog.incident_edges(type_id):
            table = reader.table(edge.id)
            hits = found.setdefault(edge.id, [])
            for end, node_type in ((SRC, edge.source), (DST, edge.target)):
                if node_type == type_id:
                    touching = find_rows(table, end.column, ids, [ID.column], addresses=True)
                    hits.append(touching.select(_PLACE))
    return {key: distinct(tables) for key, tables in found.items()}


def distinct(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables, each once."""
    rows = pa.concat_tables(tables)
    if len(tables) == 1 or not rows.num_rows:
        return rows
    return rows.group_by(_PLACE, use_threads=False).aggregate([])
