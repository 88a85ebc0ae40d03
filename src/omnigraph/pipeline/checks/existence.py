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
from omnigraph.pipeline.checks.exchange import KEY, Feed, exchange
from omnigraph.pipeline.checks.exchange_inputs import stored_feeds
from omnigraph.pipeline.checks.findings import FACTS, Findings, fact_rows, find
from omnigraph.pipeline.checks.load_change import SOURCE
from omnigraph.pipeline.scratch.job_context import Stored
from omnigraph.pipeline.scratch.row_chunks import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.pipeline.checks.exchange import Tables
    from omnigraph.pipeline.checks.load_change import Incoming
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["check_existence"]

_ENDS = (("from", SRC), ("to", DST))


@frozen
class Count:
    """Cardinality of edges of type ``edge`` that leave nodes of type ``node``."""

    edge: int
    node: int
    low: int
    high: int | None
    # The load replaces all edges of the branch.
    overwritten: bool
    # The load replaces all nodes of the branch.
    renewed: bool


def check_existence(incoming: Incoming) -> tuple[Findings, frozenset[TypeId]]:
    """Find missing endpoints and violated cardinalities; return them and the types read."""
    plan = _Plan(incoming)
    plan.add_endpoints()
    plan.add_losses()
    plan.add_counts()
    if not plan.feeds:
        return Findings(), frozenset(plan.reads)
    desk = incoming.desk
    work = partial(_judge_nodes, tuple(plan.counts))
    feeds = [feed for found in plan.feeds.values() for feed in found]
    return find(desk, exchange(desk.spark, desk.site, feeds, work, FACTS)), frozenset(plan.reads)


class _Plan:
    """The feeds that the rules of a load need, each built once."""

    def __init__(self, incoming: Incoming) -> None:
        self._in = incoming
        self._catalog = incoming.snapshot.catalog
        self.feeds: dict[str, list[Feed]] = {}
        self.counts: list[Count] = []
        self.reads: set[TypeId] = set()

    def add_endpoints(self) -> None:
        """Require both ends of every new edge to exist after the load."""
        for edge in self._catalog.edges:
            if self._in.count(edge.id):
                self.reads |= {edge.source, edge.target}
                for (end, prop), node in zip(_ENDS, (edge.source, edge.target), strict=True):
                    name = f"end {self._in.number(edge)} {end} {self._in.number(node)}"
                    columns = {KEY: prop.column, RECORD: RECORD}
                    self._feed(name, self._in.rows(name, edge.id, columns))
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
            self._feed(old, self._in.branch(old, node, {KEY: ID.column}))
        self._add_gone(node)

    def _add_new(self, node: TypeId) -> None:
        new = f"new {self._in.number(node)}"
        self._feed(new, self._in.rows(new, node, {KEY: ID.column}))

    def _add_gone(self, node: TypeId) -> None:
        gone = f"gone {self._in.number(node)}"
        self._feed(gone, stored_feeds(gone, self._in.gone_of(node), {KEY: "id"}))

    def _add_kept(self, edge: EdgeType, node: TypeId) -> None:
        for (end, prop), node_type in zip(_ENDS, (edge.source, edge.target), strict=True):
            if node_type == node:
                kept = f"kept {self._in.number(edge)} {end} {self._in.number(node)}"
                columns = {KEY: prop.column, "id": ID.column}
                self._feed(kept, self._in.branch(kept, edge.id, columns, answers=False))

    def _is_touched(self, edge: EdgeType, rule: Cardinality) -> bool:
        is_changed = self._in.is_changed
        return is_changed(edge.id) or (is_changed(edge.source) and rule.low > 0)

    def _add_count(self, edge: EdgeType, rule: Cardinality) -> None:
        number, node = self._in.number(edge), self._in.number(edge.source)
        overwritten = self._in.is_overwritten(edge.id)
        renewed = self._in.is_overwritten(edge.source)
        self.counts.append(Count(number, node, rule.low, rule.high, overwritten, renewed))
        before = f"{'lost' if overwritten else 'out'} {number}"
        columns = {KEY: SRC.column}
        out = self._in.branch(before, edge.id, columns, answers=not overwritten)
        self._feed(before, out)
        if not overwritten:
            lost = f"lost {number}"
            going = Stored(self._in.located.of(number).files + self._in.gone_of(edge.id).files)
            self._feed(lost, stored_feeds(lost, going, {KEY: SOURCE}))
        if rule.low > 0 or renewed:
            self._add_new(edge.source)
        self._add_gone(edge.source)

    def _feed(self, name: str, feeds: list[Feed]) -> None:
        if feeds:
            self.feeds[name] = feeds


# --- on executors: one bucket at a time ----------------------------------------------------------


def _judge_nodes(
    counts: tuple[Count, ...], _: GraphLocation, tables: Tables
) -> Iterator[pa.RecordBatch]:
    nodes: dict[str, pa.Array] = {}
    for name, rows in tables.items():
        kind, *rest = name.split()
        if kind in ("end", "kept"):
            edge, end, node = rest
            if node not in nodes:
                nodes[node] = _nodes(tables, node)
            hanging = rows.filter(pc.invert(pc.is_in(rows.column(KEY), value_set=nodes[node])))
            facts = {"property": end, "value": hanging.column(KEY)}
            facts |= {name: hanging.column(name) for name in hanging.column_names if name != KEY}
            missing = "missing" if kind == "end" else "lost"
            yield from fact_rows(missing, int(edge), hanging.num_rows, **facts)
    for count in counts:
        yield from _judge_count(count, tables)


def _nodes(tables: Tables, node: str) -> pa.Array:
    """Return the ids of a type that exist after the load."""
    old, new = _keys(tables, f"old {node}"), _keys(tables, f"new {node}")
    gone = _keys(tables, f"gone {node}")
    if len(gone):
        old = old.filter(pc.invert(pc.is_in(old, value_set=gone)))
    return pa.concat_arrays([old, new])


def _judge_count(count: Count, tables: Tables) -> Iterator[pa.RecordBatch]:
    coming = tables.get(f"end {count.edge} from {count.node}", _NO_ENDS)
    lost = _keys(tables, f"lost {count.edge}")
    new = _keys(tables, f"new {count.node}")
    affected = [coming.column(KEY).combine_chunks(), lost]
    if count.low > 0:
        affected.append(new)
    sources = pc.unique(pa.concat_arrays(affected))
    if count.renewed:
        sources = sources.filter(pc.is_in(sources, value_set=new))
    gone = _keys(tables, f"gone {count.node}")
    if len(gone):
        sources = sources.filter(pc.invert(pc.is_in(sources, value_set=gone)))
    parts = [_weighted(sources, 0), _weighted(coming.column(KEY), 1, coming.column(RECORD))]
    if not count.overwritten:
        out = _keys(tables, f"out {count.edge}")
        parts.append(_weighted(out.filter(pc.is_in(out, value_set=sources)), 1))
        parts.append(_weighted(lost.filter(pc.is_in(lost, value_set=sources)), -1))
    counted = pa.concat_tables(parts).group_by(KEY).aggregate([("one", "sum"), (RECORD, "min")])
    number = counted.column("one_sum")
    wrong = pc.less(number, count.low)
    if count.high is not None:
        wrong = pc.or_(wrong, pc.greater(number, count.high))
    broken = counted.filter(wrong)
    yield from fact_rows(
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
