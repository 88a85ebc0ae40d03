"""Aggregates over a factorised product: each component is grouped and folded by itself, and every
fold is multiplied by the number of rows of the other components."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.operators.grouping import (
    Grouping,
    group_rows,
    key_codes,
    key_values,
    partial_fold_rows,
)
from omnigraph.executor.rows.bindings import Bindings
from omnigraph.executor.rows.keys import packed, packed_alike
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import AggregateFunc, EntityRef, type_of
from omnigraph.ir.walk import slots_read
from omnigraph.planner.plan import counts_rows
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.multiplicities import multiplied, product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Aggregate, BlockAggregate, Expr, Slot
    from omnigraph.planner import plan
    from omnigraph.semantics.columns.multiplicities import Multiplicity

    Ints = npt.NDArray[np.int64]

__all__ = ["apply_product", "group_product"]


@frozen
class _Factor:
    """The rows of a component, its groups, their sizes, and for each group of the product the group
    of the component in it."""

    rows: Bindings
    grouping: Grouping
    sizes: Ints
    places: Ints

    @property
    def is_whole(self) -> bool:
        """Whether every group of the product has all rows of the component."""
        return self.grouping.count == 1

    def reads(self, expr: Expr | None) -> bool:
        return slots_read((expr,)) <= self.rows.columns.keys()

    def key_rows(self) -> Bindings:
        """A row of each group."""
        return self.rows.take(self.grouping.first)


# --- groups of a query ---


def group_product(node: plan.Group, product: plan.Product, run: PlanRun, given: Given) -> Bindings:
    """One row per combination of groups of the components, in the order of the keys."""
    parts = _component_rows(product, run, given)
    if parts is None:
        return _no_groups(node)
    factors = _combined([_grouped(node.keys, rows, run) for rows in parts], node, run)
    count = len(factors[0].places)
    computed = {id(fold): _folded(fold, factors, run) for fold in node.folds}
    columns = {}
    for expr in node.keys:
        factor = _owner(expr, factors)
        if isinstance(expr, EntityRef):
            columns[expr.slot] = factor.key_rows().columns[expr.slot][factor.places]
        else:
            computed[id(expr)] = key_values(expr, factor.key_rows(), run).take(factor.places)
    return Bindings(count, columns, computed)


def _component_rows(product: plan.Product, run: PlanRun, given: Given) -> list[Bindings] | None:
    """The rows of each component; None if one of them has none, as then the product has none."""
    parts: list[Bindings] = []
    for part in product.parts:
        parts.append(run.rows(part, given))
        if not parts[-1].count:
            break
    count = math.prod(rows.count for rows in parts)
    if run.profile is not None:
        run.profile.note_within(product, count, 0.0, 0)
    return parts if count else None


def _grouped(keys: Sequence[Expr], rows: Bindings, run: PlanRun) -> _Factor:
    own = [key for key in keys if slots_read(key) <= rows.columns.keys()]
    found = group_rows(own, rows, run)
    sizes = np.bincount(found.groups) if own else np.array([rows.count])
    return _Factor(rows, found, sizes, np.arange(found.count))


def _combined(factors: Sequence[_Factor], node: plan.Group, run: PlanRun) -> list[_Factor]:
    """Every combination of the groups of the components, in the order of the keys."""
    shape = [factor.grouping.count for factor in factors]
    count = math.prod(shape)
    # Held before they are made: small components may have many combinations of groups.
    run.context.meter.hold(8 * count * (len(factors) + len(node.keys) + len(node.folds)))
    places = np.unravel_index(np.arange(count), shape)
    combined = [
        replace(factor, places=np.asarray(own, np.int64))
        for factor, own in zip(factors, places, strict=True)
    ]
    if sum(not factor.is_whole for factor in combined) <= 1:
        return combined
    codes = []
    for expr in node.keys:
        factor = _owner(expr, combined)
        codes.append(key_codes(expr, factor.key_rows(), run)[factor.places])
    order = np.argsort(packed(codes, count))
    return [replace(factor, places=factor.places[order]) for factor in combined]


def _no_groups(node: plan.Group) -> Bindings:
    """The groups of no rows: none, or without keys one whose folds are empty."""
    count = 0 if node.keys or not node.folds else 1
    computed = {id(fold): _empty_folds(fold, count) for fold in node.folds}
    columns = {}
    for expr in node.keys:
        if isinstance(expr, EntityRef):
            columns[expr.slot] = np.empty(0, np.int64)
        else:
            dtype = type_of(expr)
            none = pa.array([], pa.null() if dtype is None else arrow_type(dtype))
            computed[id(expr)] = Vector(Column(none))
    return Bindings(count, columns, computed)


# --- blocks ---


def apply_product(
    expr: BlockAggregate, product: plan.Product, rows: Bindings, run: PlanRun, given: Given
) -> Vector:
    """The value of a block for each row, which has the outer slots alone.

    Components are matched with outer rows by the outer slots that they have; an outer row without a
    match in one of them has no inner rows.
    """
    parts = _component_rows(product, run, given)
    if parts is None or not rows.count:
        return _empty_folds(expr, rows.count)
    found = [_matched(part, rows, run) for part in parts]
    matches = np.logical_and.reduce([factor.places >= 0 for factor in found])
    kept = np.flatnonzero(matches)
    # Each combination of groups is folded once, however many outer rows have it.
    key = packed([factor.places[kept] for factor in found], len(kept))
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    chosen = kept[first]
    factors = [replace(factor, places=factor.places[chosen]) for factor in found]
    folded = _folded(expr, factors, run).arrow()
    places = np.zeros(rows.count, np.int64)
    places[kept] = which
    return _or_empty(expr, folded.take(pa.array(places, mask=~matches)))


def _matched(part: Bindings, outer: Bindings, run: PlanRun) -> _Factor:
    """A component grouped by its outer slots, and the group of each outer row; -1: none."""
    shared = [slot for slot in outer.columns if slot in part.columns]
    if not shared:
        places = np.zeros(outer.count, np.int64)
        return _Factor(part, group_rows((), part, run), np.array([part.count]), places)
    counts = (outer.count, part.count)
    mine, theirs = packed_alike(_columns(outer, shared), _columns(part, shared), counts)
    known, first, groups = np.unique(theirs, return_index=True, return_inverse=True)
    grouping = Grouping(groups.astype(np.int64), len(known), first)
    places = np.minimum(np.searchsorted(known, mine), len(known) - 1)
    places = np.where(known[places] == mine, places, -1)
    sizes = np.bincount(grouping.groups, minlength=len(known))
    return _Factor(part, grouping, sizes, places)


def _columns(rows: Bindings, slots: Sequence[Slot]) -> list[Ints]:
    return [rows.columns[slot] for slot in slots]


# --- folds ---


def _folded(fold: Aggregate | BlockAggregate, factors: Sequence[_Factor], run: PlanRun) -> Vector:
    """An aggregate for each group of the product."""
    if counts_rows(fold):
        first = factors[0]
        counts = multiplied(first.sizes[first.places], _times(factors[1:]))
        return Vector(Column(pa.array(counts, pa.int64())))
    owner = _owner(fold.operand, factors)
    own = owner.grouping
    partial = partial_fold_rows(fold, owner.rows, run, groups=own.groups, count=own.count)
    return partial.result(owner.places, _times([each for each in factors if each is not owner]))


def _times(others: Sequence[_Factor]) -> Multiplicity:
    """The number of rows of other components beside each row of a component."""
    whole = math.prod(each.rows.count for each in others if each.is_whole)
    return product_of(whole, [each.sizes[each.places] for each in others if not each.is_whole])


def _owner(expr: Expr | None, factors: Sequence[_Factor]) -> _Factor:
    """The component that an expression reads; the first one for a constant."""
    return next(factor for factor in factors if factor.reads(expr))


def _empty_folds(fold: Aggregate | BlockAggregate, count: int) -> Vector:
    return _or_empty(fold, pa.nulls(count, arrow_type(fold.dtype)))


def _or_empty(fold: Aggregate | BlockAggregate, values: pa.Array) -> Vector:
    """Values with those of groups of no rows: a count is 0, every other aggregate is NULL."""
    return Vector(Column(values.fill_null(0) if fold.func is AggregateFunc.COUNT else values))
