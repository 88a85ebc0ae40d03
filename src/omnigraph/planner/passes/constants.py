"""Conditions as simple as they can be: no double negations, no constants, one conjunction.

The rules hold in the logic of three truths. A negation moves inwards until it meets something that
has no opposite of its own.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import BOOL, FLOATS, ScalarType
from omnigraph.ir.expressions import (
    And,
    BlockAggregate,
    Compare,
    CompareOp,
    Const,
    Exists,
    IsNull,
    Not,
    Or,
)
from omnigraph.ir.queries import Block
from omnigraph.planner.rewrite import change_blocks, rewrite
from omnigraph.runtime.cancellation import checkpoint
from omnigraph.semantics.domain import OPPOSITES

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.ir.expressions import Expr
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["FALSE", "TRUE", "fold_constants", "simplify"]

TRUE = Const(True, BOOL)  # noqa: FBT003 - the constant itself
FALSE = Const(False, BOOL)  # noqa: FBT003 - the constant itself
_NULL = Const(None, BOOL)

_OPERATORS: dict[CompareOp, Callable[[Any, Any], bool]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
}


def fold_constants(plan: Plan, _: PlannerStatistics) -> Plan:
    """Simplify every condition of every block."""
    return replace(plan, root=change_blocks(plan.root, _simplified))


def _simplified(block: Block) -> Block:
    filters: list[Expr] = []
    for condition in block.filters:
        simple = simplify(condition)
        filters += simple.operands if isinstance(simple, And) else [simple]
    if any(_is_never(condition) for condition in filters):
        return replace(block, filters=(FALSE,))
    kept = tuple(condition for condition in filters if condition != TRUE)
    return block if kept == block.filters else replace(block, filters=kept)


def _is_never(condition: Expr) -> bool:
    return condition in (FALSE, _NULL)


def simplify(expr: Expr) -> Expr:
    """An equal condition, simpler if there is one."""
    checkpoint()
    match expr:
        case Not(operand):
            return _negated(operand)
        case And(operands):
            return _joined(operands, And, decides=FALSE, means_nothing=TRUE)
        case Or(operands):
            return _joined(operands, Or, decides=TRUE, means_nothing=FALSE)
        case Compare(op, Const() as left, Const() as right):
            return _compared(op, left, right)
        case Compare(_, Const(value=None), _) | Compare(_, _, Const(value=None)):
            return _NULL
        case IsNull(Const(value=value), negated):
            return TRUE if (value is None) != negated else FALSE
        case _:
            return _with_simple_blocks(expr)


def _negated(expr: Expr) -> Expr:
    match expr:
        case Not(operand):
            return simplify(operand)
        case And(operands) | Or(operands):
            other = Or if isinstance(expr, And) else And
            return simplify(other(tuple(Not(part) for part in operands)))
        case Compare(op, left, right):
            return simplify(Compare(OPPOSITES[op], left, right))
        case IsNull(negated=negated) | Exists(negated=negated):
            return simplify(replace(expr, negated=not negated))
        case Const(value=value):
            return _NULL if value is None else FALSE if value else TRUE
        case _:
            return Not(simplify(expr))


def _joined(
    operands: tuple[Expr, ...], kind: type[And | Or], *, decides: Const, means_nothing: Const
) -> Expr:
    parts: list[Expr] = []
    for operand in operands:
        part = simplify(operand)
        parts += part.operands if isinstance(part, kind) else [part]
    if decides in parts:
        return decides
    kept = tuple(part for part in parts if part != means_nothing)
    if len(kept) <= 1:
        return kept[0] if kept else means_nothing
    return kind(kept)


def _compared(op: CompareOp, left: Const, right: Const) -> Expr:
    if left.value is None or right.value is None:
        return _NULL
    # Floats of two widths meet only when the query runs.
    floats = any(
        isinstance(each.dtype, ScalarType) and each.dtype.scalar in FLOATS for each in (left, right)
    )
    if floats or type(left.value) is not type(right.value):
        return Compare(op, left, right)
    return TRUE if _OPERATORS[op](left.value, right.value) else FALSE


def _with_simple_blocks(expr: Expr) -> Expr:
    """The expression with its outermost blocks simplified, and by them the blocks inside: visiting
    those once more from here would double the work at every level."""
    return rewrite(expr, _simplify_block, whole=Block)


def _simplify_block(node: object) -> object:
    if isinstance(node, Exists | BlockAggregate):
        block = _simplified(node.block)
        return node if block is node.block else replace(node, block=block)
    return node
