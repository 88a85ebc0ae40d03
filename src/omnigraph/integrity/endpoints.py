"""Endpoints: edges end at nodes that exist after the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, NodeType, TypeId
from omnigraph.integrity.lookup import find_rows, is_among, without
from omnigraph.integrity.violations import Violation

if TYPE_CHECKING:
    from omnigraph.catalog.model import Property
    from omnigraph.integrity.changes import ChangeSet, SnapshotReader, TypeChange
    from omnigraph.integrity.violations import Report

__all__ = ["check_endpoints", "check_lost_endpoints"]


def check_endpoints(
    change: TypeChange, changes: ChangeSet, reader: SnapshotReader, report: Report
) -> frozenset[TypeId]:
    """Check the new edges of one type; return the node types read."""
    edge = change.entity
    if not isinstance(edge, EdgeType) or not change.rows.num_rows:
        return frozenset()
    ends = {SRC: edge.source, DST: edge.target}
    for node_type in dict.fromkeys(ends.values()):
        # Look up both ends of an edge between nodes of one type at once.
        here = [end for end, wanted in ends.items() if wanted == node_type]
        named = [chunk for end in here for chunk in change.rows.column(end.column).chunks]
        missing = _missing(
            pc.unique(pa.chunked_array(named, pa.string())), node_type, changes, reader
        )
        for end in here if len(missing) else ():
            _report_missing(change, end, missing, reader.catalog.node_by_id(node_type).name, report)
    return frozenset({edge.source, edge.target})


def check_lost_endpoints(
    change: TypeChange, changes: ChangeSet, reader: SnapshotReader, report: Report
) -> frozenset[TypeId]:
    """Check remaining edges for nodes that an overwrite drops.

    Deletes need no check: deleting nodes deletes their edges in the same change.
    """
    node = change.entity
    if not isinstance(node, NodeType) or change.mode is not Mode.OVERWRITE:
        return frozenset()
    before = reader.table(node.id).scan([ID.column])
    lost = without(before, ID.column, change.ids).column(ID.column)
    looked_at = {node.id}
    for edge in reader.catalog.incident_edges(node.id):
        looked_at.add(edge.id)
        other = changes.get(edge.id)
        if not len(lost) or (other is not None and other.mode is Mode.OVERWRITE):
            continue
        for end, node_type in ((SRC, edge.source), (DST, edge.target)):
            if node_type != node.id:
                continue
            dangling = find_rows(reader.table(edge.id), end.column, lost, [ID.column, end.column])
            if other is not None:
                dangling = without(dangling, ID.column, other.ids, other.deletes)
            _report_dangling(edge, end, node.name, dangling, report)
    return frozenset(looked_at)


def _missing(
    named: pa.Array, node_type: TypeId, changes: ChangeSet, reader: SnapshotReader
) -> pa.Array:
    """Return the ids of which no node exists after the change."""
    nodes = changes.get(node_type)
    if nodes is not None and nodes.rows.num_rows:
        named = named.filter(pc.invert(is_among(named, nodes.ids)))
    if len(named) and (nodes is None or nodes.mode is not Mode.OVERWRITE):
        found = find_rows(reader.table(node_type), ID.column, named, [ID.column])
        if nodes is not None:
            found = without(found, ID.column, nodes.deletes)
        named = named.filter(pc.invert(is_among(named, found.column(ID.column))))
    return named


def _report_missing(
    change: TypeChange, end: Property, missing: pa.Array, node_name: str, report: Report
) -> None:
    column = change.rows.column(end.column)
    mask = pc.or_kleene(is_among(column, missing), pc.is_null(column))
    broken = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    report.add_many(
        "endpoint",
        len(broken),
        (
            Violation(
                rule="endpoint",
                message=f"there is no {node_name} {column[row].as_py()!r}",
                type=change.entity.name,
                id=change.ids[row].as_py(),
                property="from" if end is SRC else "to",
                value=column[row].as_py(),
                record=change.record(row),
            )
            for row in map(int, broken[: report.room])
        ),
    )


def _report_dangling(
    edge: EdgeType, end: Property, node_name: str, dangling: pa.Table, report: Report
) -> None:
    report.add_many(
        "endpoint",
        dangling.num_rows,
        (
            Violation(
                rule="endpoint",
                message=f"the edge would lose its {node_name} {node!r}",
                type=edge.name,
                id=edge_id,
                property="from" if end is SRC else "to",
                value=node,
            )
            for edge_id, node in zip(
                dangling.column(ID.column).to_pylist()[: report.room],
                dangling.column(end.column).to_pylist()[: report.room],
                strict=True,
            )
        ),
    )
