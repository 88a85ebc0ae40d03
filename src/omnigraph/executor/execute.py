"""Running a plan: from bound parameters to the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from omnigraph.api.results import QueryResult, QueryStream
from omnigraph.errors import InvalidInput
from omnigraph.executor.cache import shared_cache
from omnigraph.executor.context import Context
from omnigraph.executor.operators import OPERATORS
from omnigraph.executor.output import Output
from omnigraph.executor.paging import row_count
from omnigraph.executor.rows.bindings import ONE_ROW
from omnigraph.executor.run import PlanRun
from omnigraph.ir.expressions import Call as IrCall
from omnigraph.ir.expressions import (
    ParamRef,
    RankFusion,
    Score,
    ScoreFunc,
    StringMatch,
    StringOp,
)
from omnigraph.ir.functions import Function
from omnigraph.ir.queries import Stage
from omnigraph.ir.walk import nodes
from omnigraph.planner.plan import Access
from omnigraph.runtime.budget import Budget, Meter
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.semantics.functions.patterns import check_pattern

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.executor.cache import ByteCache
    from omnigraph.executor.profile import Profile
    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import TableSource
    from omnigraph.executor.search.column_scoring import ColumnScoring
    from omnigraph.ir.expressions import Expr, Value
    from omnigraph.planner.plan import Plan, Return
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.runtime.cancellation import Cancellation

__all__ = ["Call", "Executable", "execute", "stream"]

# So few rows are values sooner than they are arrays.
_FEW_ROWS = 8
_IDLE_MAX = 8
_DEFAULT_BUDGET = Budget()


class Executable:
    """A plan with all that its runs have in common."""

    def __init__(self, plan: Plan, catalog: Catalog) -> None:
        self.plan = plan
        self.catalog = catalog
        self.output = Output(plan.ir, catalog)
        self.body = cast("Return", plan.root).input
        self._patterns = tuple(_patterns(plan))
        self._stages = tuple(each for each in nodes(plan.ir) if isinstance(each, Stage))
        self._needs_limit = any(_needs_limit(key.expr) for key in plan.ir.order)
        # Runs that have ended, and can be taken up again while the tables are the same.
        self._idle: list[PlanRun] = []

    def with_access(self, access: Access) -> Executable:
        """The same plan, its values taken from elsewhere."""
        if access is self.plan.access:
            return self
        other = Executable.__new__(Executable)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(plan=replace(self.plan, access=access), _idle=[])
        return other

    def begin(self, source: TableSource, call: Call) -> PlanRun:
        """A run of this plan, from this instant."""
        page = self.page(call.params)
        for pattern in self._patterns:
            _check_pattern(pattern, call.params)
        for stage in self._stages:
            row_count("limit", stage.limit, call.params)
            row_count("offset", stage.offset, call.params)
        meter = call.meter or Meter(call.budget, call.cancellation)
        cache = call.cache or shared_cache()
        try:
            idle = self._idle.pop()
        except IndexError:
            pass
        else:
            if idle.serves(source, cache):
                idle.renew(call.params, call.now, meter, page)
                return idle
        context = Context(call.params, call.now, meter, cache)
        return PlanRun(self.plan, self.catalog, source, context, operators=OPERATORS, page=page)

    def end(self, run: PlanRun) -> None:
        """A run has answered and nobody needs it any more."""
        run.let_go()
        if self.plan.access is Access.RESIDENT and len(self._idle) < _IDLE_MAX:
            self._idle.append(run)

    def page(self, params: Mapping[str, Value]) -> tuple[int, int | None]:
        """Offset and limit, before the first row."""
        ir = self.plan.ir
        if ir.limit is None and ir.offset is None and not self._needs_limit:
            return 0, None
        limit = row_count("limit", ir.limit, params)
        if limit is None and self._needs_limit:
            raise InvalidInput(
                "search.limit_required",
                "an order by nearest() or rrf() needs a limit",
                remedy="add `limit n`",
            )
        return row_count("offset", ir.offset, params) or 0, limit


# Not frozen: one is made per query, and freezing costs more than the rest of it.
@dataclass(slots=True)
class Call:
    """How one run is made: its parameters, its instant, its limits."""

    params: Mapping[str, Value]
    now: dt.datetime
    budget: Budget = _DEFAULT_BUDGET
    cancellation: Cancellation | None = None
    embedder: Embedder | None = None
    cache: ByteCache | None = None
    profile: Profile | None = None
    # The budget in use since before the query was compiled; None: it begins with the run.
    meter: Meter | None = None


def execute(executable: Executable, source: TableSource, call: Call) -> QueryResult:
    """The whole answer of a read."""
    run, rows = _run(executable, source, call)
    ir, output = executable.plan.ir, executable.output
    if call.profile is not None:
        return _profiled(executable, rows, run, call.profile)
    if rows.count <= _FEW_ROWS:
        result = QueryResult(ir.name, ir.columns, None, cells=output.cells(rows, run))
    else:
        result = QueryResult(ir.name, ir.columns, output.table(rows, run))
    executable.end(run)
    return result


def _profiled(
    executable: Executable, rows: Bindings, run: PlanRun, profile: Profile
) -> QueryResult:
    plan = executable.plan
    started = SYSTEM_CLOCK.monotonic()
    table = executable.output.table(rows, run)
    seconds = SYSTEM_CLOCK.monotonic() - started
    profile.note(plan.root, rows.count, seconds, table.nbytes)
    return QueryResult(plan.ir.name, plan.ir.columns, table)


def stream(executable: Executable, source: TableSource, call: Call) -> QueryStream:
    """The answer of a read, its columns made a batch at a time."""
    run, rows = _run(executable, source, call)
    ir = executable.plan.ir
    output = executable.output
    batches = output.batches(rows, run)
    return QueryStream(ir.name, ir.columns, output.schema, rows.count, batches)


def _run(executable: Executable, source: TableSource, call: Call) -> tuple[PlanRun, Bindings]:
    plan = executable.plan
    run = executable.begin(source, call)
    run.profile = call.profile
    if plan.searched:
        run.scoring = _scoring(run, source, call.embedder)
    rows = run.rows(executable.body, _one_row)
    run.context.meter.return_rows(rows.count)
    return run, rows


def _one_row() -> Bindings:
    return ONE_ROW


def _scoring(run: PlanRun, source: TableSource, embedder: Embedder | None) -> ColumnScoring:
    # The door to search: a query that searches nothing does not wait for its import.
    from omnigraph.executor.search.column_scoring import ColumnScoring  # noqa: PLC0415
    from omnigraph.executor.search.embedding import embed_with  # noqa: PLC0415

    scoring = ColumnScoring(run, source, embed_with(embedder, run.catalog))
    scoring.check()
    return scoring


def _patterns(plan: Plan) -> Iterator[Expr]:
    """The regular expressions of a query."""
    for each in nodes(plan.ir):
        if isinstance(each, StringMatch) and each.op is StringOp.MATCHES:
            yield each.needle
        elif isinstance(each, IrCall) and each.func is Function.REGEX_REPLACE:
            yield each.args[1]


def _check_pattern(expr: Expr, params: Mapping[str, Value]) -> None:
    """Refuse a pattern before the first row, so that no plan is luckier than another."""
    value = params[expr.name] if isinstance(expr, ParamRef) else getattr(expr, "value", None)
    if isinstance(value, str):
        check_pattern(value)


def _needs_limit(expr: Expr) -> bool:
    return isinstance(expr, RankFusion) or (
        isinstance(expr, Score) and expr.func is ScoreFunc.NEAREST
    )
