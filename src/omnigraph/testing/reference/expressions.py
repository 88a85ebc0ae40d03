"""Values of expressions on a row of a binding table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.ir.expressions import (
    Aggregate,
    And,
    BlockAggregate,
    Call,
    Case,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    EntityRef,
    Exists,
    InList,
    IsNull,
    ListContains,
    MakeList,
    Not,
    Now,
    Or,
    ParamRef,
    PropertyRef,
    Quantified,
    Quantifier,
    StringMatch,
    StringOp,
    TextFunc,
    TextMatch,
    ValueRef,
)
from omnigraph.testing.reference.aggregates import aggregate, aggregate_with
from omnigraph.testing.reference.functions import call, matches_whole, widen
from omnigraph.testing.reference.graph import Refused
from omnigraph.testing.reference.values import (
    conjunction,
    disjunction,
    equal,
    negation,
    order,
    typed,
)
from omnigraph.testing.reference.words import contains_any, contains_phrase, contains_similar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.ir.queries import Block
    from omnigraph.testing.reference.graph import Binding
    from omnigraph.testing.reference.scope import Scope

    Evaluate = Callable[[Any, Binding, Scope], Any]

__all__ = ["bind_blocks", "evaluates", "fold", "max_edits", "value"]

_EVALUATORS: dict[type, Evaluate] = {}
# The binding table of an inner block, from the module that evaluates blocks.
_BLOCKS: list[Callable[[Block, Binding, Scope], list[Binding]]] = []


def evaluates(*kinds: type) -> Callable[[Evaluate], Evaluate]:
    """Register the function that evaluates expressions of these classes."""

    def register(evaluate: Evaluate) -> Evaluate:
        _EVALUATORS.update(dict.fromkeys(kinds, evaluate))
        return evaluate

    return register


def bind_blocks(rows: Callable[[Block, Binding, Scope], list[Binding]]) -> None:
    """Register the evaluation of blocks."""
    _BLOCKS.append(rows)


def value(expr: Any, row: Binding, scope: Scope) -> Any:
    """Evaluate an expression on one row."""
    return _EVALUATORS[type(expr)](expr, row, scope)


def fold(expr: Aggregate | BlockAggregate, rows: Sequence[Binding], scope: Scope) -> Any:
    """Aggregate over rows; without an operand, count them."""
    if expr.operand is None:
        return len(rows)
    values = [value(expr.operand, row, scope) for row in rows]
    if expr.parameter is None:
        return aggregate(expr.func, values, distinct=expr.distinct)
    parameters = [value(expr.parameter, row, scope) for row in rows]
    return aggregate_with(expr.func, values, parameters, distinct=expr.distinct)


@evaluates(Aggregate)
def _aggregate(expr: Aggregate, _row: Binding, scope: Scope) -> Any:
    return fold(expr, scope.group, scope)


# --- operands ----------------------------------------------------------------------------------


@evaluates(Const)
def _const(expr: Const, _row: Binding, _scope: Scope) -> Any:
    return typed(expr.value, expr.dtype)


@evaluates(ParamRef)
def _param(expr: ParamRef, _row: Binding, scope: Scope) -> Any:
    return typed(scope.params[expr.name], expr.dtype)


@evaluates(Now)
def _now(_expr: Now, _row: Binding, scope: Scope) -> Any:
    return scope.now


@evaluates(PropertyRef)
def _property(expr: PropertyRef, row: Binding, _scope: Scope) -> Any:
    entity = row[expr.slot]
    return None if entity is None else entity.values[expr.prop]


@evaluates(EntityRef)
def _entity(expr: EntityRef, row: Binding, _scope: Scope) -> Any:
    return row[expr.slot]


@evaluates(MakeList)
def _list(expr: MakeList, row: Binding, scope: Scope) -> Any:
    return [value(item, row, scope) for item in expr.items]


@evaluates(ValueRef)
def _slot_value(expr: ValueRef, row: Binding, _scope: Scope) -> Any:
    return row[expr.slot]


@evaluates(Call)
def _call(expr: Call, row: Binding, scope: Scope) -> Any:
    return call(expr.func, expr.dtype, [value(arg, row, scope) for arg in expr.args])


@evaluates(Case)
def _case(expr: Case, row: Binding, scope: Scope) -> Any:
    for tested, result in expr.branches:
        if value(tested, row, scope) is True:
            return widen(value(result, row, scope), expr.dtype)
    if expr.otherwise is None:
        return None
    return widen(value(expr.otherwise, row, scope), expr.dtype)


@evaluates(Coalesce)
def _coalesce(expr: Coalesce, row: Binding, scope: Scope) -> Any:
    for arg in expr.args:
        found = value(arg, row, scope)
        if found is not None:
            return widen(found, expr.dtype)
    return None


@evaluates(Quantified)
def _quantified(expr: Quantified, row: Binding, scope: Scope) -> Any:
    items = value(expr.items, row, scope)
    if items is None:
        return None
    truths = [value(expr.condition, {**row, expr.item.slot: item}, scope) for item in items]
    if expr.kind is Quantifier.ALL:
        return conjunction(truths)
    found = disjunction(truths)
    return found if expr.kind is Quantifier.ANY else negation(found)


# --- logic -------------------------------------------------------------------------------------


@evaluates(And)
def _and(expr: And, row: Binding, scope: Scope) -> Any:
    return conjunction(value(operand, row, scope) for operand in expr.operands)


@evaluates(Or)
def _or(expr: Or, row: Binding, scope: Scope) -> Any:
    return disjunction(value(operand, row, scope) for operand in expr.operands)


@evaluates(Not)
def _not(expr: Not, row: Binding, scope: Scope) -> Any:
    return negation(value(expr.operand, row, scope))


@evaluates(IsNull)
def _is_null(expr: IsNull, row: Binding, scope: Scope) -> Any:
    is_null = value(expr.operand, row, scope) is None
    return not is_null if expr.negated else is_null


# --- comparisons -------------------------------------------------------------------------------

_HOLDS = {
    CompareOp.EQ: {0},
    CompareOp.NE: {-1, 1},
    CompareOp.LT: {-1},
    CompareOp.LE: {-1, 0},
    CompareOp.GT: {1},
    CompareOp.GE: {0, 1},
}


@evaluates(Compare)
def _compare(expr: Compare, row: Binding, scope: Scope) -> Any:
    left, right = value(expr.left, row, scope), value(expr.right, row, scope)
    if left is None or right is None:
        return None
    return order(left, right) in _HOLDS[expr.op]


@evaluates(InList)
def _in_list(expr: InList, row: Binding, scope: Scope) -> Any:
    return _is_among(value(expr.item, row, scope), value(expr.options, row, scope))


@evaluates(ListContains)
def _list_contains(expr: ListContains, row: Binding, scope: Scope) -> Any:
    return _is_among(value(expr.item, row, scope), value(expr.items, row, scope))


def _is_among(item: Any, options: Any) -> bool | None:
    if item is None or options is None:
        return None
    return disjunction(equal(item, option) for option in options)


@evaluates(StringMatch)
def _string_match(expr: StringMatch, row: Binding, scope: Scope) -> Any:
    text, part = value(expr.haystack, row, scope), value(expr.needle, row, scope)
    if text is None or part is None:
        return None
    if expr.op is StringOp.MATCHES:
        return matches_whole(text, part)
    if expr.op is StringOp.ENDS_WITH:
        return len(part) <= len(text) and text[len(text) - len(part) :] == part
    starts = [at for at in range(len(text) + 1) if text[at : at + len(part)] == part]
    return 0 in starts if expr.op is StringOp.STARTS_WITH else starts != []


# --- text --------------------------------------------------------------------------------------


@evaluates(TextMatch)
def _text_match(expr: TextMatch, row: Binding, scope: Scope) -> Any:
    text, query = value(expr.target, row, scope), value(expr.query, row, scope)
    if text is None or query is None:
        return None
    match expr.func:
        case TextFunc.SEARCH:
            return contains_any(text, query)
        case TextFunc.MATCH_TEXT:
            return contains_phrase(text, query)
        case TextFunc.FUZZY:
            return contains_similar(text, query, max_edits(expr, scope))


def max_edits(expr: TextMatch, scope: Scope) -> int:
    """The number of edits that a fuzzy match allows: 1 or 2, and 2 if none is given."""
    given = None if expr.max_edits is None else value(expr.max_edits, {}, scope)
    if given not in (None, 1, 2):
        raise Refused("search.edits")
    return 2 if given is None else int(given)


# --- blocks ------------------------------------------------------------------------------------


@evaluates(Exists)
def _exists(expr: Exists, row: Binding, scope: Scope) -> Any:
    rows = _BLOCKS[0](expr.block, row, scope)
    return (rows == []) if expr.negated else (rows != [])


@evaluates(BlockAggregate)
def _block_aggregate(expr: BlockAggregate, row: Binding, scope: Scope) -> Any:
    return fold(expr, _BLOCKS[0](expr.block, row, scope), scope)
