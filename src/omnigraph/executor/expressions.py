"""Expressions over many rows at once.

The meaning is that of ``semantics.predicates``, which evaluates them row by row; whatever has no
form for many rows is left to the functions over there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import BOOL, DATETIME, DataType, ListType, ScalarType
from omnigraph.errors import InvariantBroken
from omnigraph.executor.functions.branches import first_present, quantify, take_branches
from omnigraph.executor.functions.calls import call_rows, make_array
from omnigraph.executor.rows.bindings import slot_key
from omnigraph.ir.expressions import (
    And,
    BlockAggregate,
    Call,
    Case,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    Exists,
    Expr,
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
    RankFusion,
    Score,
    StringMatch,
    StringOp,
    TextMatch,
    ValueRef,
    type_of,
)
from omnigraph.ir.walk import slots_read
from omnigraph.semantics.columns import truth
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.comparison import ColumnOperand, ConstantOperand, among, compare
from omnigraph.semantics.columns.truth import Truth
from omnigraph.semantics.functions.patterns import whole
from omnigraph.semantics.predicates import Interpreter, contains_item, matches_text
from omnigraph.semantics.values import canonical

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.columns.row_spaces import RowSpace
    from omnigraph.executor.context import Context
    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.ir.expressions import Slot, Value

    Mask = npt.NDArray[np.bool_]

__all__ = ["Evaluator"]

_MATCHES = {
    StringOp.CONTAINS: pc.match_substring,
    StringOp.STARTS_WITH: pc.starts_with,
    StringOp.ENDS_WITH: pc.ends_with,
    StringOp.MATCHES: pc.match_substring_regex,
}


_NO_SLOTS: frozenset[Slot] = frozenset()


class Evaluator(ABC):
    """Evaluates the expressions of one query. Subclasses define the entities behind row numbers."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def space_of(self, slot: Slot) -> RowSpace:
        """The numbering of the entities of a slot."""

    @abstractmethod
    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        """The truth of a text predicate for each row."""

    # --- what operators ask for ---

    def passing(self, expr: Expr, rows: Bindings) -> Mask:
        """The rows for which a condition is true."""
        return self.truth(expr, rows).yes

    def vector(self, expr: Expr, rows: Bindings) -> Vector:
        """A value for each row; not for entities and aggregates."""
        found = self._operand(expr, rows)
        if isinstance(found, ColumnOperand):
            return found.vector
        return Vector(Column(_repeated(found, rows.count)))

    def values(self, expr: Expr, rows: Bindings) -> list[Any]:
        """A Python value for each row, in the form that the language compares."""
        return self.vector(expr, rows).values(_type(expr))

    def constant(self, expr: Expr) -> Value:
        """The value of an expression that reads no row."""
        match expr:
            case Const(value, dtype):
                return canonical(value, dtype)
            case ParamRef(name, dtype):
                value = self.context.params[name]
                # A text has one form.
                return value if isinstance(value, str) else canonical(value, dtype)
            case Now():
                return canonical(self.context.now, DATETIME)
            case MakeList(items):
                return tuple(self.constant(item) for item in items)
            case _:
                return Interpreter(self.context.params, self.context.now).constant(expr)

    def truth(self, expr: Expr, rows: Bindings) -> Truth:
        """The truth of a condition for each row."""
        known = rows.computed.get(id(expr)) if rows.computed else None
        if known is not None:
            return truth.from_arrow(known.arrow())
        match expr:
            case Compare(op, left, right):
                return compare(
                    op, self._operand(left, rows), self._operand(right, rows), rows.count
                )
            case And(operands):
                return truth.all_of(self.truth(part, rows) for part in operands)
            case Or(operands):
                return truth.any_of(self.truth(part, rows) for part in operands)
            case Not(operand):
                return self.truth(operand, rows).negated()
            case IsNull(operand, negated):
                return self._is_null(operand, rows, negated=negated)
            case StringMatch() | ListContains() | InList():
                return self._membership(expr, rows)
            case _:
                return self._plain_truth(expr, rows)

    def _plain_truth(self, expr: Expr, rows: Bindings) -> Truth:
        match expr:
            case TextMatch():
                return self.text_match(expr, rows)
            case Const() | ParamRef():
                return truth.constant(self.constant(expr), rows.count)
            case Quantified():
                return quantify(expr, rows, self)
            case PropertyRef() | ValueRef() | Case() | Coalesce() | Call():
                return truth.from_arrow(self.vector(expr, rows).arrow())
            case _:
                raise InvariantBroken(10, f"{type(expr).__name__} is no condition here")

    # --- operands ---

    def _operand(self, expr: Expr, rows: Bindings) -> ColumnOperand | ConstantOperand:
        known = rows.computed.get(id(expr)) if rows.computed else None
        if known is not None:
            return ColumnOperand(known, _type(expr))
        match expr:
            case PropertyRef(slot, prop, dtype) if slot in self.nullable:
                return ColumnOperand(self._optional_property(slot, prop, dtype, rows), dtype)
            case PropertyRef(slot, prop, dtype):
                return ColumnOperand(self.space_of(slot).vector(prop, rows.columns[slot]), dtype)
            case Const() | ParamRef() | Now():
                return ConstantOperand(self.constant(expr), _type(expr))
            case ValueRef(slot, dtype):
                return ColumnOperand(self.value_of(slot, rows), dtype)
            case MakeList() | Call() | Case() | Coalesce():
                return self._computed(expr, rows)
            case BlockAggregate() | Exists() | Score() | RankFusion():
                raise InvariantBroken(10, f"{type(expr).__name__} was not computed before its use")
            case _:
                return ColumnOperand(self.truth(expr, rows).vector(), BOOL)

    @property
    def nullable(self) -> frozenset[Slot]:
        """Slots whose entities may be NULL."""
        return _NO_SLOTS

    def _optional_property(self, slot: Slot, prop: str, dtype: DataType, rows: Bindings) -> Vector:
        """A property of entities of which some are NULL."""
        # None stands for all rows of a scan.
        numbers = cast("npt.NDArray[np.int64] | None", rows.columns[slot])
        if numbers is None:
            return self.space_of(slot).vector(prop, None)
        present = numbers >= 0
        if present.all():
            return self.space_of(slot).vector(prop, numbers)
        known = np.flatnonzero(present)
        if not len(known):
            return Vector(Column(pa.nulls(rows.count, arrow_type(dtype))))
        values = self.space_of(slot).vector(prop, numbers[known]).arrow()
        places = np.zeros(rows.count, np.int64)
        places[known] = np.arange(len(known))
        return Vector(Column(values.take(pa.array(places, mask=~present))))

    def value_of(self, slot: Slot, rows: Bindings) -> Vector:
        """The values that a slot holds."""
        return rows.computed[slot_key(slot)]

    def _computed(
        self, expr: MakeList | Call | Case | Coalesce, rows: Bindings
    ) -> ColumnOperand | ConstantOperand:
        dtype = _type(expr)
        if not rows.computed and not slots_read(expr):
            # One value for all rows, and no operator has computed a part of it.
            return ConstantOperand(self.constant(expr), dtype)
        match expr:
            case Case():
                return ColumnOperand(take_branches(expr, rows, self), dtype)
            case Coalesce():
                return ColumnOperand(first_present(expr, rows, self), dtype)
            case Call(args=args):
                operands = [self._operand(arg, rows) for arg in args]
                found = call_rows(expr, operands, rows.count, self.context.meter)
                return ColumnOperand(found, dtype)
            case MakeList(items):
                columns = [self._operand(item, rows) for item in items]
                listed = [_values(each, rows.count) for each in columns]
                values = zip(*listed, strict=True) if listed else repeat(())
                made = make_array(list, iter(values), rows.count, dtype, self.context.meter)
                return ColumnOperand(Vector(Column(made)), dtype)

    def _is_null(self, operand: Expr, rows: Bindings, *, negated: bool) -> Truth:
        value = self._operand(operand, rows)
        if isinstance(value, ConstantOperand):
            return truth.constant((value.value is None) != negated, rows.count)
        nulls = value.vector.nulls()
        if nulls is None:
            return truth.constant(negated, rows.count)
        return Truth(~nulls if negated else nulls)

    def _membership(self, expr: StringMatch | ListContains | InList, rows: Bindings) -> Truth:
        match expr:
            case StringMatch(op, haystack, needle):
                return self._string_match(
                    op, self._operand(haystack, rows), self._operand(needle, rows), rows.count
                )
            case ListContains(items, item):
                return self._list_contains(
                    self._operand(items, rows), self._operand(item, rows), rows.count
                )
            case InList(item, options):
                return self._in_list(self._operand(item, rows), options, rows)

    def _string_match(
        self,
        op: StringOp,
        haystack: ColumnOperand | ConstantOperand,
        needle: ColumnOperand | ConstantOperand,
        count: int,
    ) -> Truth:
        if isinstance(haystack, ColumnOperand) and isinstance(needle, ConstantOperand):
            if needle.value is None:
                return truth.constant(None, count)
            text = str(needle.value)
            text = whole(text) if op is StringOp.MATCHES else text
            return _match_all(op, haystack.vector, text)
        pairs = zip(_values(haystack, count), _values(needle, count), strict=True)
        return truth.from_values(matches_text(op, text, part) for text, part in pairs)

    def _in_list(
        self, item: ColumnOperand | ConstantOperand, options: Expr, rows: Bindings
    ) -> Truth:
        known = self._operand(options, rows)
        if isinstance(item, ColumnOperand) and isinstance(known, ConstantOperand):
            if known.value is None:
                return truth.constant(None, rows.count)
            item_type = _item_type(options)
            return among(item, cast("tuple[Value, ...]", known.value), item_type)
        return self._list_contains(known, item, rows.count)

    def _list_contains(
        self,
        items: ColumnOperand | ConstantOperand,
        item: ColumnOperand | ConstantOperand,
        count: int,
    ) -> Truth:
        if (
            isinstance(items, ColumnOperand)
            and isinstance(item, ConstantOperand)
            and item.value is not None
        ):
            found = _flat_contains(items, item)
            if found is not None:
                return found
        pairs = zip(_values(item, count), _values(items, count), strict=True)
        return truth.from_values(contains_item(one, several) for one, several in pairs)


