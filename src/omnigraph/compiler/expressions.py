"""Expressions: from syntax to typed IR, bottom up.

Lowering answers None where something is wrong and was reported; whatever holds such an expression
is None too and stays silent, so that one mistake is one finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import TypeId
from omnigraph.compiler.aggregates import Folded, fold_type
from omnigraph.compiler.calls import (
    arithmetic,
    call,
    case,
    cast,
    coalesce,
    compared_branch,
    element,
    negation,
    shift,
    slice_of,
)
from omnigraph.compiler.comparisons import (
    compare,
    is_in,
    is_in_items,
    is_null,
    string_or_list_match,
)
from omnigraph.compiler.constants import lower_literal, make_list
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import (
    aggregate_place,
    condition,
    constant_argument,
    function_argument,
    item_variable,
    list_items,
    mutation_expression,
    nesting,
)
from omnigraph.compiler.scope import EntityScope, Names
from omnigraph.compiler.search import lower_text_call
from omnigraph.datatypes.types import STRING, ListType, ScalarType
from omnigraph.ir import expressions as ir
from omnigraph.ir.walk import aggregates
from omnigraph.language.gq import ast
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable


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


def lower_items(names: Names, node: ast.ListLiteral) -> list[TypedOperand] | None:
    """The items of a list, each with its own type."""
    items = []
    for item in node.items:
        operand = lower_operand(names, item)
        if operand is not None and not names.unit.fails(list_items.check_value(operand)):
            items.append(operand)
    return items if len(items) == len(node.items) else None


def _list(names: Names, node: ast.ListLiteral) -> ir.MakeList | None:
    """A list whose item type follows from its items alone; an empty one holds strings."""
    items = lower_items(names, node)
    if items is None:
        return None
    for item in items:
        if names.unit.fails(list_items.check_item(items[0], item)):
            return None
    return make_list(items)


# --- operators and calls -----------------------------------------------------------------------


def _arithmetic(names: Names, node: ast.Arithmetic) -> ir.Expr | None:
    sums = (ast.ArithmeticOp.ADD, ast.ArithmeticOp.SUBTRACT)
    if isinstance(node.right, ast.Duration) and node.op in sums:
        value = lower_operand(names, node.left)
        sign = 1 if node.op is ast.ArithmeticOp.ADD else -1
        if value is None:
            return None
        return shift(names.unit, value, node.right, sign=sign, span=node.span)
    left = lower_operand(names, node.left)
    right = lower_operand(names, node.right)
    if left is None or right is None:
        return None
    return arithmetic(names.unit, node.op, left, right, span=node.span)


def _duration(names: Names, node: ast.Duration) -> None:
    names.unit.report(constant_argument.loose_duration(node.span))


def _negation(names: Names, node: ast.Negation) -> ir.Expr | None:
    operand = lower_operand(names, node.operand)
    return None if operand is None else negation(names.unit, operand)


def _function(names: Names, node: ast.FunctionCall) -> ir.Expr | None:
    if node.name in ("id", "type"):
        return _of_entity(names, node)
    args = [lower_operand(names, arg) for arg in node.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    if node.name == "coalesce":
        return coalesce(names.unit, node, known)
    return call(names.unit, node, known)


def _of_entity(names: Names, node: ast.FunctionCall) -> ir.Expr | None:
    """``id($x)`` and ``type($x)``."""
    if len(node.args) != 1:
        found = function_argument.wrong_count(node.name, 1, 1, len(node.args), node.span)
        names.unit.report(found)
        return None
    operand = lower_operand(names, node.args[0])
    if operand is None:
        return None
    if not isinstance(operand.expr, ir.EntityRef):
        names.unit.report(function_argument.misfit(node.name, "a node or an edge", operand))
        return None
    entity = operand.expr
    if node.name == "id":
        return ir.PropertyRef(entity.slot, "@id", STRING, entity.nullable)
    if entity.nullable:
        known = ir.IsNull(ir.PropertyRef(entity.slot, "@id", STRING, nullable=True), negated=True)
        name = ir.Const(names.unit.catalog.types[TypeId(entity.type_id)].name, STRING)
        return ir.Case(((known, name),), None, STRING)
    return ir.Const(names.unit.catalog.types[TypeId(entity.type_id)].name, STRING)


def _cast(names: Names, node: ast.Cast) -> ir.Expr | None:
    operand = lower_operand(names, node.operand)
    return None if operand is None else cast(names.unit, node, operand)


def _case(names: Names, node: ast.Case) -> ir.Expr | None:
    operand = None if node.operand is None else lower_operand(names, node.operand)
    branches = []
    for tested, result in node.branches:
        condition = _branch_condition(names, node, operand, tested)
        value = lower_operand(names, result)
        if condition is not None and value is not None:
            branches.append((condition, value))
    otherwise = None if node.otherwise is None else lower_operand(names, node.otherwise)
    if len(branches) < len(node.branches) or (otherwise is None and node.otherwise is not None):
        return None
    return case(names.unit, branches, otherwise)


def _branch_condition(
    names: Names, node: ast.Case, operand: TypedOperand | None, tested: ast.Expr
) -> ir.Expr | None:
    if node.operand is None:
        return lower_condition(names, tested)
    value = lower_operand(names, tested)
    if operand is None or value is None:
        return None
    return compared_branch(names.unit, operand, value)


def _index(names: Names, node: ast.Index) -> ir.Expr | None:
    items, index = lower_operand(names, node.items), lower_operand(names, node.index)
    return None if items is None or index is None else element(names.unit, items, index)


def _slice(names: Names, node: ast.Slice) -> ir.Expr | None:
    items = lower_operand(names, node.items)
    ends = [None if end is None else lower_operand(names, end) for end in (node.low, node.high)]
    written = [end is not None for end in (node.low, node.high)]
    if items is None or any(
        end is None and given for end, given in zip(ends, written, strict=True)
    ):
        return None
    return slice_of(names.unit, items, *ends)


def _quantifier(names: Names, node: ast.Quantifier) -> ir.Expr | None:
    items = lower_operand(names, node.items)
    if items is None:
        return None
    if not isinstance(items.dtype, ListType):
        names.unit.report(function_argument.misfit(node.kind.value, "a list", items))
        return None
    if names.knows(node.variable):
        names.unit.report(item_variable.taken(node.variable, node.variable_span))
        return None
    held = ScalarType(items.dtype.item)
    item = ir.ValueSlot(names.unit.new_slot(), held, nullable=True, name=node.variable)
    with names.binding(item):
        condition = lower_condition(names, node.condition)
    if condition is None:
        return None
    return ir.Quantified(ir.Quantifier(node.kind.value), item, items.expr, condition)


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
    return ir.Exists(inner.lower_block(inner, node.block), node.negated)


def _block_aggregate(names: Names, node: ast.BlockAggregate) -> ir.Expr | None:
    if isinstance(names, EntityScope):
        names.unit.report(mutation_expression.pattern(f"{node.func} {{ … }}", node.span))
        return None
    inner = names.inner()
    block = inner.lower_block(inner, node.block)
    operand = None if node.operand is None else lower_operand(inner, node.operand)
    parameter = None if node.parameter is None else lower_operand(inner, node.parameter)
    parts = ((node.operand, operand), (node.parameter, parameter))
    if any(given is not None and lowered is None for given, lowered in parts):
        return None
    func = ir.AggregateFunc(node.func.value)
    folded = Folded(func, operand, parameter, distinct=node.distinct, span=node.span)
    dtype = fold_type(names.unit, folded)
    if dtype is None:
        return None
    key = None if parameter is None else parameter.expr
    value = None if operand is None else operand.expr
    return ir.BlockAggregate(func, block, value, node.distinct, dtype, key)


def _text_call(names: Names, node: ast.TextCall) -> ir.Expr | None:
    if isinstance(names, EntityScope):
        names.unit.report(mutation_expression.pattern(f"{node.func}(…)", node.span))
        return None
    return lower_text_call(names, node, lower_expression)


def _aggregate(names: Names, node: ast.Aggregate) -> ir.Expr | None:
    """An aggregate over rows of the result, a part of a column or a sort key."""
    if isinstance(names, EntityScope) or names.aliases is None or names.folding:
        names.unit.report(aggregate_place.misplaced(node.func.value, node.span))
        return None
    names.folding = True
    operand = None if node.operand is None else lower_operand(names, node.operand)
    parameter = None if node.parameter is None else lower_operand(names, node.parameter)
    names.folding = False
    parts = ((node.operand, operand), (node.parameter, parameter))
    if any(given is not None and lowered is None for given, lowered in parts):
        return None
    for part in (operand, parameter):
        # An alias stood for it.
        nested = () if part is None else aggregates(part.expr)
        if part is not None and nested:
            names.unit.report(aggregate_place.misplaced(nested[0].func.value, part.span))
            return None
    func = ir.AggregateFunc(node.func.value)
    folded = Folded(func, operand, parameter, distinct=node.distinct, span=node.span)
    dtype = fold_type(names.unit, folded)
    if dtype is None:
        return None
    key = None if parameter is None else parameter.expr
    return ir.Aggregate(func, operand.expr if operand else None, node.distinct, dtype, key)


_LOWERINGS: dict[type, Callable[[Any, Any], ir.Expr | None]] = {
    ast.Literal: lambda names, node: lower_literal(names.unit, node),
    ast.ListLiteral: _list,
    ast.Variable: lambda names, node: names.variable(node),
    ast.PropertyAccess: lambda names, node: names.access(node),
    ast.PropertyName: lambda names, node: names.bare(node),
    ast.AliasRef: lambda names, node: names.bare(node),
    ast.Now: lambda _names, _node: ir.Now(),
    ast.Duration: _duration,
    ast.Arithmetic: _arithmetic,
    ast.Negation: _negation,
    ast.FunctionCall: _function,
    ast.Cast: _cast,
    ast.Case: _case,
    ast.Index: _index,
    ast.Slice: _slice,
    ast.Quantifier: _quantifier,
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
