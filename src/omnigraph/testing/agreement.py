"""Evaluate a read by the engine, in every way of access, and by the reference evaluator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType, TypeId
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.errors import GraphError
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.execute import Call, Executable, execute
from omnigraph.ir.expressions import EntityRef, type_of
from omnigraph.planner import PlannerStatistics, plan_read
from omnigraph.planner.plan import Access
from omnigraph.ports.embeddings import EmbeddingTask
from omnigraph.session.query import call_of, prepare
from omnigraph.testing import reference
from omnigraph.testing.memory_tables import MemorySource

if TYPE_CHECKING:
    import datetime as dt

    from omnigraph.api.queries import QueryRequest
    from omnigraph.api.results import QueryResult
    from omnigraph.catalog.model import Catalog, Property
    from omnigraph.ir.queries import Projection, ReadIR
    from omnigraph.planner import Plan
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.session.engine import Engine

__all__ = ["Question", "agree", "outcome_of", "question_of", "same"]

# The schema and the rows of a result, or "failed" and the code of the error.
Outcome = tuple[Any, Any]
# A value that cannot be computed is reported where it is; plans may filter its row away before.
_OF_A_VALUE = frozenset(
    {
        *("query.sum_overflow", "query.integer_overflow", "query.date_out_of_range"),
        *("query.bad_cast", "query.value_too_large"),
    }
)
_CACHE_BYTES = 10**7


@dataclass(frozen=True)
class Question:
    """A read with its catalog, its tables and its call."""

    ir: ReadIR
    catalog: Catalog
    tables: Mapping[Any, pa.Table]
    params: Mapping[str, Any]
    now: dt.datetime
    embedder: Embedder | None = None

    def plan(self) -> Plan:
        counts = {type_id: table.num_rows for type_id, table in self.tables.items()}
        return plan_read(self.ir, PlannerStatistics(self.catalog, counts))

    def execute(self, access: Access, plan: Plan | None = None) -> QueryResult:
        """Evaluate with the engine."""
        executable = Executable(plan or self.plan(), self.catalog).with_access(access)
        call = Call(self.params, self.now, cache=ByteCache(_CACHE_BYTES), embedder=self.embedder)
        return execute(executable, MemorySource(self.tables), call)

    def by_engine(self, access: Access, plan: Plan | None = None) -> Outcome:
        try:
            return outcome_of(self.execute(access, plan))
        except GraphError as error:
            return "failed", error.code

    def by_reference(self) -> Outcome:
        """Evaluate with the reference evaluator."""
        graph = reference.graph_of(
            self.catalog,
            lambda type_id: self.tables[type_id].to_pylist() if type_id in self.tables else [],
        )
        embed = None if self.embedder is None else self._embed
        try:
            rows = reference.evaluate(
                self.ir, self.catalog, graph, self.params, now=self.now, embed=embed
            )
        except reference.Refused as refused:
            return "failed", refused.code
        return _schema_of(self.ir, self.catalog), rows

    def require_agreement(self, plan: Plan | None = None) -> Outcome:
        """Evaluate in all ways, require one outcome and return it."""
        expected = self.by_reference()
        for access in Access:
            found = self.by_engine(access, plan)
            if not agree(found, expected):
                raise AssertionError(
                    f"{access}: the engine returns {found}, the reference {expected}"
                )
        return expected

    def _embed(self, text: str, type_id: str, prop_id: str) -> Any:
        prop = self.catalog.types[TypeId(type_id)].by_id[prop_id]  # type: ignore[index]
        model = prop.annotations.keyword("embed", "model")
        dim = getattr(prop.dtype, "dim", 0)
        embedder: Any = self.embedder
        return embedder.embed([text], model=model, dim=dim, task=EmbeddingTask.QUERY)[0]


def question_of(engine: Engine, request: QueryRequest) -> Question:
    """Build the question of a request, with the rows of its snapshot."""
    snapshot = engine.snapshot(request.target)
    prepared = prepare(engine, snapshot, request)
    call = call_of(engine, prepared, request)
    tables = {type_id: snapshot.table(type_id).scan() for type_id in snapshot.catalog.types}
    return Question(prepared.ir, snapshot.catalog, tables, call.params, call.now, engine.embedder)


def outcome_of(result: QueryResult) -> Outcome:
    """Return the outcome of a result of the engine."""
    return result.to_arrow().schema, result.rows()


def agree(found: Outcome, expected: Outcome) -> bool:
    """Whether two evaluations have the same outcome."""
    for kind, code in (found, expected):
        if kind == "failed" and code in _OF_A_VALUE:
            return True
    return bool(found[0] == expected[0]) and same(found[1], expected[1])


def same(left: Any, right: Any) -> bool:
    """Equality of results: types count, NaN equals itself, the sign of zero does not matter."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(one, other) for one, other in pairs)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)


# --- schemas -----------------------------------------------------------------------------------


def _schema_of(ir: ReadIR, catalog: Catalog) -> pa.Schema:
    return pa.schema(
        [
            pa.field(column.name, _column_type(projection, catalog), nullable=column.nullable)
            for projection, column in zip(ir.returns, ir.columns, strict=True)
        ]
    )


def _column_type(projection: Projection, catalog: Catalog) -> pa.DataType:
    expr = projection.expr
    if not isinstance(expr, EntityRef):
        # A list of enum values has no type of its own.
        return arrow_type(type_of(expr) or ListType(Scalar.STRING))
    entity_type = catalog.types[TypeId(expr.type_id)]
    ends = {"from": SRC, "to": DST} if isinstance(entity_type, EdgeType) else {}
    shown = {"id": ID, **ends}
    shown |= {prop.name: prop for prop in entity_type.properties if not _is_bulky(prop)}
    return pa.struct(
        [
            pa.field(name, arrow_type(prop.dtype), nullable=prop.nullable)
            for name, prop in shown.items()
        ]
    )


def _is_bulky(prop: Property) -> bool:
    return isinstance(prop.dtype, VectorType) or prop.dtype == ScalarType(Scalar.BLOB)