def _match_all(op: StringOp, vector: Vector, text: str) -> Truth:
    """Of a column with codes, only the distinct texts are looked at."""
    if vector.column.has_codes:
        known = vector.column.codes
        hits = np.asarray(_MATCHES[op](known.texts, text).to_numpy(zero_copy_only=False), np.bool_)
        codes = known.codes if vector.rows is None else known.codes[vector.rows]
        yes = hits[codes] if len(hits) else np.zeros(len(codes), np.bool_)
        return truth.masked(yes, vector.nulls())
    return truth.from_arrow(_MATCHES[op](vector.arrow(), text))


def _flat_contains(items: ColumnOperand, item: ConstantOperand) -> Truth | None:
    """Look at all items of all lists at once; None where an item is missing."""
    lists = items.vector.arrow()
    flat = pc.list_flatten(lists)
    if flat.null_count or not isinstance(items.dtype, ListType):
        return None
    each = ColumnOperand(Vector(Column(flat)), ScalarType(items.dtype.item))
    hits = compare(CompareOp.EQ, each, item, len(flat)).yes
    yes = np.zeros(len(lists), np.bool_)
    yes[pc.list_parent_indices(lists).to_numpy()[hits]] = True
    return truth.masked(yes, Vector(Column(lists)).nulls())


def _type(expr: Expr) -> DataType:
    dtype = type_of(expr)
    if dtype is None:
        raise InvariantBroken(10, "a whole entity stands where a value is needed")
    return dtype


def _item_type(options: Expr) -> DataType:
    dtype = _type(options)
    return ScalarType(dtype.item) if isinstance(dtype, ListType) else dtype


def _values(operand: ColumnOperand | ConstantOperand, count: int) -> list[Any]:
    if isinstance(operand, ConstantOperand):
        return [operand.value] * count
    return operand.vector.values(operand.dtype)


def _repeated(constant: ConstantOperand, count: int) -> pa.Array:
    value = list(constant.value) if isinstance(constant.value, tuple) else constant.value
    target = arrow_type(constant.dtype)
    # No list can be repeated no times.
    return pa.repeat(pa.scalar(value, target), count) if count else pa.nulls(0, target)
