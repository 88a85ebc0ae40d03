"""Expressions that evaluate their parts for some of the rows, or for the items of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.rows.bindings import slot_key
from omnigraph.ir.expressions import Quantifier
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.truth import Truth

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.datatypes.types import DataType
    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.ir.expressions import Case, Coalesce, Expr, Quantified

    Ints = npt.NDArray[np.int64]

__all__ = ["first_present", "quantify", "take_branches"]


class ExpressionEvaluator(Protocol):
    """Evaluates parts of an expression."""

    def vector(self, expr: Expr, rows: Bindings) -> Vector:
        """A value for each row."""
        ...

    def truth(self, expr: Expr, rows: Bindings) -> Truth:
        """The truth of a condition for each row."""
        ...


class _PartialResults:
    """Values of some rows at a time, put together at the end."""

    def __init__(self, evaluator: ExpressionEvaluator, rows: Bindings, dtype: DataType) -> None:
        self._evaluator = evaluator
        self._rows = rows
        self._target = arrow_type(dtype)
        self._places: list[Ints] = []
        self._arrays: list[pa.Array] = []
        self.rest = np.arange(rows.count)

    def evaluate(self, expr: Expr, places: Ints) -> pa.Array:
        found = self._evaluator.vector(expr, self._rows.take(places)).arrow()
        # A float beside an integer of 64 bits is rounded, as an operator would.
        return found if found.type == self._target else found.cast(self._target, safe=False)

    def put(self, places: Ints, values: pa.Array) -> None:
        self._places.append(places)
        self._arrays.append(values)

    def joined(self) -> Vector:
        self.put(self.rest, pa.nulls(len(self.rest), self._target))
        order = np.argsort(np.concatenate(self._places), kind="stable")
        return Vector(Column(pa.concat_arrays(self._arrays).take(pa.array(order))))


def take_branches(expr: Case, rows: Bindings, evaluator: ExpressionEvaluator) -> Vector:
    """The result of the first branch that each row takes."""
    pieces = _PartialResults(evaluator, rows, expr.dtype)
    for condition, result in expr.branches:
        if not len(pieces.rest):
            break
        yes = evaluator.truth(condition, rows.take(pieces.rest)).yes
        chosen = pieces.rest[yes]
        if len(chosen):
            pieces.put(chosen, pieces.evaluate(result, chosen))
            pieces.rest = pieces.rest[~yes]
    if expr.otherwise is not None and len(pieces.rest):
        pieces.put(pieces.rest, pieces.evaluate(expr.otherwise, pieces.rest))
        pieces.rest = pieces.rest[:0]
    return pieces.joined()


def first_present(expr: Coalesce, rows: Bindings, evaluator: ExpressionEvaluator) -> Vector:
    """The first value of each row that is not NULL."""
    pieces = _PartialResults(evaluator, rows, expr.dtype)
    for arg in expr.args:
        if not len(pieces.rest):
            break
        values = pieces.evaluate(arg, pieces.rest)
        present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
        if present.any():
            pieces.put(pieces.rest[present], values.filter(pa.array(present)))
            pieces.rest = pieces.rest[~present]
    return pieces.joined()


def quantify(expr: Quantified, rows: Bindings, evaluator: ExpressionEvaluator) -> Truth:
    """The truth of a condition on any, all or none of the items of each list."""
    lists = evaluator.vector(expr.items, rows).arrow()
    parents = np.asarray(pc.list_parent_indices(lists).to_numpy(), np.int64)
    items = Vector(Column(pc.list_flatten(lists)))
    inner = rows.take(parents).computing(slot_key(expr.item.slot), items)
    found = evaluator.truth(expr.condition, inner)
    if expr.kind is Quantifier.ALL:
        found = found.negated()
    yes, unknown = np.zeros(rows.count, np.bool_), np.zeros(rows.count, np.bool_)
    yes[parents[found.yes]] = True
    if found.unknown is not None:
        unknown[parents[found.unknown]] = True
    nulls = np.asarray(lists.is_null().to_numpy(zero_copy_only=False))
    unknown = (unknown & ~yes) | nulls
    some = Truth(yes & ~nulls, unknown if unknown.any() else None)
    return some if expr.kind is Quantifier.ANY else some.negated()
