"""``return``, ``order``, ``limit`` and ``offset``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.aggregates import fold_type
from omnigraph.compiler.columns import column_name
from omnigraph.compiler.constants import lower_constant
from omnigraph.compiler.expressions import lower_expression, lower_operand
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import (
    aggregate_place,
    nearest_limit,
    order_key,
    order_projection,
    rank_fusion,
    repeated_column,
    row_count,
)
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import OrderKey, Projection
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from omnigraph.compiler.scope import PatternScope

__all__ = ["lower_order", "lower_returns", "lower_row_count"]


def lower_returns(scope: PatternScope, read: ast.Read) -> tuple[Projection, ...]:
    """The columns; those that are wrong were reported and are missing."""
    aliases: dict[str, ir.Expr | None] = {}
    scope.aliases = aliases
    columns = []
    names: set[str] = set()
    for node in read.returns:
        expr = _lower_column(scope, node.expr)
        name = node.alias or column_name(node.expr)
        if name in names:
            scope.unit.report(repeated_column.repeated(name, node.span))
        names.add(name)
        if node.alias is not None:
            aliases.setdefault(node.alias, expr)
        if expr is not None:
            columns.append((name, TypedOperand(expr, node.expr.span)))
    _check_grouping(scope, [column for _, column in columns])
    return tuple(Projection(name, column.expr) for name, column in columns)


def lower_order(
    scope: PatternScope, read: ast.Read, returns: tuple[Projection, ...]
) -> tuple[OrderKey, ...]:
    """The order keys, each with its direction."""
    shown = {projection.expr for projection in returns}
    folded = read.distinct or any(isinstance(expr, ir.Aggregate) for expr in shown)
    # With a column missing the shown expressions are not known.
    complete = len(returns) == len(read.returns)
    keys = []
    for node in read.order:
        expr = _lower_column(scope, node.expr)
        if expr is None:
            continue
        key = TypedOperand(expr, node.expr.span)
        if expr not in shown and complete and (folded or isinstance(expr, ir.Aggregate)):
            scope.unit.report(order_projection.not_projected(key.span, distinct=read.distinct))
        elif not scope.unit.fails(order_key.check(key)):
            _check_limit(scope, read, key)
            descending = _best_first(expr) if node.descending is None else node.descending
            keys.append(OrderKey(expr, descending))
    return tuple(keys)


def lower_row_count(scope: PatternScope, word: str, node: ast.Expr | None) -> ir.Expr | None:
    """``limit`` or ``offset``."""
    if node is None:
        return None
    expr = lower_constant(scope, node)
    if expr is None or scope.unit.fails(row_count.check(word, TypedOperand(expr, node.span))):
        return None
    return expr


def _lower_column(scope: PatternScope, node: ast.Expr) -> ir.Expr | None:
    """A column or an order key: the only places for an aggregate."""
    if not isinstance(node, ast.Aggregate):
        return lower_expression(scope, node)
    operand = None
    if node.operand is not None:
        operand = lower_operand(scope, node.operand)
        if operand is None:
            return None
        if isinstance(operand.expr, ir.Aggregate):
            # An alias stood for it.
            scope.unit.report(aggregate_place.misplaced(operand.expr.func.value, operand.span))
            return None
    func = ir.AggregateFunc(node.func.value)
    dtype = fold_type(scope.unit, func, operand, distinct=node.distinct, span=node.span)
    if dtype is None:
        return None
    return ir.Aggregate(func, operand.expr if operand else None, node.distinct, dtype)


def _check_grouping(scope: PatternScope, columns: list[TypedOperand]) -> None:
    """Groups have no rank, and rows have none before they are all there."""
    if not any(isinstance(column.expr, ir.Aggregate) for column in columns):
        return
    for column in columns:
        folded = column.expr.operand if isinstance(column.expr, ir.Aggregate) else column.expr
        if isinstance(folded, ir.RankFusion):
            scope.unit.report(rank_fusion.grouped(column.span))


def _check_limit(scope: PatternScope, read: ast.Read, key: TypedOperand) -> None:
    if read.limit is not None:
        return
    match key.expr:
        case ir.Score(func=ir.ScoreFunc.NEAREST):
            scope.unit.report(nearest_limit.unlimited(key.span))
        case ir.RankFusion():
            scope.unit.report(rank_fusion.unlimited(key.span))
        case _:
            pass


def _best_first(expr: ir.Expr) -> bool:
    """Relevance is ordered from the best; a distance is best when it is small."""
    match expr:
        case ir.Score(func=func):
            return func is ir.ScoreFunc.BM25
        case _:
            return isinstance(expr, ir.RankFusion)
