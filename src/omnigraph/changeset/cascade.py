"""Deleting nodes deletes their edges, in the same change."""

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
    """The given deletes and, for every deleted node, the edges that touch it; each id once.

    Both as ids with the addresses of their rows. Every incident edge type is in the answer, also
    with nothing found: the write depends on that too.
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
    return {key: distinct(parts) for key, parts in found.items()}


def distinct(parts: list[pa.Table]) -> pa.Table:
    """The rows of all parts, each once."""
    rows = pa.concat_tables(parts)
    if len(parts) == 1 or not rows.num_rows:
        return rows
    return rows.group_by(_PLACE, use_threads=False).aggregate([])
