"""Columns that mix aggregates with grouping columns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.compiler.rules import mixed_aggregate
from omnigraph.ir import expressions as ir
from omnigraph.ir.walk import aggregates, slots_read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.compiler.unit import CompilationUnit

    Keys = Mapping[ir.Expr, ir.Expr]

__all__ = ["replace_keys", "with_keys"]

_Tree = TypeVar("_Tree")
_VALUES = (ir.PropertyRef, ir.EntityRef, ir.ValueRef, ir.Exists, ir.BlockAggregate)


def with_keys(
    unit: CompilationUnit, column: TypedOperand, keys: Keys, *, always: bool = False
) -> ir.Expr:
    """The column with its grouping columns as they stand alone; reports any other value.

    ``always``: of a condition on groups, whether or not it has an aggregate."""
    if not always and not aggregates(column.expr):
        return column.expr
    grouped = replace_keys(column.expr, keys)
    if _reads_ungrouped(grouped, keys):
        unit.report(mixed_aggregate.ungrouped(column.span))
    return grouped


def replace_keys(tree: _Tree, keys: Keys) -> _Tree:
    """The same expression with the very objects of the keys, which the groups have values for."""
    found: Any = _replaced(tree, keys)
    return found  # type: ignore[no-any-return]  # an expression for an expression


def _replaced(tree: Any, keys: Keys) -> Any:
    if isinstance(tree, ir.Aggregate):
        return tree
    if isinstance(tree, tuple):
        return tuple(_replaced(part, keys) for part in tree)
    if not is_dataclass(tree):
        return tree
    node: Any = tree
    if slots_read(node) and (known := keys.get(node)) is not None:
        return known
    return replace(node, **{f.name: _replaced(getattr(node, f.name), keys) for f in fields(node)})


def _reads_ungrouped(expr: Any, keys: Keys) -> bool:
    """Whether the expression reads a slot outside of aggregates and keys."""
    if isinstance(expr, ir.Aggregate) or not slots_read(expr):
        return False
    if isinstance(expr, tuple):
        return any(_reads_ungrouped(part, keys) for part in expr)
    if expr in keys:
        return False
    if isinstance(expr, _VALUES):
        return True
    return any(_reads_ungrouped(getattr(expr, each.name), keys) for each in fields(expr))
