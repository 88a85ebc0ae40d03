"""Runs a read query on one snapshot: prepare, bind, execute."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from omnigraph.api.results import ReadTarget
from omnigraph.api.targets import is_branch_target
from omnigraph.errors import InvalidInput
from omnigraph.executor.execute import Call, execute, stream
from omnigraph.planner.plan import Access
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.cancellation import checked_by
from omnigraph.runtime.clock import micros_to_datetime

if TYPE_CHECKING:
    from omnigraph.api.queries import QueryRequest
    from omnigraph.api.results import QueryResult, QueryStream
    from omnigraph.ir.queries import QueryIR
    from omnigraph.runtime.budget import Meter
    from omnigraph.session.engine import Engine
    from omnigraph.session.prepared_queries import PreparedQuery
    from omnigraph.versioning.snapshot import Snapshot

__all__ = [
    "budget_of",
    "call_of",
    "compile_on",
    "prepare",
    "require_budget",
    "run_query",
    "stream_query",
    "traversal_of",
]

_MODES = {access.value: access for access in Access}


def run_query(engine: Engine, request: QueryRequest) -> QueryResult:
    """Return the result of a read query on one snapshot."""
    with engine.running.begin("query", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            prepared = prepare(engine, snapshot, request)
            executable, source = prepared.executable(snapshot, traversal_of(engine, request))
        call = call_of(engine, prepared, request, meter)
        result = execute(executable, source, call)
        return result.read_from(snapshot.commit_id, read_target(request.target))


def stream_query(engine: Engine, request: QueryRequest) -> QueryStream:
    """Return the result as batches whose values are read on iteration, all from one snapshot."""
    with engine.running.begin("query", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            prepared = prepare(engine, snapshot, request)
            access = traversal_of(engine, request)
            executable, source = prepared.executable(snapshot, access, streamed=True)
        call = call_of(engine, prepared, request, meter)
        found = stream(executable, source, call)
    # The operation lasts as long as the iteration, and can be cancelled during it.
    found.during(operation)
    return found.read_from(snapshot.commit_id, read_target(request.target))


def prepare(engine: Engine, snapshot: Snapshot, request: QueryRequest) -> PreparedQuery:
    """Return the compiled and planned query, from the cache if it is there."""
    return engine.prepared.prepare(snapshot, request.text, request.name, request.source_name)


def budget_of(engine: Engine, request: QueryRequest) -> Budget:
    """Return the budget of a call: its own, or the default of the graph."""
    return engine.budget if request.budget is None else require_budget(request.budget)


def call_of(
    engine: Engine, prepared: PreparedQuery, request: QueryRequest, meter: Meter | None = None
) -> Call:
    """Return the state of one run: bound parameters, instant, budget and consumption."""
    return Call(
        prepared.bind(request.params),
        micros_to_datetime(engine.root.clock.now_micros()),
        budget_of(engine, request),
        embedder=engine.embedder,
        meter=meter,
    )


def require_budget(budget: object) -> Budget:
    """Return a budget, or raise an error for another type."""
    if isinstance(budget, Budget):
        return budget
    raise InvalidInput(
        "query.budget",
        f"budget must be a Budget, not {type(budget).__name__}",
        remedy="omnigraph.Budget(rows=…, seconds=…, memory_bytes=…)",
    )


def traversal_of(engine: Engine, request: QueryRequest) -> Access | None:
    """Return the traversal mode of the call or of the environment."""
    asked = request.traversal or engine.traversal
    if not asked:
        return None
    mode = _MODES.get(str(asked))
    if mode is None:
        raise InvalidInput(
            "query.traversal", f"unknown traversal mode {asked!r}", remedy="use csr or indexed"
        )
    return mode


def compile_on(engine: Engine, snapshot: Snapshot, request: QueryRequest) -> QueryIR:
    """Compile a query against the schema of a snapshot, once."""
    return engine.compiled.compile(
        snapshot.catalog,
        snapshot.manifest.commit.schema,
        request.text,
        name=request.name,
        source_name=request.source_name,
    )


@lru_cache(1024)
def read_target(target: str) -> ReadTarget:
    """Return the requested target, for the result."""
    moves = is_branch_target(target)
    return ReadTarget(branch=target if moves else None, snapshot=None if moves else target)
