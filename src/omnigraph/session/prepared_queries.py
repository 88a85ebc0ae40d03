"""Prepared queries: compiled once, planned once per size class of the graph, run many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EdgeType, TypeId
from omnigraph.compiler import CompileCache, bind_params, require_texts
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.errors import InvalidInput
from omnigraph.executor.cache import pin_key, shared_cache
from omnigraph.executor.columns.pinned_columns import column_key, index_key
from omnigraph.executor.execute import Executable
from omnigraph.executor.traversal.topology import endpoints_key
from omnigraph.ir.expressions import Score, ScoreFunc, TextMatch
from omnigraph.ir.queries import MutationIR, ReadIR
from omnigraph.planner import PlannerStatistics, bucket_of, plan_read
from omnigraph.planner.access import choose_access
from omnigraph.planner.plan import Access
from omnigraph.ports.indexes import IndexKind
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import PropertyId
    from omnigraph.executor.cache import ByteCache
    from omnigraph.ir.expressions import Value
    from omnigraph.ir.queries import QueryIR
    from omnigraph.planner.access import AccessChoice
    from omnigraph.ports.tables import Pin, Table
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["PreparedQueries", "PreparedQuery", "SnapshotMemory", "SnapshotSource"]

_CAPACITY = 512
_PLANS_PER_QUERY = 8

_Key = tuple[str, str, str | None]


class SnapshotSource:
    """Provides the tables of a snapshot to the executor."""

    __slots__ = ("_pins", "_snapshot", "_tables")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._pins: Mapping[TypeId, Pin] = snapshot.manifest.pins
        self._tables: dict[TypeId, Table] = {}

    def pin(self, type_id: TypeId) -> Pin:
        return self._pins[type_id]

    def table(self, type_id: TypeId) -> Table:
        found = self._tables.get(type_id)
        if found is None:
            found = self._tables[type_id] = self._snapshot.table(type_id)
        return found


class SnapshotMemory:
    """The cached data of a snapshot."""

    def __init__(self, snapshot: Snapshot, cache: ByteCache) -> None:
        self._snapshot = snapshot
        self._pins = snapshot.manifest.pins
        self._cache = cache

    @property
    def budget_bytes(self) -> int:
        return self._cache.budget_bytes

    def has_column(self, type_id: str, prop: str) -> bool:
        return column_key(self._pin(type_id), self._column(type_id, prop)) in self._cache

    def has_ids(self, type_id: str) -> bool:
        return index_key(self._pin(type_id)) in self._cache

    def has_topology(self, edge_type: str) -> bool:
        edge = self._snapshot.catalog.types[TypeId(edge_type)]
        if not isinstance(edge, EdgeType):
            return False
        pins = [self._pin(each) for each in (edge_type, edge.source, edge.target)]
        return endpoints_key(*pins) in self._cache

    def has_index(self, type_id: str, prop: str) -> bool:
        column = self._column(type_id, prop)
        return any(
            index.spec is not None
            and index.spec.column == column
            and index.spec.kind in (IndexKind.BTREE, IndexKind.BITMAP)
            and index.uncovered_rows <= index.covered_rows
            for index in self._snapshot.table(TypeId(type_id)).indexes()
        )

    def spent(self, type_id: str) -> float:
        return self._cache.spent(self._pin(type_id))

    def how_searched(self, type_id: str, expr: TextMatch | Score, *, of_all: bool) -> str:
        # Search is imported on first use, by queries that rank.
        from omnigraph.executor.search.text_column import describe_text_search  # noqa: PLC0415
        from omnigraph.executor.search.vector_column import describe_vector_search  # noqa: PLC0415

        table = self._snapshot.table(TypeId(type_id))
        column = self._column(type_id, expr.target.prop)
        if isinstance(expr, Score) and expr.func is ScoreFunc.NEAREST:
            return describe_vector_search(table, column, of_all=of_all)
        func = expr.func if isinstance(expr, TextMatch) else None
        return describe_text_search(table, column, self._cache, func)

    def _pin(self, type_id: str) -> tuple[str, int, str]:
        return pin_key(self._pins[TypeId(type_id)])

    def _column(self, type_id: str, prop: str) -> str:
        by_id: Mapping[PropertyId, object] = self._snapshot.catalog.types[TypeId(type_id)].by_id
        return by_id[prop].column  # type: ignore[index, attr-defined, no-any-return]


class PreparedQuery:
    """One query against one schema, with its plans."""

    def __init__(self, ir: ReadIR) -> None:
        self.ir = ir
        self._params = {spec.name: (spec.dtype, spec.nullable) for spec in ir.params}
        self._type_ids = tuple(sorted({use.type_id for use in ir.reads}))
        self._plans: LruCache[tuple[int, ...], Executable] = LruCache(_PLANS_PER_QUERY)
        # The last manifest whose tables were all in memory, so that the check is skipped.
        self._settled: tuple[Manifest, Executable, SnapshotSource] | None = None

    def bind(self, given: Mapping[str, Any]) -> Mapping[str, Value]:
        """Convert parameters to typed values; raises one error for all invalid ones."""
        if isinstance(given, dict) and given.keys() == self._params.keys():
            try:
                return {
                    name: coerce_json(given[name], dtype, nullable=nullable)  # type: ignore[misc]
                    for name, (dtype, nullable) in self._params.items()
                }
            except ValueProblem:
                pass
        return bind_params(self.ir, given)  # type: ignore[return-value]  # lists are only read

    def executable(
        self, snapshot: Snapshot, forced: Access | None = None, *, streamed: bool = False
    ) -> tuple[Executable, SnapshotSource]:
        """Return the plan for a snapshot with its access paths, and the tables to run it on."""
        settled = self._settled
        if settled is not None and settled[0] is snapshot.manifest and forced is None:
            return settled[1], settled[2]
        planned = self.planned(snapshot)
        access = self.choose(snapshot, planned, forced, streamed=streamed).access
        chosen, source = planned.with_access(access), SnapshotSource(snapshot)
        if access is Access.RESIDENT and forced is None and not streamed:
            self._settled = (snapshot.manifest, chosen, source)
        return chosen, source

    def planned(self, snapshot: Snapshot) -> Executable:
        """Return the plan for tables of about this size."""
        bucket = bucket_of(self._type_ids, snapshot.manifest.pins)
        found = self._plans.get(bucket)
        if found is None:
            plan = plan_read(self.ir, self.facts(snapshot))
            found = self._plans.put(bucket, Executable(plan, snapshot.catalog))
        return found

    def choose(
        self,
        snapshot: Snapshot,
        planned: Executable,
        forced: Access | None,
        *,
        streamed: bool = False,
    ) -> AccessChoice:
        """Choose the access paths of a run, with the reasons."""
        memory = SnapshotMemory(snapshot, shared_cache())
        return choose_access(planned.plan, self.facts(snapshot), memory, forced, streamed=streamed)

    def facts(self, snapshot: Snapshot) -> PlannerStatistics:
        pins = snapshot.manifest.pins
        return PlannerStatistics(
            snapshot.catalog, {type_id: pin.rows for type_id, pin in pins.items()}
        )


class PreparedQueries:
    """The most recently used queries of one graph. Thread-safe."""

    def __init__(self, compiled: CompileCache) -> None:
        self._compiled = compiled
        self._entries: LruCache[_Key, PreparedQuery] = LruCache(_CAPACITY)

    def prepare(
        self, snapshot: Snapshot, text: str, name: str | None, source_name: str
    ) -> PreparedQuery:
        """Compile a query against the schema of the snapshot; it must be a read."""
        require_texts(text, name)
        key = (snapshot.manifest.commit.schema, text, name)
        found = self._entries.get(key)
        if found is not None:
            return found
        made = PreparedQuery(_require_read(self._compile(snapshot, text, name, source_name)))
        return self._entries.put(key, made)

    def _compile(
        self, snapshot: Snapshot, text: str, name: str | None, source_name: str
    ) -> QueryIR:
        digest = snapshot.manifest.commit.schema
        return self._compiled.compile(
            snapshot.catalog, digest, text, name=name, source_name=source_name
        )


def _require_read(ir: QueryIR) -> ReadIR:
    if isinstance(ir, MutationIR):
        raise InvalidInput(
            "query.mutates",
            f"query {ir.name!r} changes data",
            remedy="run it with `mutate`",
        )
    return ir
