"""What a query would do, and what it did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.executor.cache import shared_cache
from omnigraph.executor.execute import execute
from omnigraph.executor.profile import Profile
from omnigraph.frozen import frozen
from omnigraph.planner.explain import explain, render, with_measures
from omnigraph.runtime.cancellation import checked_by
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.session.prepared_queries import SnapshotMemory, SnapshotSource
from omnigraph.session.query import (
    QueryRequest,
    budget_of,
    call_of,
    prepare,
    read_target,
    traversal_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.executor.execute import Executable
    from omnigraph.executor.result import QueryResult, ReadTarget
    from omnigraph.planner.access import AccessChoice
    from omnigraph.planner.explain import Explained
    from omnigraph.planner.plan import Node
    from omnigraph.runtime.ids import CommitId
    from omnigraph.session.engine import Engine
    from omnigraph.session.prepared_queries import PreparedQuery
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["Explanation", "explain_query", "profile_query"]


@frozen
class Explanation:
    """A plan on one snapshot; a profile has the measurements of a run, and its result."""

    query_name: str
    commit_id: CommitId
    target: ReadTarget
    plan: Explained
    result: QueryResult | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return render(self.plan)

    def __repr__(self) -> str:
        return f"<Explanation of {self.query_name}>\n{self}"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "query_name": self.query_name,
            "target": self.target.to_json(),
            "graph_commit_id": self.commit_id,
            "plan": self.plan.to_json(),
        }
        if self.result is not None:
            cache = shared_cache().use()
            body["row_count"] = len(self.result)
            body["seconds"] = self.seconds
            body["cache"] = {
                "budget_bytes": cache.budget_bytes,
                "used_bytes": cache.used_bytes,
                "entries": cache.entries,
            }
        return body


def explain_query(engine: Engine, request: QueryRequest) -> Explanation:
    """The plan as it would run now; parameters are not needed."""
    with engine.running.begin("explain", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            prepared, _, _, told = _explained(engine, snapshot, request)
    return Explanation(prepared.ir.name, snapshot.commit_id, read_target(request.target), told)


def _explained(
    engine: Engine, snapshot: Snapshot, request: QueryRequest
) -> tuple[PreparedQuery, Executable, AccessChoice, Explained]:
    """A query with its plan, its way of access and the description of both."""
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
    """Run the query and tell what each operator did."""
    with engine.running.begin("profile", request.name, request.target, request.actor) as operation:
        meter = budget_of(engine, request).start(operation)
        snapshot = engine.snapshot(request.target)
        with checked_by(meter.check):
            # Told before it runs: what it finds in memory is not what it leaves there.
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
    return Explanation(prepared.ir.name, snapshot.commit_id, target, told, result, seconds)
