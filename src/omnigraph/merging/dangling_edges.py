"""Dangling edges: edges whose node the other side deleted.

Neither side alone has a dangling edge, so only edges that one side changed can refer to nodes that
the other side deleted. Nothing else is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp
from omnigraph.api.conflicts import ConflictKind, EntityConflict, Take
from omnigraph.catalog.model import DST, ID, SRC
from omnigraph.changes.compare import Images, Side
from omnigraph.integrity.lookup import is_among, without
from omnigraph.merging.snapshots import TypeState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import Catalog, EdgeType, Property, TypeId
    from omnigraph.merging.type_merge import TypeMerge
    from omnigraph.ports.tables import RowSet

__all__ = ["find_dangling_edges", "node_remover"]

_ENDS: dict[str, str] = {prop.id: prop.column for prop in (ID, SRC, DST)}
_NO_IDS = pa.array([], pa.string())


def find_dangling_edges(
    catalog: Catalog, merges: Mapping[TypeId, TypeMerge]
) -> Iterator[EntityConflict]:
    """Yield edges that would lose an endpoint, each with the side that removed the node."""
    removed = _Removed(merges)
    for edge in catalog.edges:
        merge = merges[edge.id]
        for remover in Take:
            if not _may_bring_edges(merge, remover.other):
                continue
            lost = {end: removed.by(remover, node) for end, node in _node_types(edge)}
            if any(map(len, lost.values())):
                edges = _edges_of(merge, remover.other)
                for end, gone in lost.items():
                    yield from _conflicts(merge, edges, end, gone, remover)


def node_remover(conflict: EntityConflict) -> Take:
    """Return the side that removed the node of a dangling edge."""
    return Take(conflict.witness[0])


def _may_bring_edges(merge: TypeMerge, side: Take) -> bool:
    if side is Take.THEIRS:
        return merge.state is not TypeState.OURS or merge.is_row_by_row
    return merge.snapshots.ours_changed(merge.id) or merge.is_row_by_row


def _node_types(edge: EdgeType) -> tuple[tuple[Property, TypeId], tuple[Property, TypeId]]:
    return (SRC, edge.source), (DST, edge.target)


class _Removed:
    """Nodes that one side has and the result lacks, by the side that removed them."""

    def __init__(self, merges: Mapping[TypeId, TypeMerge]) -> None:
        self._merges = merges
        self._found: dict[tuple[Take, TypeId], pa.Array] = {}

    def by(self, side: Take, node_type: TypeId) -> pa.Array:
        found = self._found.get((side, node_type))
        if found is None:
            found = self._found[side, node_type] = self._find(side, self._merges[node_type])
        return found

    def _find(self, side: Take, merge: TypeMerge) -> pa.Array:
        _, ours, theirs = merge.snapshots.pins(merge.id)
        if ours == theirs and not merge.is_row_by_row:
            return _NO_IDS
        looked_at = list(merge.outcomes()) if merge.is_row_by_row else []
        gone = [
            key
            for key, sides, row in looked_at
            if row is None and (sides.ours if side is Take.THEIRS else sides.theirs) is not None
        ]
        named = pa.array(gone, pa.string())
        others = self._deleted(merge) if side is Take.THEIRS else self._vanished(merge)
        if side is Take.OURS:
            kept = pa.array([key for key, _, row in looked_at if row is not None], pa.string())
            others = others.filter(pc.invert(is_among(others, kept)))
        return pc.unique(pa.concat_arrays([named, others]))

    @staticmethod
    def _deleted(merge: TypeMerge) -> pa.Array:
        """Return the entities that theirs deleted and ours did not touch."""
        return merge.changed.ids.filter(
            pa.array(merge.plain & (merge.changed.ops == ChangeOp.DELETE))
        )

    @staticmethod
    def _vanished(merge: TypeMerge) -> pa.Array:
        """Return the entities of the base that ours no longer has."""
        snapshots = merge.snapshots
        base, ours, _ = snapshots.pins(merge.id)
        if base is None or ours is None or base == ours:
            return _NO_IDS
        left, written = snapshots.ours.root.tables.differing_rows(base, ours)
        before = _read(Side(snapshots.base.table(merge.id), {ID.id: ID.column}), left)
        after = _read(Side(snapshots.ours.table(merge.id), {ID.id: ID.column}), written)
        lost = without(before, ID.column, after.column(ID.column)).column(ID.column)
        return pa.concat_arrays([*lost.chunks, _NO_IDS])


def _edges_of(merge: TypeMerge, side: Take) -> pa.Table:
    """Return id and ends of result edges that one side has changed."""
    parts = [_decided_edges(merge)] if merge.is_row_by_row else []
    if side is Take.THEIRS:
        changed = merge.changed
        if merge.state is not TypeState.OURS and changed.after is not None:
            there = merge.plain & (changed.ops != ChangeOp.DELETE)
            images = Images(Side(changed.after.side.table, _ENDS), changed.after.kept)
            parts.append(images.at(changed.after_at[there]).select(list(_ENDS.values())))
    else:
        parts.append(_written_by_ours(merge))
    schema = pa.schema([pa.field(name, pa.string()) for name in _ENDS.values()])
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in parts)])


def _decided_edges(merge: TypeMerge) -> pa.Table:
    rows = [row for _, _, row in merge.outcomes() if row is not None]
    return pa.table(
        {name: pa.array([row[prop] for row in rows], pa.string()) for prop, name in _ENDS.items()}
    )


def _written_by_ours(merge: TypeMerge) -> pa.Table:
    """Return edges that ours wrote since the base, without those that theirs changed."""
    snapshots = merge.snapshots
    base, ours, _ = snapshots.pins(merge.id)
    side = Side(snapshots.ours.table(merge.id), _ENDS)
    if base is None:
        rows = side.table.scan(list(_ENDS.values()))
    elif ours is None or base == ours:
        return pa.table(dict.fromkeys(_ENDS.values(), _NO_IDS))
    else:
        rows = _read(side, snapshots.ours.root.tables.differing_rows(base, ours)[1])
    decided = pa.array([key for key, _, _ in merge.outcomes()], pa.string())
    return without(rows, ID.column, merge.changed.ids, decided)


def _read(side: Side, rows: RowSet) -> pa.Table:
    columns = list(side.columns.values())
    batches = list(side.table.read(rows, columns))
    schema = pa.schema([side.table.schema.field(name) for name in columns])
    selected = [batch.select(columns) for batch in batches]
    return pa.Table.from_batches([each.cast(schema) for each in selected], schema)


def _conflicts(
    merge: TypeMerge, edges: pa.Table, end: Property, gone: pa.Array, remover: Take
) -> Iterator[EntityConflict]:
    hit = np.flatnonzero(is_among(edges.column(end.column), gone).to_numpy(zero_copy_only=False))
    if not len(hit):
        return
    found = edges.take(pa.array(hit)).sort_by(ID.column)
    ids = found.column(ID.column).to_pylist()
    states = merge.load(ids)
    for edge_id, node in zip(ids, found.column(end.column).to_pylist(), strict=True):
        sides = states[edge_id]
        yield EntityConflict(
            ConflictKind.ORPHAN_EDGE,
            merge.entity,
            edge_id,
            f"{merge.entity.name} {edge_id!r} needs the node {node!r}, "
            f"which {remover.value} deleted",
            (end.id,),
            sides.base,
            sides.ours,
            sides.theirs,
            other=node,
            witness=(remover.value,),
        )
