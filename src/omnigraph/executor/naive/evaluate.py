"""A read, from its IR to its result, by definition.

match → retrieve (when ordered by a score) → group → order → offset and limit → project.

* Group keys are the projections that read a slot; one that reads none is a constant. Aggregates
  without group keys have one group, even when there are no rows.
* ``distinct`` is grouping by all columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from omnigraph.catalog.model import TypeId
from omnigraph.errors import InvalidInput
from omnigraph.executor.budget import Budget, Meter
from omnigraph.executor.naive.hops import Hops
from omnigraph.executor.naive.match import Matcher
from omnigraph.executor.naive.output import make_result
from omnigraph.executor.naive.predicates import Interpreter
from omnigraph.executor.naive.search import Embed, RowIds, Scorer, fuse, is_ranked, rank
from omnigraph.executor.naive.tables import StoredEntity, Tables
from omnigraph.executor.naive.values import Entity, Row, SortKey, sort_key
from omnigraph.executor.naive.walk import nodes, slots_read
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import Aggregate, RankFusion, Score, ScoreFunc, TextFunc, TextMatch
from omnigraph.ir.queries import EntitySlot

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.executor.result import QueryResult
    from omnigraph.ir.expressions import Expr, Value
    from omnigraph.ir.queries import Block, ReadIR

__all__ = ["Embed", "ReadTable", "evaluate"]

ReadTable = Callable[[TypeId], pa.Table]

# What a row costs while it is held: about a dict, and an entry per slot.
_ROW_BYTES = 200
_SLOT_BYTES = 16


def evaluate(  # noqa: PLR0913 - a query, what it reads and how it is run, all named by the caller
    ir: ReadIR,
    catalog: Catalog,
    params: Mapping[str, object],
    read_table: ReadTable,
    *,
    now: dt.datetime,
    embed: Embed | None = None,
    budget: Budget | None = None,
) -> QueryResult:
    """Answer a read. ``params`` are bound and typed; ``read_table`` gives the table of a type."""
    missing = [spec.name for spec in ir.params if spec.name not in params]
    if missing:
        raise InvalidInput(
            "param.missing", f"no value for ${missing[0]}", details={"missing": missing}
        )
    meter = (budget or Budget()).start()
    tables = Tables(catalog, read_table, meter)
    query = _Query(ir, tables, Scorer(tables, embed), params=params, now=now, meter=meter)
    return make_result(ir, catalog, query.answer())


@frozen
class _ResultRow:
    """A row of the result before it is projected: a group of rows, maybe of a single one.

    Every value that is not an aggregate is read from the first row. ``tie`` decides between rows
    that are equal in the order of the query.
    """

    first: Row
    group: tuple[Row, ...]
    tie: tuple[SortKey, ...]


class _Query:
    """One run of a read. It is also what its expressions find around their row."""

    def __init__(
        self,
        ir: ReadIR,
        tables: Tables,
        scorer: Scorer,
        *,
        params: Mapping[str, object],
        now: dt.datetime,
        meter: Meter,
    ) -> None:
        self._ir = ir
        self._scorer = scorer
        self._meter = meter
        self._interpreter = Interpreter(params, now, self)
        self._matcher = Matcher(tables, Hops(tables, meter), self._interpreter, meter)
        self._slots = sorted(introduced.slot for introduced in ir.match.slots)
        self._fused: dict[RankFusion, dict[RowIds, float]] = {}

    def answer(self) -> list[list[Value | Entity]]:
        """The rows of the result, a value per projection each."""
        offset, limit = self._page()
        self._check_arguments()
        matched = self._match()
        self._fuse(matched)
        rows = self._order(self._group(self._retrieve(matched)))
        page = rows[offset : None if limit is None else offset + limit]
        self._meter.return_rows(len(page))
        return [self._project(row) for row in page]

    # --- what expressions ask for ---

    def block_rows(self, block: Block, row: Row) -> Iterable[Row]:
        return self._matcher.rows(block, row)

    def score(self, score: Score, entity: Entity, query: Value) -> float | None:
        type_id = cast("StoredEntity", entity).rows.type.id
        return self._scorer.score(score, type_id, entity.value(score.target.prop), query)

    def fused(self, fusion: RankFusion, row: Row) -> float:
        if fusion not in self._fused:
            raise InvalidInput(
                "search.rank_in_match",
                "rrf() ranks the rows of the query, so it cannot choose among them",
                remedy="order by it and set a limit",
            )
        return self._fused[fusion].get(self._ids(row), 0.0)

    # --- before the first row ---

    def _page(self) -> tuple[int, int | None]:
        limit = self._count("limit", self._ir.limit)
        if limit is None and any(_needs_limit(key.expr) for key in self._ir.order):
            raise InvalidInput(
                "search.limit_required",
                "an order by nearest() or rrf() needs a limit",
                remedy="add `limit n`",
            )
        return self._count("offset", self._ir.offset) or 0, limit

    def _count(self, clause: str, expr: Expr | None) -> int | None:
        count = None if expr is None else cast("int | None", self._interpreter.plain(expr))
        if count is not None and count < 0:
            raise InvalidInput(
                f"query.negative_{clause}", f"{clause} is {count}", remedy="use 0 or more"
            )
        return count

    def _check_arguments(self) -> None:
        """Refuse what cannot be searched for, even where no row would ask."""
        types = {
            each.slot: each.type_id for each in nodes(self._ir) if isinstance(each, EntitySlot)
        }
        for node in nodes(self._ir):
            match node:
                case TextMatch(func=TextFunc.FUZZY):
                    self._interpreter.max_edits(node)
                case Score(func=ScoreFunc.NEAREST) if not slots_read(node.query):
                    query = self._interpreter.plain(node.query)
                    if query is not None:
                        self._scorer.query_vector(node, types[node.target.slot], query)

    # --- rows ---

    def _match(self) -> list[Row]:
        rows = []
        for row in self._matcher.rows(self._ir.match, {}):
            self._meter.hold(_ROW_BYTES + _SLOT_BYTES * len(row))
            rows.append(row)
        return sorted(rows, key=self._ids)

    def _ids(self, row: Row) -> RowIds:
        return tuple(row[slot].id for slot in self._slots)

    def _fuse(self, rows: list[Row]) -> None:
        for fusion in nodes((self._ir.returns, self._ir.order)):
            if isinstance(fusion, RankFusion):
                rankings = [
                    rank(score.func, {self._ids(row): self._score(score, row) for row in rows})
                    for score in fusion.scores
                ]
                k = cast("float | None", self._interpreter.plain(fusion.k))
                self._fused[fusion] = fuse(rankings, k)

    def _retrieve(self, rows: list[Row]) -> list[Row]:
        """Ordering by a score leaves out the rows that it does not rank."""
        for key in self._ir.order:
            expr = key.expr
            if isinstance(expr, Score):
                rows = [row for row in rows if is_ranked(expr.func, self._score(expr, row))]
            elif isinstance(expr, RankFusion):
                rows = [row for row in rows if self.fused(expr, row) > 0]
        return rows

    def _score(self, expr: Score, row: Row) -> float | None:
        self._meter.tick()
        return cast("float | None", self._interpreter.value(expr, row))

    # --- result rows ---

    def _group(self, rows: list[Row]) -> list[_ResultRow]:
        exprs = [projection.expr for projection in self._ir.returns]
        folds = any(isinstance(expr, Aggregate) for expr in exprs)
        if not folds and not self._ir.distinct:
            return [_ResultRow(row, (row,), ()) for row in rows]
        keys = [expr for expr in exprs if not isinstance(expr, Aggregate) and slots_read(expr)]
        groups: dict[tuple[SortKey, ...], list[Row]] = {(): []} if folds and not keys else {}
        for row in rows:
            self._meter.tick()
            group_key = tuple(sort_key(self._interpreter.value(key, row)) for key in keys)
            groups.setdefault(group_key, []).append(row)
        return [
            _ResultRow(group[0] if group else {}, tuple(group), tie)
            for tie, group in groups.items()
        ]

    def _order(self, rows: list[_ResultRow]) -> list[_ResultRow]:
        # Sorts are stable, so the last criterion comes first. Rows that are no groups have no tie:
        # they are in the order of their ids already.
        ordered = sorted(rows, key=lambda row: row.tie)
        for key in reversed(self._ir.order) if len(rows) > 1 else ():
            ordered.sort(key=lambda row: self._sort_key(row, key.expr), reverse=key.descending)
        return ordered

    def _project(self, row: _ResultRow) -> list[Value | Entity]:
        return [self._value(row, projection.expr) for projection in self._ir.returns]

    def _sort_key(self, row: _ResultRow, expr: Expr) -> SortKey:
        return sort_key(self._value(row, expr))

    def _value(self, row: _ResultRow, expr: Expr) -> Value | Entity:
        self._meter.tick()
        if isinstance(expr, Aggregate):
            return self._interpreter.fold(expr, row.group)
        return self._interpreter.value(expr, row.first)


def _needs_limit(expr: Expr) -> bool:
    return isinstance(expr, RankFusion) or (
        isinstance(expr, Score) and expr.func is ScoreFunc.NEAREST
    )
