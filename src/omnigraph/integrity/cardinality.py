"""``@card``: the number of edges of a type that leave one node, after the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, SRC, EdgeType, TypeId
from omnigraph.integrity.lookup import find_rows, is_among, without
from omnigraph.integrity.rules import Cardinality, rules_of
from omnigraph.integrity.violations import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.integrity.changes import ChangeSet, SnapshotReader, TypeChange
    from omnigraph.integrity.violations import Report

__all__ = ["check_cardinality", "check_every_source"]

_NO_IDS = pa.array([], pa.string())


def check_cardinality(
    edge: EdgeType, changes: ChangeSet, reader: SnapshotReader, report: Report
) -> frozenset[TypeId]:
    """Count edges of every source node whose edges or existence the change affects."""
    rule = next((rule for rule in rules_of(edge) if isinstance(rule, Cardinality)), None)
    if rule is None:
        return frozenset()
    change, nodes = changes.get(edge.id), changes.get(edge.source)
    if change is None and (nodes is None or rule.low == 0):
        return frozenset()
    affected = _affected(edge, rule, changes, reader)
    _report(edge, _count(edge, affected, change, reader), change, rule, report)
    return frozenset({edge.id, edge.source})


def check_every_source(
    edge: EdgeType, sources: pa.ChunkedArray, nodes: pa.ChunkedArray, report: Report
) -> None:
    """Count edges of all nodes, to validate existing data against a new schema.

    ``sources`` has one item per edge, ``nodes`` one per node that edges may leave."""
    for rule in rules_of(edge):
        if isinstance(rule, Cardinality):
            none = pa.table({"source": nodes, "one": np.zeros(len(nodes), np.int64)})
            _report(edge, _sum([none, _ones(sources)]), None, rule, report)


def _report(
    edge: EdgeType,
    counts: pa.Table,
    change: TypeChange | None,
    rule: Cardinality,
    report: Report,
) -> None:
    count = counts.column("count")
    wrong = pc.less(count, rule.low)
    if rule.high is not None:
        wrong = pc.or_(wrong, pc.greater(count, rule.high))
    broken = counts.filter(wrong).sort_by("source")
    shown = broken.slice(0, report.room)
    report.add_many(rule.name, broken.num_rows, _violations(edge, change, shown, rule))


def _affected(
    edge: EdgeType, rule: Cardinality, changes: ChangeSet, reader: SnapshotReader
) -> pa.Array:
    """Return sources of new and deleted edges and, with a minimum, new nodes."""
    change, nodes = changes.get(edge.id), changes.get(edge.source)
    sources = []
    if change is not None:
        sources.append(change.rows.column(SRC.column))
        sources.append(_sources_of_removed(change, reader))
    if nodes is not None and rule.low > 0:
        sources.append(nodes.ids)
    affected = pc.unique(pa.chunked_array([c for s in sources for c in _chunks(s)], pa.string()))
    if nodes is not None:
        affected = without(pa.table({"id": affected}), "id", nodes.deletes).column("id")
        if nodes.mode is Mode.OVERWRITE:
            # Edges of replaced nodes do not matter.
            affected = affected.filter(is_among(affected, nodes.ids))
    return affected.combine_chunks() if isinstance(affected, pa.ChunkedArray) else affected


def _sources_of_removed(change: TypeChange, reader: SnapshotReader) -> pa.ChunkedArray | pa.Array:
    table = reader.table(change.entity.id)
    if change.mode is Mode.OVERWRITE:
        return table.scan([SRC.column]).column(SRC.column) if table.pin.rows else _NO_IDS
    gone = change.deletes
    if not change.fresh_ids:
        gone = pa.chunked_array([*_chunks(gone), *_chunks(change.ids)], pa.string())
    return find_rows(table, ID.column, gone, [SRC.column]).column(SRC.column)


def _count(
    edge: EdgeType, affected: pa.Array, change: TypeChange | None, reader: SnapshotReader
) -> pa.Table:
    """Count the edges of each affected source after the change; zero included."""
    parts = [pa.table({"source": affected, "one": np.zeros(len(affected), np.int64)})]
    if change is None or change.mode is not Mode.OVERWRITE:
        staying = find_rows(reader.table(edge.id), SRC.column, affected, [ID.column, SRC.column])
        if change is not None:
            staying = without(staying, ID.column, change.ids, change.deletes)
        parts.append(_ones(staying.column(SRC.column)))
    if change is not None:
        parts.append(_ones(change.rows.column(SRC.column)))
    return _sum(parts)


def _sum(parts: list[pa.Table]) -> pa.Table:
    counted = pa.concat_tables(parts).group_by("source").aggregate([("one", "sum")])
    return counted.rename_columns(["source", "count"])


def _ones(sources: pa.ChunkedArray) -> pa.Table:
    return pa.table({"source": sources, "one": np.ones(len(sources), np.int64)})


def _chunks(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _violations(
    edge: EdgeType, change: TypeChange | None, counts: pa.Table, rule: Cardinality
) -> Iterator[Violation]:
    allowed = f"{rule.low}..{'*' if rule.high is None else rule.high}"
    sources = counts.column("source").combine_chunks()
    rows = pa.nulls(len(sources), pa.int32())
    if change is not None:
        rows = pc.index_in(sources, value_set=change.rows.column(SRC.column).combine_chunks())
    for source, count, row in zip(
        sources.to_pylist(), counts.column("count").to_pylist(), rows.to_pylist(), strict=True
    ):
        yield Violation(
            rule=rule.name,
            message=f"{source!r} would have {count} of them, allowed are {allowed}",
            type=edge.name,
            # Without an edge of the change to blame, refer to the node.
            id=source if change is None or row is None else change.ids[row].as_py(),
            property="from",
            value=source,
            record=None if change is None or row is None else change.record(row),
        )
