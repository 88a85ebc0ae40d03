"""Search functions: text predicates, scores, and the fusion of two rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.constants import lower_constant, lower_vector
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import (
    edge_variable,
    rank_fusion,
    search_operands,
    text_ranking,
    token_search,
    vector_search,
)
from omnigraph.datatypes.types import I64
from omnigraph.ir import expressions as ir
from omnigraph.ir.walk import blocks, slots_read
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.compiler.rules.rule import Rule
    from omnigraph.compiler.scope import PatternScope

    _Lower = Callable[[PatternScope, ast.Expr], ir.Expr | None]

__all__ = ["lower_text_call"]

_RULES: dict[ast.TextFunc, Rule] = {
    ast.TextFunc.SEARCH: token_search.RULE,
    ast.TextFunc.FUZZY: token_search.RULE,
    ast.TextFunc.MATCH_TEXT: text_ranking.RULE,
    ast.TextFunc.BM25: text_ranking.RULE,
    ast.TextFunc.NEAREST: vector_search.RULE,
}
_PREDICATES = {
    ast.TextFunc.SEARCH: ir.TextFunc.SEARCH,
    ast.TextFunc.FUZZY: ir.TextFunc.FUZZY,
    ast.TextFunc.MATCH_TEXT: ir.TextFunc.MATCH_TEXT,
}
_SCORES = {
    ast.TextFunc.NEAREST: ir.ScoreFunc.NEAREST,
    ast.TextFunc.BM25: ir.ScoreFunc.BM25,
}
_DEFAULT_EDITS = ir.Const(2, I64)
_DEFAULT_K = ir.Const(60, I64)


def lower_text_call(
    scope: PatternScope,
    node: ast.TextCall,
    lower: _Lower,
) -> ir.Expr | None:
    """A text predicate (Bool) or a score (F64); ``lower`` lowers the searched text."""
    if node.func is ast.TextFunc.RRF:
        return _lower_fusion(scope, node, lower)
    if node.func in _PREDICATES:
        return _lower_predicate(scope, node, lower)
    return _lower_score(scope, node, lower)


def _lower_predicate(scope: PatternScope, node: ast.TextCall, lower: _Lower) -> ir.TextMatch | None:
    fuzzy = node.func is ast.TextFunc.FUZZY
    operands = _lower_operands(scope, node, lower, most=3 if fuzzy else 2)
    edits = _lower_edits(scope, node) if fuzzy else None
    if operands is None or (fuzzy and edits is None):
        return None
    return ir.TextMatch(_PREDICATES[node.func], *operands, max_edits=edits)


def _lower_score(scope: PatternScope, node: ast.TextCall, lower: _Lower) -> ir.Score | None:
    operands = _lower_operands(scope, node, lower, most=2)
    return None if operands is None else ir.Score(_SCORES[node.func], *operands)


def _lower_fusion(scope: PatternScope, node: ast.TextCall, lower: _Lower) -> ir.RankFusion | None:
    if scope.aliases is None:
        scope.unit.report(rank_fusion.misplaced(node.span))
        return None
    rankings = [
        arg for arg in node.args[:2] if isinstance(arg, ast.TextCall) and arg.func in _SCORES
    ]
    if len(rankings) < 2 or len(node.args) > 3:
        scope.unit.report(rank_fusion.no_rankings(node.span))
        return None
    first, second = (_lower_score(scope, ranking, lower) for ranking in rankings)
    k = _lower_k(scope, node)
    if first is None or second is None or k is None:
        return None
    return ir.RankFusion((first, second), k)


# --- operands ----------------------------------------------------------------------------------


def _lower_operands(
    scope: PatternScope, node: ast.TextCall, lower: _Lower, *, most: int
) -> tuple[ir.PropertyRef, ir.Expr] | None:
    """The searched property of a node, and what is looked for."""
    rule, func = _RULES[node.func], node.func.value
    if not 2 <= len(node.args) <= most:
        scope.unit.report(search_operands.wrong_arguments(rule, func, node.span))
        return None
    target = _lower_target(scope, node, rule)
    query = _lower_query(scope, node, rule, lower)
    if target is None or query is None:
        return None
    if node.func is ast.TextFunc.NEAREST:
        found = vector_search.check(target, query)
    else:
        found = search_operands.check_text(rule, func, target, query)
    if scope.unit.fails(found):
        return None
    assert isinstance(target.expr, ir.PropertyRef)  # noqa: S101 - narrowing; _lower_target made it
    return target.expr, query.expr


def _lower_target(scope: PatternScope, node: ast.TextCall, rule: Rule) -> TypedOperand | None:
    arg = node.args[0]
    if not isinstance(arg, ast.PropertyAccess):
        scope.unit.report(search_operands.no_property(rule, node.func.value, arg.span))
        return None
    variable = scope.find(arg.variable)
    if variable is not None and variable.is_edge:
        scope.unit.report(edge_variable.searched(node.func.value, arg.span))
        return None
    target = scope.access(arg)
    return None if target is None else TypedOperand(target, arg.span)


def _lower_query(
    scope: PatternScope, node: ast.TextCall, rule: Rule, lower: _Lower
) -> TypedOperand | None:
    """Lower the searched text or vector; it must be the same in every row."""
    arg = node.args[1]
    if isinstance(arg, ast.ListLiteral):
        expr: ir.Expr | None = lower_vector(scope.unit, arg)
    else:
        expr = lower(scope, arg)
    if expr is None:
        return None
    if slots_read(expr) or next(blocks(expr), None) is not None or isinstance(expr, ir.Now):
        scope.unit.report(search_operands.varying(rule, node.func.value, arg.span))
        return None
    return TypedOperand(expr, arg.span)


def _lower_edits(scope: PatternScope, node: ast.TextCall) -> ir.Expr | None:
    if len(node.args) < 3:
        return _DEFAULT_EDITS
    edits = _lower_number(scope, node.args[2])
    return (
        None if edits is None or scope.unit.fails(token_search.check_edits(edits)) else edits.expr
    )


def _lower_k(scope: PatternScope, node: ast.TextCall) -> ir.Expr | None:
    if len(node.args) < 3:
        return _DEFAULT_K
    k = _lower_number(scope, node.args[2])
    return None if k is None or scope.unit.fails(rank_fusion.check_k(k)) else k.expr


def _lower_number(scope: PatternScope, node: ast.Expr) -> TypedOperand | None:
    expr = lower_constant(scope, node)
    return None if expr is None else TypedOperand(expr, node.span)
