"""Values of expressions on a single row.

Mutations evaluate ``where`` on rows in memory with it, and search evaluates expressions that read
no row. Expressions that need more than one row (blocks, scores) are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from omnigraph.datatypes.types import DATETIME
from omnigraph.errors import InvalidInput, InvariantBroken, Unsupported
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
    Quantifier,
    RankFusion,
    Score,
    StringMatch,
    StringOp,
    TextFunc,
    TextMatch,
    ValueRef,
)
from omnigraph.semantics.functions.apply import apply_function
from omnigraph.semantics.functions.casts import widened
from omnigraph.semantics.functions.patterns import matches as matches_pattern
from omnigraph.semantics.text import (
    DEFAULT_EDITS,
    EDITS,
    has_any_token,
    has_phrase,
    has_similar_token,
)
from omnigraph.semantics.values import all_of, any_of, canonical, compare, negate

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from omnigraph.ir.expressions import Slot, Value

    # The values of a row by property id.
    Row = Mapping[str, object]

__all__ = ["Interpreter", "contains_item", "matches", "matches_text"]

_NO_ROW: Row = {}


class Interpreter:
    """Evaluates expressions with the parameters and the time of one call."""

    def __init__(self, params: Mapping[str, object], now: dt.datetime) -> None:
        self._params = params
        self._now = canonical(now, DATETIME)
        # The items of the lists whose conditions are evaluated, by slot.
        self._items: dict[Slot, Value] = {}

    def constant(self, expr: Expr) -> Value:
        """Evaluate an expression that reads no row."""
        return self.value(expr, _NO_ROW)

    def truth(self, expr: Expr, row: Row) -> bool | None:
        """Evaluate a condition on a row."""
        return cast("bool | None", self.value(expr, row))

    def value(self, expr: Expr, row: Row) -> Value:
        """Evaluate an expression on a row."""
        match expr:
            case Const() | ParamRef() | Now() | PropertyRef() | MakeList():
                return self._operand(expr, row)
            case ValueRef() | Call() | Case() | Coalesce() | Quantified():
                return self._computed(expr, row)
            case And() | Or() | Not():
                return self._logic(expr, row)
            case Compare() | StringMatch() | ListContains() | InList() | IsNull():
                return self._predicate(expr, row)
            case TextMatch():
                return self.text_matches(
                    expr, self.value(expr.target, row), self.value(expr.query, row)
                )
            case Exists() | BlockAggregate() | Score() | RankFusion():
                raise Unsupported(
                    "mutation.beyond_the_row",
                    f"{type(expr).__name__} cannot be used in the where of a mutation",
                    remedy="query the ids first, then name them in the where",
                )
            case Aggregate() | EntityRef():
                raise InvariantBroken(10, f"{type(expr).__name__} has no value on a single row")

    def _operand(self, expr: Const | ParamRef | Now | PropertyRef | MakeList, row: Row) -> Value:
        match expr:
            case Const(value, dtype):
                return canonical(value, dtype)
            case ParamRef(name, dtype):
                return canonical(self._params[name], dtype)
            case Now():
                return self._now
            case PropertyRef(prop=prop, dtype=dtype):
                return canonical(row[prop], dtype)
            case MakeList(items):
                return tuple(self.value(item, row) for item in items)

    def _computed(self, expr: ValueRef | Call | Case | Coalesce | Quantified, row: Row) -> Value:
        match expr:
            case ValueRef(slot):
                return self._items[slot]
            case Call(func, args, dtype):
                return apply_function(func, dtype, [self.value(arg, row) for arg in args])
            case Case(branches, otherwise, dtype):
                taken = (result for tested, result in branches if self.value(tested, row) is True)
                chosen = next(taken, otherwise)
                value = None if chosen is None else self.value(chosen, row)
                return cast("Value", widened(value, dtype))
            case Coalesce(args, dtype):
                values = (self.value(arg, row) for arg in args)
                first: Value = next((v for v in values if v is not None), None)
                return cast("Value", widened(first, dtype))
            case Quantified():
                return self._quantified(expr, row)

    def _quantified(self, expr: Quantified, row: Row) -> bool | None:
        items = self.value(expr.items, row)
        if not isinstance(items, tuple):
            return None
        truths = []
        for item in items:
            self._items[expr.item.slot] = item
            truths.append(self.truth(expr.condition, row))
        if expr.kind is Quantifier.ALL:
            return all_of(truths)
        found = any_of(truths)
        return found if expr.kind is Quantifier.ANY else negate(found)

    def _logic(self, expr: And | Or | Not, row: Row) -> bool | None:
        match expr:
            case And(operands):
                return all_of(self.truth(operand, row) for operand in operands)
            case Or(operands):
                return any_of(self.truth(operand, row) for operand in operands)
            case Not(operand):
                return negate(self.truth(operand, row))

    def _predicate(
        self, expr: Compare | StringMatch | ListContains | InList | IsNull, row: Row
    ) -> bool | None:
        match expr:
            case Compare(op, left, right):
                return compare(op, self.value(left, row), self.value(right, row))
            case IsNull(operand, negated):
                return (self.value(operand, row) is None) != negated
            case StringMatch(op, haystack, needle):
                return matches_text(op, self.value(haystack, row), self.value(needle, row))
            case ListContains(options, item) | InList(item, options):
                return contains_item(self.value(item, row), self.value(options, row))

    def max_edits(self, expr: TextMatch) -> int:
        """Return the edits that a fuzzy match allows; NULL and absence mean the default."""
        edits = None if expr.max_edits is None else self.constant(expr.max_edits)
        if edits is None:
            return DEFAULT_EDITS
        if edits not in EDITS:
            raise InvalidInput(
                "search.edits",
                f"fuzzy() allows 1 or 2 edits, not {edits!r}",
                remedy="use 1 or 2, or search() for exact words",
            )
        return int(cast("int", edits))

    def text_matches(self, expr: TextMatch, text: Value, query: Value) -> bool | None:
        """Evaluate a text predicate on one text."""
        if not isinstance(text, str) or not isinstance(query, str):
            return None
        match expr.func:
            case TextFunc.SEARCH:
                return has_any_token(text, query)
            case TextFunc.MATCH_TEXT:
                return has_phrase(text, query)
            case TextFunc.FUZZY:
                return has_similar_token(text, query, self.max_edits(expr))


def matches_text(op: StringOp, haystack: Value, needle: Value) -> bool | None:
    """Test for a substring, prefix, suffix or pattern; NULL on either side gives NULL."""
    if not isinstance(haystack, str) or not isinstance(needle, str):
        return None
    match op:
        case StringOp.CONTAINS:
            return needle in haystack
        case StringOp.STARTS_WITH:
            return haystack.startswith(needle)
        case StringOp.ENDS_WITH:
            return haystack.endswith(needle)
        case StringOp.MATCHES:
            return matches_pattern(haystack, needle)


def contains_item(item: Value, options: Value) -> bool | None:
    """Evaluate SQL's IN: a NULL among the options makes a miss unknown."""
    if item is None or not isinstance(options, tuple):
        return None
    return any_of(compare(CompareOp.EQ, item, option) for option in options)


def matches(expr: Expr, row: Row, params: Mapping[str, object], now: dt.datetime) -> bool | None:
    """Evaluate the ``where`` of a mutation on one row; None is unknown."""
    return Interpreter(params, now).truth(expr, row)
