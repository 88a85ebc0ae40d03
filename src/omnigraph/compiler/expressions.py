"""Expressions: from syntax to typed IR, bottom up.

Lowering answers None where something is wrong and was reported; whatever holds such an expression
is None too and stays silent, so that one mistake is one finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.compiler.aggregates import fold_type
from omnigraph.compiler.comparisons import (
    compare,
    is_in,
    is_in_items,
    is_null,
    string_or_list_match,
)
from omnigraph.compiler.constants import lower_items, lower_list, lower_literal
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import (
    aggregate_place,
    condition,
    correlation,
    mutation_expression,
    nesting,
)
from omnigraph.compiler.scope import EntityScope, Names, PatternScope
from omnigraph.compiler.search import lower_text_call
from omnigraph.ir import expressions as ir
from omnigraph.language.gq import ast
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.ir.queries import Block
    from omnigraph.language.source import Span

__all__ = ["lower_condition", "lower_expression", "lower_operand"]

# More than the parser lets through, and few enough that Python's stack holds them.
MAX_DEPTH = 150


def lower_expression(names: Names, node: ast.Expr) -> ir.Expr | None:
    """A value or a condition."""
    checkpoint()
    unit = names.unit
    if unit.depth >= MAX_DEPTH:
        unit.report(nesting.too_deep(node.span))
        return None
    unit.depth += 1
    lowered = _LOWERINGS[type(node)](names, node)
    unit.depth -= 1
    return lowered


def lower_operand(names: Names, node: ast.Expr) -> TypedOperand | None:
    """A value, with its place for whoever has to complain about its type."""
    expr = lower_expression(names, node)
    return None if expr is None else TypedOperand(expr, node.span)


def lower_condition(names: Names, node: ast.Expr) -> ir.Expr | None:
    """An expression that is true or false."""
    expr = lower_expression(names, node)
    if expr is None or names.unit.fails(condition.check(TypedOperand(expr, node.span))):
        return None
    return expr


# --- one function per kind of expression -------------------------------------------------------


def _comparison(names: Names, node: ast.Comparison) -> ir.Expr | None:
    left = lower_operand(names, node.left)
    right = lower_operand(names, node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.MatchOp):
        return string_or_list_match(names.unit, node.op, left, right)
    return compare(names.unit, node.op, left, right, span=node.span)


def _membership(names: Names, node: ast.Membership) -> ir.Expr | None:
    item = lower_operand(names, node.item)
    if isinstance(node.options, ast.ListLiteral):
        written_out = lower_items(names, node.options)
        if item is None or written_out is None:
            return None
        return is_in_items(names.unit, item, written_out)
    options = lower_operand(names, node.options)
    if item is None or options is None:
        return None
    return is_in(names.unit, item, options)


def _is_null(names: Names, node: ast.IsNull) -> ir.Expr | None:
    operand = lower_operand(names, node.operand)
    if operand is None:
        return None
    return is_null(names.unit, operand, negated=node.negated)


def _logical(names: Names, node: ast.Logical) -> ir.Expr | None:
    operands = []
    for operand in node.operands:
        lowered = lower_condition(names, operand)
        if lowered is not None:
            operands.append(lowered)
    if len(operands) < len(node.operands):
        return None
    return ir.And(tuple(operands)) if node.op is ast.BoolOp.AND else ir.Or(tuple(operands))


def _not(names: Names, node: ast.Not) -> ir.Expr | None:
    operand = lower_condition(names, node.operand)
    return None if operand is None else ir.Not(operand)


def _exists(names: Names, node: ast.Exists) -> ir.Expr | None:
    word = "not" if node.negated else "exists"
    if isinstance(names, EntityScope):
        names.unit.report(mutation_expression.pattern(f"{word} {{ … }}", node.span))
        return None
    inner = names.inner()
    return ir.Exists(_block(inner, node.block, word, node.span), node.negated)


def _block_aggregate(names: Names, node: ast.BlockAggregate) -> ir.Expr | None:
    if isinstance(names, EntityScope):
        names.unit.report(mutation_expression.pattern(f"{node.func} {{ … }}", node.span))
        return None
    inner = names.inner()
    block = _block(inner, node.block, node.func.value, node.span)
    operand = None if node.operand is None else lower_operand(inner, node.operand)
    if node.operand is not None and operand is None:
        return None
    func = ir.AggregateFunc(node.func.value)
    dtype = fold_type(names.unit, func, operand, distinct=node.distinct, span=node.span)
    if dtype is None:
        return None
    folded = None if operand is None else operand.expr
    return ir.BlockAggregate(func, block, folded, node.distinct, dtype)


def _block(inner: PatternScope, items: tuple[ast.MatchItem, ...], word: str, span: Span) -> Block:
    found_before = len(inner.unit.findings)
    block = inner.lower_block(inner, items)
    # A block with a misspelled variable only looks isolated.
    if not inner.correlated and len(inner.unit.findings) == found_before:
        inner.unit.report(correlation.isolated(word, span))
    return block


def _text_call(names: Names, node: ast.TextCall) -> ir.Expr | None:
    if isinstance(names, EntityScope):
        names.unit.report(mutation_expression.pattern(f"{node.func}(…)", node.span))
        return None
    return lower_text_call(names, node)


def _aggregate(names: Names, node: ast.Aggregate) -> ir.Expr | None:
    names.unit.report(aggregate_place.misplaced(node.func.value, node.span))
    return None


_LOWERINGS: dict[type, Callable[[Any, Any], ir.Expr | None]] = {
    ast.Literal: lambda names, node: lower_literal(names.unit, node),
    ast.ListLiteral: lower_list,
    ast.Variable: lambda names, node: names.variable(node),
    ast.PropertyAccess: lambda names, node: names.access(node),
    ast.PropertyName: lambda names, node: names.bare(node),
    ast.AliasRef: lambda names, node: names.bare(node),
    ast.Now: lambda _names, _node: ir.Now(),
    ast.Comparison: _comparison,
    ast.Membership: _membership,
    ast.IsNull: _is_null,
    ast.Logical: _logical,
    ast.Not: _not,
    ast.Exists: _exists,
    ast.BlockAggregate: _block_aggregate,
    ast.TextCall: _text_call,
    ast.Aggregate: _aggregate,
}
