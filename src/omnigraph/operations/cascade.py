"""Deleting nodes deletes their edges, in the same change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import DST, ID, SRC, NodeType, TypeId
from omnigraph.integrity.lookup import find_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.integrity.changes import Reader

__all__ = ["cascade"]


def cascade(deletes: Mapping[TypeId, pa.Array], reader: Reader) -> dict[TypeId, pa.Array]:
    """The given deletes and, for every deleted node, the edges that touch it; each id once.

    Every incident edge type is in the answer, also with nothing found: the write depends on that
    too.
    """
    found: dict[TypeId, list[pa.Array]] = {key: [ids] for key, ids in deletes.items()}
    for type_id, ids in deletes.items():
        if not isinstance(reader.catalog.types[type_id], NodeType):
            continue
        for edge in reader.catalog.incident_edges(type_id):
            table = reader.table(edge.id)
            hits = found.setdefault(edge.id, [])
            for end, node_type in ((SRC, edge.source), (DST, edge.target)):
                if node_type == type_id:
                    hits.append(_ids(find_rows(table, end.column, ids, [ID.column])))
    return {key: _distinct(parts) for key, parts in found.items()}


def _ids(rows: pa.Table) -> pa.Array:
    return rows.column(ID.column).combine_chunks()


def _distinct(parts: list[pa.Array]) -> pa.Array:
    return pc.unique(pa.chunked_array(parts, pa.string()))
