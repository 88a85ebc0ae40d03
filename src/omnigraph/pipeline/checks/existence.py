"""Existence rules over a distributed load: endpoints, lost endpoints and cardinality.

``integrity.endpoints`` and ``integrity.cardinality`` for rows that no single process holds. An
exchange groups by the id of a node: the node itself, if it exists after the load; the edges that
refer to it; and the number of edges that leave it before and after.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import DST, ID, SRC, EdgeType, NodeType, TypeId
from omnigraph.frozen import frozen
from omnigraph.integrity.rules import Cardinality, rules_of
from omnigraph.pipeline.checks.exchange import KEY, ExchangeInput, exchange
from omnigraph.pipeline.checks.exchange_inputs import stored_inputs
from omnigraph.pipeline.checks.findings import (
    FINDINGS_DDL,
    Findings,
    collect_findings,
    finding_rows,
)
from omnigraph.pipeline.checks.load_change import SOURCE
from omnigraph.pipeline.scratch.job_context import StoredRows
from omnigraph.pipeline.scratch.row_chunks import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.pipeline.checks.exchange import Tables
    from omnigraph.pipeline.checks.load_change import LoadChange
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["check_existence"]

_ENDS = (("from", SRC), ("to", DST))


@frozen
class CardinalityCheck:
    """Cardinality of edges of type ``edge`` that leave nodes of type ``node``."""

    edge: int
    node: int
    low: int
    high: int | None
    # The load replaces all edges of the branch.
    edges_overwritten: bool
    # The load replaces all nodes of the branch.
    nodes_overwritten: bool


def check_existence(change: LoadChange) -> tuple[Findings, frozenset[TypeId]]:
    """Find missing endpoints and violated cardinalities; return them and the types read."""
    plan = _ExistencePlan(change)
    plan.add_endpoints()
    plan.add_losses()
    plan.add_counts()
    if not plan.inputs:
        return Findings(), frozenset(plan.reads)
    context = change.context
    work = partial(_check_nodes, tuple(plan.counts))
    inputs = [item for found in plan.inputs.values() for item in found]
    return collect_findings(
        context, exchange(context.spark, context.location, inputs, work, FINDINGS_DDL)
    ), frozenset(plan.reads)


class _ExistencePlan:
    """The inputs that the rules of a load need, each built once."""

    def __init__(self, change: LoadChange) -> None:
        self._in = change
        self._catalog = change.snapshot.catalog
        self.inputs: dict[str, list[ExchangeInput]] = {}
        self.counts: list[CardinalityCheck] = []
        self.reads: set[TypeId] = set()

    def add_endpoints(self) -> None:
        """Require both ends of every new edge to exist after the load."""
        for edge in self._catalog.edges:
            if self._in.count(edge.id):
                self.reads |= {edge.source, edge.target}
                for (end, prop), node in zip(_ENDS, (edge.source, edge.target), strict=True):
                    name = f"end {self._in.number(edge)} {end} {self._in.number(node)}"
                    columns = {KEY: prop.column, RECORD: RECORD}
                    self._add_input(name, self._in.rows(name, edge.id, columns))
                    self._add_nodes(node)

    def add_losses(self) -> None:
        """Require the ends of every remaining edge to survive an overwrite of nodes."""
        for node in self._in.entities:
            if isinstance(node, NodeType) and self._in.is_overwritten(node.id):
                self.reads.add(node.id)
                self._add_nodes(node.id)
                for edge in self._catalog.incident_edges(node.id):
                    self.reads.add(edge.id)
                    if not self._in.is_overwritten(edge.id):
                        self._add_kept(edge, node.id)

    def add_counts(self) -> None:
        """Require the number of edges that leave a node to be within its cardinality."""
        for edge in self._catalog.edges:
            for rule in rules_of(edge):
                if isinstance(rule, Cardinality) and self._is_touched(edge, rule):
                    self.reads |= {edge.id, edge.source}
                    self._add_count(edge, rule)

    # --- parts ---

    def _add_nodes(self, node: TypeId) -> None:
        """Add the nodes of a type that exist after the load."""
        self._add_new(node)
        number = self._in.number(node)
        if not self._in.is_overwritten(node):
            old = f"old {number}"
            self._add_input(old, self._in.branch(old, node, {KEY: ID.column}))
        self._add_deleted_nodes(node)

    def _add_new(self, node: TypeId) -> None:
        new = f"new {self._in.number(node)}"
        self._add_input(new, self._in.rows(new, node, {KEY: ID.column}))

    def _add_deleted_nodes(self, node: TypeId) -> None:
        gone = f"gone {self._in.number(node)}"
        self._add_input(gone, stored_inputs(gone, self._in.deletions_of(node), {KEY: "id"}))

    def _add_kept(self, edge: EdgeType, node: TypeId) -> None:
        for (end, prop), node_type in zip(_ENDS, (edge.source, edge.target), strict=True):
            if node_type == node:
                kept = f"kept {self._in.number(edge)} {end} {self._in.number(node)}"
                columns = {KEY: prop.column, "id": ID.column}
                self._add_input(kept, self._in.branch(kept, edge.id, columns, semi_join=False))

    def _is_touched(self, edge: EdgeType, rule: Cardinality) -> bool:
        is_changed = self._in.is_changed
        return is_changed(edge.id) or (is_changed(edge.source) and rule.low > 0)

    def _add_count(self, edge: EdgeType, rule: Cardinality) -> None:
        number, node = self._in.number(edge), self._in.number(edge.source)
        edges_overwritten = self._in.is_overwritten(edge.id)
        nodes_overwritten = self._in.is_overwritten(edge.source)
        self.counts.append(
            CardinalityCheck(
                number, node, rule.low, rule.high, edges_overwritten, nodes_overwritten
            )
        )
        before = f"{'lost' if edges_overwritten else 'out'} {number}"
        columns = {KEY: SRC.column}
        out = self._in.branch(before, edge.id, columns, semi_join=not edges_overwritten)
        self._add_input(before, out)
        if not edges_overwritten:
            lost = f"lost {number}"
            going = StoredRows(
                self._in.located.of(number).files + self._in.deletions_of(edge.id).files
            )
            self._add_input(lost, stored_inputs(lost, going, {KEY: SOURCE}))
        if rule.low > 0 or nodes_overwritten:
            self._add_new(edge.source)
        self._add_deleted_nodes(edge.source)

    def _add_input(self, name: str, inputs: list[ExchangeInput]) -> None:
        if inputs:
            self.inputs[name] = inputs


# --- on executors: one bucket at a time ----------------------------------------------------------


def _check_nodes(
    counts: tuple[CardinalityCheck, ...], _: GraphLocation, tables: Tables
) -> Iterator[pa.RecordBatch]:
    nodes: dict[str, pa.Array] = {}
    for name, rows in tables.items():
        kind, *rest = name.split()
        if kind in ("end", "kept"):
            edge, end, node = rest
            if node not in nodes:
                nodes[node] = _nodes(tables, node)
            dangling = rows.filter(pc.invert(pc.is_in(rows.column(KEY), value_set=nodes[node])))
            facts = {"property": end, "value": dangling.column(KEY)}
            facts |= {name: dangling.column(name) for name in dangling.column_names if name != KEY}
            missing = "missing" if kind == "end" else "lost"
            yield from finding_rows(missing, int(edge), dangling.num_rows, **facts)
    for count in counts:
        yield from _check_cardinality(count, tables)


def _nodes(tables: Tables, node: str) -> pa.Array:
    """Return the ids of a type that exist after the load."""
    old, new = _keys(tables, f"old {node}"), _keys(tables, f"new {node}")
    gone = _keys(tables, f"gone {node}")
    if len(gone):
        old = old.filter(pc.invert(pc.is_in(old, value_set=gone)))
    return pa.concat_arrays([old, new])


def _check_cardinality(count: CardinalityCheck, tables: Tables) -> Iterator[pa.RecordBatch]:
    coming = tables.get(f"end {count.edge} from {count.node}", _NO_ENDS)
    lost = _keys(tables, f"lost {count.edge}")
    new = _keys(tables, f"new {count.node}")
    affected = [coming.column(KEY).combine_chunks(), lost]
    if count.low > 0:
        affected.append(new)
    sources = pc.unique(pa.concat_arrays(affected))
    if count.nodes_overwritten:
        sources = sources.filter(pc.is_in(sources, value_set=new))
    gone = _keys(tables, f"gone {count.node}")
    if len(gone):
        sources = sources.filter(pc.invert(pc.is_in(sources, value_set=gone)))
    parts = [_weighted(sources, 0), _weighted(coming.column(KEY), 1, coming.column(RECORD))]
    if not count.edges_overwritten:
        out = _keys(tables, f"out {count.edge}")
        parts.append(_weighted(out.filter(pc.is_in(out, value_set=sources)), 1))
        parts.append(_weighted(lost.filter(pc.is_in(lost, value_set=sources)), -1))
    counted = pa.concat_tables(parts).group_by(KEY).aggregate([("one", "sum"), (RECORD, "min")])
    number = counted.column("one_sum")
    wrong = pc.less(number, count.low)
    if count.high is not None:
        wrong = pc.or_(wrong, pc.greater(number, count.high))
    broken = counted.filter(wrong)
    yield from finding_rows(
        "count",
        count.edge,
        broken.num_rows,
        property="from",
        value=broken.column(KEY),
        number=broken.column("one_sum"),
        record=broken.column(f"{RECORD}_min"),
    )


def _keys(tables: Mapping[str, pa.Table], name: str) -> pa.Array:
    found = tables.get(name)
    return _NO_KEYS if found is None else found.column(KEY).combine_chunks()


def _weighted(
    keys: pa.Array | pa.ChunkedArray, one: int, records: pa.ChunkedArray | None = None
) -> pa.Table:
    nothing = pa.nulls(len(keys), pa.int64())
    return pa.table(
        {
            KEY: keys,
            "one": np.full(len(keys), one, np.int64),
            RECORD: nothing if records is None else records,
        }
    )


_NO_KEYS = pa.array([], pa.string())
_NO_ENDS = pa.table({KEY: _NO_KEYS, RECORD: pa.array([], pa.int64())})
