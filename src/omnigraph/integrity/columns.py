"""Column-wise evaluation of the rules on single values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.integrity.rules import (
    Finite,
    InRange,
    Matches,
    Member,
    NoNullItems,
    Required,
    WholeVector,
    rules_of,
)
from omnigraph.integrity.unnamed import unnamed_masks
from omnigraph.integrity.violations import Report, Violation, format_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.integrity.changes import TypeChange

__all__ = ["check_columns"]

ValueRule = Required | Member | InRange | Matches | Finite | NoNullItems | WholeVector
_VALUE_RULES = (Required, Member, InRange, Matches, Finite, NoNullItems, WholeVector)


def check_columns(change: TypeChange, report: Report) -> None:
    """Evaluate every value rule of the type on the rows of a change."""
    if not change.rows.num_rows:
        return
    unnamed = unnamed_masks(change.entity, change.rows)
    for rule in rules_of(change.entity):
        if isinstance(rule, _VALUE_RULES):
            find = _FINDERS[type(rule)]
            broken = find(change.rows.column(rule.prop.column), rule)
            if isinstance(rule, Required) and rule.prop.column in unnamed:
                # The row may keep a stored value, which is checked once the row is completed.
                broken = broken[~unnamed[rule.prop.column][broken]]
            if rule.prop.column in change.inherited:
                broken = broken[~change.inherited[rule.prop.column][broken]]
            _add(change, rule, broken, report)


def _add(change: TypeChange, rule: ValueRule, broken: np.ndarray, report: Report) -> None:
    if not len(broken):
        return
    ids, column = change.ids, change.rows.column(rule.prop.column)
    report.add_many(
        rule.name,
        len(broken),
        (
            Violation(
                rule=rule.name,
                message=_message(rule, column[row].as_py()),
                type=change.entity.name,
                id=ids[row].as_py(),
                property=rule.prop.name,
                value=_shown(column[row].as_py()),
                record=change.record(row),
            )
            for row in map(int, broken[: report.room])
        ),
    )


def _message(rule: ValueRule, value: Any) -> str:
    match rule:
        case Required():
            return "a value is required"
        case Member(values=values):
            return f"{_shown(value)!r} is not one of {', '.join(values[:20])}"
        case InRange(low=low, high=high):
            return f"{value} is not in {'' if low is None else low}..{'' if high is None else high}"
        case Matches(pattern=pattern):
            return f"{_shown(value)!r} does not match {pattern!r}"
        case Finite():
            return "a number must be finite"
        case NoNullItems():
            return "a list may not hold null"
        case WholeVector():
            return "a vector must be finite and not all zero"


def _shown(value: Any) -> Any:
    """Return a value for a report; vectors and lists are left out."""
    return None if isinstance(value, list) else format_value(value)


# --- one finder per rule: the positions of rows that violate it ----------------------------------


def _nulls(column: pa.ChunkedArray, _: Required) -> np.ndarray:
    return _where(pc.is_null(column)) if column.null_count else _NONE


def _non_members(column: pa.ChunkedArray, rule: Member) -> np.ndarray:
    known = pc.is_in(column, value_set=pa.array(rule.values, pa.string()), skip_nulls=False)
    return _where(pc.and_(pc.invert(known), pc.is_valid(column)))


def _outside(column: pa.ChunkedArray, rule: InRange) -> np.ndarray:
    masks = []
    if rule.low is not None:
        masks.append(pc.less(column, pa.scalar(rule.low, _bound_type(column.type))))
    if rule.high is not None:
        masks.append(pc.greater(column, pa.scalar(rule.high, _bound_type(column.type))))
    if not masks:
        return _NONE
    return _where(masks[0] if len(masks) == 1 else pc.or_(*masks))


def _bound_type(column: pa.DataType) -> pa.DataType:
    # Bounds of an integer property are integers of its domain; others compare as doubles.
    return column if pa.types.is_integer(column) else pa.float64()


def _mismatches(column: pa.ChunkedArray, rule: Matches) -> np.ndarray:
    return _where(pc.invert(pc.match_substring_regex(column, rf"\A(?:{rule.pattern})\z")))


def _not_finite(column: pa.ChunkedArray, _: Finite) -> np.ndarray:
    if pa.types.is_list(column.type):
        return _parents(column, lambda items: pc.invert(pc.is_finite(items)))
    return _where(pc.invert(pc.is_finite(column)))


def _null_items(column: pa.ChunkedArray, _: NoNullItems) -> np.ndarray:
    return _parents(column, pc.is_null)


def _parents(column: pa.ChunkedArray, broken: Callable[[pa.Array], pa.Array]) -> np.ndarray:
    """Return the positions of lists with a broken item."""
    lists = pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
    at = _where(broken(pc.list_flatten(lists)))
    if not len(at):
        return _NONE
    return np.unique(pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)[at])


def _broken_vectors(column: pa.ChunkedArray, _: WholeVector) -> np.ndarray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not len(array):
        return _NONE
    dim = array.type.list_size
    # Null vectors have undefined items: check only the valid ones.
    valid = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    items = array.drop_null().flatten()
    if items.null_count:
        items = items.fill_null(float("nan"))
    numbers = items.to_numpy(zero_copy_only=False).reshape(-1, dim)
    whole = np.isfinite(numbers).all(axis=1) & numbers.any(axis=1)
    broken: np.ndarray = valid[~whole]
    return broken


_NONE = np.empty(0, np.int64)


def _where(mask: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return the positions at which a mask is true; NULL is not."""
    return np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))  # noqa: FBT003


_FINDERS: dict[type, Callable[[pa.ChunkedArray, Any], np.ndarray]] = {
    Required: _nulls,
    Member: _non_members,
    InRange: _outside,
    Matches: _mismatches,
    Finite: _not_finite,
    NoNullItems: _null_items,
    WholeVector: _broken_vectors,
}
