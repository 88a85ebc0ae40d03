"""The values of expressions on a row.

An expression that needs more than its row (a block, a score) asks its surroundings, so that the
``where`` of a mutation can be evaluated with nothing but a row: see ``matches``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from omnigraph.datatypes.types import DATETIME
from omnigraph.errors import InvalidInput, InvariantBroken, Unsupported
from omnigraph.ir.expressions import (
    Aggregate,
    And,
    BlockAggregate,
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
    RankFusion,
    Score,
    Slot,
    StringMatch,
    StringOp,
    TextFunc,
    TextMatch,
)
from omnigraph.semantics.aggregates import fold
from omnigraph.semantics.text import (
    DEFAULT_EDITS,
    EDITS,
    has_any_token,
    has_phrase,
    has_similar_token,
)
from omnigraph.semantics.values import (
    Entity,
    Row,
    all_of,
    any_of,
    canonical,
    compare,
    negate,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    from omnigraph.ir.expressions import Value
    from omnigraph.ir.queries import Block

__all__ = ["Interpreter", "Surroundings", "contains_item", "matches", "matches_text"]


class Surroundings(Protocol):
    """What an expression may need beyond its row."""

    def block_rows(self, block: Block, row: Row) -> Iterable[Row]:
        """The rows of an inner block for an outer row."""
        ...

    def score(self, score: Score, entity: Entity, query: Value) -> float | None:
        """The distance or the relevance of one entity."""
        ...

    def fused(self, fusion: RankFusion, row: Row) -> float:
        """The fused score of one row among all rows of the query."""
        ...


class Interpreter:
    """Evaluates expressions for one call: its parameters and its instant."""

    def __init__(
        self,
        params: Mapping[str, object],
        now: dt.datetime,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._params = params
        self._now = canonical(now, DATETIME)
        self._surroundings = surroundings

    def truth(self, expr: Expr, row: Row) -> bool | None:
        """The value of a boolean expression."""
        return cast("bool | None", self.value(expr, row))

    def value(self, expr: Expr, row: Row) -> Value | Entity:
        """The value of any expression but an aggregate; a whole entity stays an entity."""
        match expr:
            case Const() | ParamRef() | Now() | PropertyRef() | EntityRef() | MakeList():
                return self._operand(expr, row)
            case And() | Or() | Not():
                return self._logic(expr, row)
            case Compare() | StringMatch() | ListContains() | InList() | IsNull():
                return self._predicate(expr, row)
            case Exists() | BlockAggregate():
                return self._block(expr, row)
            case TextMatch():
                return self._text(expr, row)
            case Score(target=target, query=query):
                return self._around(expr).score(expr, row[target.slot], self._plain(query, row))
            case RankFusion():
                return self._around(expr).fused(expr, row)
            case Aggregate():
                raise InvariantBroken(10, "an aggregate has no value on a single row")

    def _operand(
        self,
        expr: Const | ParamRef | Now | PropertyRef | EntityRef | MakeList,
        row: Row,
    ) -> Value | Entity:
        match expr:
            case Const(value, dtype):
                return canonical(value, dtype)
            case ParamRef(name, dtype):
                return canonical(self._params[name], dtype)
            case Now():
                return self._now
            case PropertyRef(slot, prop, dtype):
                return canonical(row[slot].value(prop), dtype)
            case EntityRef(slot):
                return row[slot]
            case MakeList(items):
                return tuple(self._plain(item, row) for item in items)

    def _logic(self, expr: And | Or | Not, row: Row) -> bool | None:
        match expr:
            case And(operands):
                return all_of(self.truth(operand, row) for operand in operands)
            case Or(operands):
                return any_of(self.truth(operand, row) for operand in operands)
            case Not(operand):
                return negate(self.truth(operand, row))

    def _predicate(
        self,
        expr: Compare | StringMatch | ListContains | InList | IsNull,
        row: Row,
    ) -> bool | None:
        match expr:
            case Compare(op, left, right):
                return compare(op, self.value(left, row), self.value(right, row))
            case IsNull(operand, negated):
                return (self.value(operand, row) is None) != negated
            case StringMatch(op, haystack, needle):
                return matches_text(op, self._plain(haystack, row), self._plain(needle, row))
            case ListContains(options, item) | InList(item, options):
                return contains_item(self._plain(item, row), self._plain(options, row))

    def _block(self, expr: Exists | BlockAggregate, row: Row) -> Value | Entity:
        rows = self._around(expr).block_rows(expr.block, row)
        match expr:
            case Exists(negated=negated):
                return any(True for _ in rows) != negated
            case BlockAggregate():
                return self.fold(expr, rows)

    def fold(self, expr: Aggregate | BlockAggregate, rows: Iterable[Row]) -> Value | Entity:
        """The value of an aggregate over rows; without an operand it counts them."""
        if expr.operand is None:
            return sum(1 for _ in rows)
        values = (self.value(expr.operand, row) for row in rows)
        return fold(expr.func, values, distinct=expr.distinct, dtype=expr.dtype)

    def max_edits(self, expr: TextMatch) -> int:
        """The edits that a fuzzy match allows; NULL and absence mean the default."""
        edits = None if expr.max_edits is None else self.plain(expr.max_edits)
        if edits is None:
            return DEFAULT_EDITS
        if edits not in EDITS:
            raise InvalidInput(
                "search.edits",
                f"fuzzy cannot allow {edits!r} edits",
                remedy="use 1 or 2, or search() for exact words",
            )
        return int(cast("int", edits))

    def _text(self, expr: TextMatch, row: Row) -> bool | None:
        return self.text_matches(expr, self._plain(expr.target, row), self._plain(expr.query, row))

    def text_matches(self, expr: TextMatch, text: Value, query: Value) -> bool | None:
        """The truth of a text predicate for one text."""
        if not isinstance(text, str) or not isinstance(query, str):
            return None
        match expr.func:
            case TextFunc.SEARCH:
                return has_any_token(text, query)
            case TextFunc.MATCH_TEXT:
                return has_phrase(text, query)
            case TextFunc.FUZZY:
                return has_similar_token(text, query, self.max_edits(expr))

    def plain(self, expr: Expr) -> Value:
        """A value that needs no row: a constant, a parameter, the time."""
        return self._plain(expr, {})

    def _plain(self, expr: Expr, row: Row) -> Value:
        """A value where no entity can stand."""
        return cast("Value", self.value(expr, row))

    def _around(self, expr: Expr) -> Surroundings:
        if self._surroundings is None:
            raise Unsupported(
                "mutation.beyond_the_row",
                f"{type(expr).__name__} cannot be used in the where of a mutation",
                remedy="query the ids first, then name them in the where",
            )
        return self._surroundings


def matches_text(op: StringOp, haystack: Value, needle: Value) -> bool | None:
    """Letter for letter; NULL on either side gives NULL."""
    if not isinstance(haystack, str) or not isinstance(needle, str):
        return None
    match op:
        case StringOp.CONTAINS:
            return needle in haystack
        case StringOp.STARTS_WITH:
            return haystack.startswith(needle)


def contains_item(item: Value, options: Value) -> bool | None:
    """SQL's IN: a NULL among the options makes a miss unknown."""
    if item is None or not isinstance(options, tuple):
        return None
    return any_of(compare(CompareOp.EQ, item, option) for option in options)


class _OneRow(Entity):
    """The row under the ``where`` of a mutation."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def value(self, prop: str) -> Value:
        return cast("Value", self._values[prop])


def matches(
    expr: Expr, values: Mapping[str, object], params: Mapping[str, object], now: dt.datetime
) -> bool | None:
    """The truth of a mutation's ``where`` on one row, given by property ids; None is unknown."""
    return Interpreter(params, now).truth(expr, {Slot(0): _OneRow(values)})
