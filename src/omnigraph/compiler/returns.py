"""``return``, ``order``, ``limit`` and ``offset``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.columns import column_name
from omnigraph.compiler.constants import lower_constant
from omnigraph.compiler.expressions import lower_condition, lower_expression
from omnigraph.compiler.grouping import replace_keys, with_keys
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import (
    nearest_limit,
    order_key,
    order_projection,
    rank_fusion,
    repeated_column,
    row_count,
)
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import OrderKey, Projection
from omnigraph.ir.walk import aggregates, nodes

if TYPE_CHECKING:
    from omnigraph.compiler.scope import PatternScope
    from omnigraph.language.gq import ast

__all__ = ["lower_having", "lower_order", "lower_returns", "lower_row_count"]


def lower_returns(scope: PatternScope, read: ast.Read) -> tuple[Projection, ...]:
    """The columns; those that are wrong were reported and are missing."""
    aliases: dict[str, ir.Expr | None] = {}
    scope.aliases = aliases
    columns = []
    names: set[str] = set()
    for node in read.returns:
        expr = lower_expression(scope, node.expr)
        name = node.alias or column_name(node.expr)
        if name in names:
            scope.unit.report(repeated_column.repeated(name, node.span))
        names.add(name)
        if node.alias is not None:
            aliases.setdefault(node.alias, expr)
        if expr is not None:
            columns.append((name, TypedOperand(expr, node.expr.span)))
    _check_grouping(scope, [column for _, column in columns])
    keys = {column.expr: column.expr for _, column in columns if not aggregates(column.expr)}
    return tuple(Projection(name, with_keys(scope.unit, column, keys)) for name, column in columns)


def lower_order(
    scope: PatternScope, read: ast.Read, returns: tuple[Projection, ...]
) -> tuple[OrderKey, ...]:
    """The order keys, each with its direction."""
    shown = {projection.expr for projection in returns}
    folded = read.distinct or any(map(aggregates, shown))
    grouping = {expr: expr for expr in shown if not aggregates(expr)}
    # With a column missing the shown expressions are not known.
    complete = len(returns) == len(read.returns)
    keys = []
    for node in read.order:
        expr = lower_expression(scope, node.expr)
        if expr is None:
            continue
        expr = replace_keys(expr, grouping) if aggregates(expr) else expr
        key = TypedOperand(expr, node.expr.span)
        if expr not in shown and complete and (folded or aggregates(expr)):
            scope.unit.report(order_projection.not_projected(key.span, distinct=read.distinct))
        elif not scope.unit.fails(order_key.check(key)):
            _check_limit(scope, read, key)
            descending = _best_first(expr) if node.descending is None else node.descending
            keys.append(OrderKey(expr, descending))
    return tuple(keys)


def lower_having(
    scope: PatternScope, read: ast.Read, returns: tuple[Projection, ...]
) -> ir.Expr | None:
    """The condition on rows of the result."""
    if read.having is None:
        return None
    expr = lower_condition(scope, read.having)
    shown = {projection.expr: projection.expr for projection in returns}
    if expr is None or not (read.distinct or any(map(aggregates, (expr, *shown)))):
        return expr
    keys = {each: each for each in shown if not aggregates(each)}
    return with_keys(scope.unit, TypedOperand(expr, read.having.span), keys, always=True)


def lower_row_count(scope: PatternScope, word: str, node: ast.Expr | None) -> ir.Expr | None:
    """``limit`` or ``offset``."""
    if node is None:
        return None
    expr = lower_constant(scope, node)
    if expr is None or scope.unit.fails(row_count.check(word, TypedOperand(expr, node.span))):
        return None
    return expr


def _check_grouping(scope: PatternScope, columns: list[TypedOperand]) -> None:
    """Groups have no rank, and rows have none before they are all there."""
    if not any(aggregates(column.expr) for column in columns):
        return
    for column in columns:
        if any(isinstance(each, ir.RankFusion) for each in nodes(column.expr)):
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
