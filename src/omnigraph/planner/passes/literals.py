"""Numbers brought into the domain of the integer column that they are compared with.

``i32 = 2.7`` is false, ``i32 < 3e9`` is true of every value, ``i32 < 2.7`` is ``i32 < 3``. The
compiler has fitted literals where that loses nothing; what is left has an answer of its own.
Parameters are fitted when they are bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import INTEGER_RANGES, ScalarType
from omnigraph.ir.expressions import And, Compare, CompareOp, Const, IsNull, Or, PropertyRef
from omnigraph.planner.passes.constants import FALSE, simplify
from omnigraph.planner.rewrite import change_blocks
from omnigraph.semantics.domain import MIRRORED, fit_integer

if TYPE_CHECKING:
    from omnigraph.ir.expressions import Expr
    from omnigraph.ir.queries import Block
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["fit_literals"]


def fit_literals(plan: Plan, _: PlannerStatistics) -> Plan:
    """Fit the literals of every block that has yet to be planned."""
    return replace(plan, root=change_blocks(plan.root, _fitted_block))


def _fitted_block(block: Block) -> Block:
    filters = tuple(_fitted(condition) for condition in block.filters)
    if all(new is old for new, old in zip(filters, block.filters, strict=True)):
        return block
    return replace(block, filters=filters)


def _fitted(expr: Expr) -> Expr:
    """Only where a row passes by being true: unknown and false are the same there."""
    match expr:
        case And(operands):
            return _fitted_all(expr, operands)
        case Or(operands):
            return _fitted_all(expr, operands)
        case Compare(op, PropertyRef() as ref, Const() as literal):
            return _fitted_compare(expr, op, ref, literal)
        case Compare(op, Const() as literal, PropertyRef() as ref):
            return _fitted_compare(expr, MIRRORED[op], ref, literal)
        case _:
            return expr


def _fitted_all(expr: And | Or, operands: tuple[Expr, ...]) -> Expr:
    fitted = tuple(_fitted(part) for part in operands)
    if all(new is old for new, old in zip(fitted, operands, strict=True)):
        return expr
    return simplify(replace(expr, operands=fitted))


def _fitted_compare(expr: Expr, op: CompareOp, ref: PropertyRef, literal: Const) -> Expr:
    dtype, value = ref.dtype, literal.value
    if not isinstance(dtype, ScalarType) or dtype.scalar not in INTEGER_RANGES:
        return expr
    if literal.dtype == dtype or isinstance(value, bool) or not isinstance(value, int | float):
        return expr
    fitted = fit_integer(op, value, dtype.scalar)
    if isinstance(fitted, bool):
        return IsNull(ref, negated=True) if fitted else FALSE
    return Compare(op, ref, Const(fitted, dtype))
