"""Explains and profiles queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.queries import Explanation, QueryRequest
from omnigraph.executor.cache import shared_cache
from omnigraph.executor.execute import execute
from omnigraph.executor.profile import Profile
from omnigraph.planner.explain import explain, with_measures
from omnigraph.runtime.cancellation import checked_by
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.session.prepared_queries import SnapshotMemory, SnapshotSource
from omnigraph.session.query import budget_of, call_of, prepare, read_target, traversal_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.queries import ExplainedOperator
    from omnigraph.executor.execute import Executable
    from omnigraph.planner.access import AccessChoice
    from omnigraph.planner.plan import Node
    from omnigraph.session.engine import Engine
    from omnigraph.session.prepared_queries import PreparedQuery
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["explain_query", "profile_query"]


def explain_query(engine: Engine, request: QueryRequest) -> Explanation:
    """Return the current plan; parameters are not needed."""
    with engine.running.begin("explain", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            prepared, _, _, told = _explained(engine, snapshot, request)
    return Explanation(prepared.ir.name, snapshot.commit_id, read_target(request.target), told)


def _explained(
    engine: Engine, snapshot: Snapshot, request: QueryRequest
) -> tuple[PreparedQuery, Executable, AccessChoice, ExplainedOperator]:
    """Return a query with its plan, its access paths and their description."""
    prepared = prepare(engine, snapshot, request)
    planned = prepared.planned(snapshot)
    choice = prepared.choose(snapshot, planned, traversal_of(engine, request))
    memory = SnapshotMemory(snapshot, shared_cache())
    return (
        prepared,
        planned,
        choice,
        explain(planned.plan, prepared.facts(snapshot), choice, memory),
    )


def profile_query(engine: Engine, request: QueryRequest) -> Explanation:
    """Run the query and measure every operator."""
    with engine.running.begin("profile", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            # Described before the run, which changes the cache that the description reports.
            prepared, planned, choice, told = _explained(engine, snapshot, request)
        profile = Profile()
        call = replace(call_of(engine, prepared, request, meter), profile=profile)
        started = SYSTEM_CLOCK.monotonic()
        result = execute(planned.with_access(choice.access), SnapshotSource(snapshot), call)
        seconds = SYSTEM_CLOCK.monotonic() - started

    def measured(node: Node) -> Mapping[str, float] | None:
        found = profile.of(node)
        if found is None:
            return None
        return {
            "runs": found.runs,
            "rows": found.rows,
            "seconds": found.seconds,
            "bytes": found.bytes,
        }

    told = with_measures(told, planned.plan.root, measured)
    target = read_target(request.target)
    result.read_from(snapshot.commit_id, target)
    name = prepared.ir.name
    use = shared_cache().use()
    cache = {
        "budget_bytes": use.budget_bytes,
        "used_bytes": use.used_bytes,
        "entries": use.entries,
    }
    return Explanation(name, snapshot.commit_id, target, told, result, seconds, cache)
