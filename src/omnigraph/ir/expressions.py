"""Define the expressions of the IR, typed without reference to the catalog.

Comparison and logic follow SQL: a comparison with NULL is NULL, and a row passes a filter only if
it is true. Operands of a comparison have the same type (the compiler coerces literals), are both
numeric, or are a String and an enum.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import TYPE_CHECKING, NewType

from omnigraph.datatypes.types import BOOL, DATETIME, F64, DataType, ListType, Scalar, ScalarType
from omnigraph.frozen import frozen
from omnigraph.ir.functions import Function

if TYPE_CHECKING:
    from omnigraph.ir.queries import Block

__all__ = [
    "Aggregate",
    "AggregateFunc",
    "And",
    "BlockAggregate",
    "Call",
    "Case",
    "Coalesce",
    "Compare",
    "CompareOp",
    "Const",
    "EntityRef",
    "Exists",
    "Expr",
    "InList",
    "IsNull",
    "ListContains",
    "MakeList",
    "Not",
    "Now",
    "Or",
    "ParamRef",
    "PropertyRef",
    "Quantified",
    "Quantifier",
    "RankFusion",
    "Score",
    "ScoreFunc",
    "Slot",
    "StringMatch",
    "StringOp",
    "TextFunc",
    "TextMatch",
    "Value",
    "ValueRef",
    "ValueSlot",
    "is_nullable",
    "type_of",
]

Slot = NewType("Slot", int)

Value = str | int | float | bool | bytes | dt.date | dt.datetime | None | tuple["Value", ...]


class CompareOp(StrEnum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class StringOp(StrEnum):
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    # The whole text matches a regular expression of RE2.
    MATCHES = "matches"


class AggregateFunc(StrEnum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    # The values in ascending order.
    COLLECT = "collect"
    # The value of the row with the least or greatest key; of several, the least value.
    MIN_BY = "min_by"
    MAX_BY = "max_by"
    # Interpolated linearly between neighbours; the parameter is a share of 0 to 1.
    PERCENTILE = "percentile"
    # Of a sample, and of a population.
    STDDEV = "stddev"
    STDDEV_POP = "stddev_pop"


class Quantifier(StrEnum):
    ANY = "any"
    ALL = "all"
    NONE = "none"


class TextFunc(StrEnum):
    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"


class ScoreFunc(StrEnum):
    NEAREST = "nearest"
    BM25 = "bm25"


@frozen
class Const:
    """A literal of its final type; None is a typed NULL."""

    value: Value
    dtype: DataType


@frozen
class ParamRef:
    name: str
    dtype: DataType
    nullable: bool


@frozen
class Now:
    """The start time of the query, a DateTime in UTC."""


@frozen
class PropertyRef:
    """A property of the entity in a slot; ``prop`` may be ``@id``, ``@src`` or ``@dst``."""

    slot: Slot
    prop: str
    dtype: DataType
    nullable: bool


@frozen
class ValueSlot:
    """A variable that holds a value; ``name`` is for output only."""

    slot: Slot
    dtype: DataType
    nullable: bool
    name: str


@frozen
class ValueRef:
    """The value in a slot."""

    slot: Slot
    dtype: DataType
    nullable: bool


@frozen
class EntityRef:
    """The whole entity in a slot, as a struct of its properties."""

    slot: Slot
    type_id: str
    nullable: bool = False


@frozen
class MakeList:
    """A list of values."""

    items: tuple[Expr, ...]
    item_type: DataType


@frozen
class Call:
    """A function of values, or an operator."""

    func: Function
    args: tuple[Expr, ...]
    dtype: DataType


@frozen
class Case:
    """The result of the first branch whose condition is true, else ``otherwise``, else NULL.

    Results are evaluated only for the rows that take them.
    """

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None
    dtype: DataType


@frozen
class Coalesce:
    """The first argument that is not NULL; later ones are evaluated only where it is needed."""

    args: tuple[Expr, ...]
    dtype: DataType


@frozen
class Quantified:
    """A condition on the items of a list, joined by OR (any), AND (all) or NOT OR (none)."""

    kind: Quantifier
    item: ValueSlot
    items: Expr
    condition: Expr


@frozen
class Compare:
    op: CompareOp
    left: Expr
    right: Expr


@frozen
class StringMatch:
    """An exact, case-sensitive test for a substring, prefix, suffix or pattern."""

    op: StringOp
    haystack: Expr
    needle: Expr


@frozen
class ListContains:
    """Whether a list contains an item."""

    items: Expr
    item: Expr


@frozen
class InList:
    """Whether an item is one of the options, a list; NULL for NULL."""

    item: Expr
    options: Expr


@frozen
class IsNull:
    operand: Expr
    negated: bool


@frozen
class And:
    operands: tuple[Expr, ...]


@frozen
class Or:
    operands: tuple[Expr, ...]


@frozen
class Not:
    operand: Expr


@frozen
class Exists:
    """Whether the correlated block has a row for the outer row; never NULL."""

    block: Block
    negated: bool


@frozen
class BlockAggregate:
    """An aggregate over the block's rows for the outer row; of no rows, count is 0, others NULL."""

    func: AggregateFunc
    block: Block
    operand: Expr | None
    distinct: bool
    dtype: DataType
    parameter: Expr | None = None


@frozen
class TextMatch:
    """A text predicate on a String property; ``max_edits`` applies to fuzzy."""

    func: TextFunc
    target: PropertyRef
    query: Expr
    max_edits: Expr | None


@frozen
class Score:
    """``nearest``: cosine distance, smaller is closer. ``bm25``: relevance, larger is better.

    ``query`` is a vector, or a String to embed (nearest) or to search for (bm25).
    """

    func: ScoreFunc
    target: PropertyRef
    query: Expr


@frozen
class RankFusion:
    """Reciprocal rank fusion over the query's rows: sum of 1 / (k + rank), larger is better."""

    scores: tuple[Score, ...]
    k: Expr


@frozen
class Aggregate:
    """An aggregate over a group of result rows; ``operand`` None counts rows, NULLs are skipped.

    ``parameter`` is the key of min_by and max_by, or the share of a percentile."""

    func: AggregateFunc
    operand: Expr | None
    distinct: bool
    dtype: DataType
    parameter: Expr | None = None


Expr = (
    Const
    | ParamRef
    | Now
    | PropertyRef
    | ValueRef
    | EntityRef
    | MakeList
    | Call
    | Case
    | Coalesce
    | Quantified
    | Compare
    | StringMatch
    | ListContains
    | InList
    | IsNull
    | And
    | Or
    | Not
    | Exists
    | BlockAggregate
    | TextMatch
    | Score
    | RankFusion
    | Aggregate
)


def type_of(expr: Expr) -> DataType | None:
    """Return the type of an expression; None for a whole entity."""
    match expr:
        case Const(dtype=dtype) | ParamRef(dtype=dtype) | PropertyRef(dtype=dtype):
            return dtype
        case BlockAggregate(dtype=dtype) | Aggregate(dtype=dtype) | ValueRef(dtype=dtype):
            return dtype
        case Call(dtype=dtype) | Case(dtype=dtype) | Coalesce(dtype=dtype):
            return dtype
        case Now():
            return DATETIME
        case MakeList(item_type=item_type):
            # Enum values are strings; all other items are scalars.
            item = item_type.scalar if isinstance(item_type, ScalarType) else Scalar.STRING
            return ListType(item)
        case Score() | RankFusion():
            return F64
        case EntityRef():
            return None
        case _:
            return BOOL


def is_nullable(expr: Expr) -> bool:
    """Return whether the value may be NULL; True is conservative."""
    match expr:
        case Const(value=value):
            return value is None
        case ParamRef() | PropertyRef() | ValueRef() | EntityRef():
            return expr.nullable
        case Call() | Case() | Coalesce() | Quantified():
            return _is_nullable_call(expr)
        case Aggregate(func=func) | BlockAggregate(func=func):
            return func not in (AggregateFunc.COUNT, AggregateFunc.COLLECT)
        case Score(func=ScoreFunc.NEAREST):
            # The cosine distance of a zero vector is undefined.
            return True
        case Now() | IsNull() | Exists() | RankFusion():
            return False
        case _:
            return any(map(is_nullable, _operands(expr)))


def _operands(
    expr: (
        Compare
        | StringMatch
        | ListContains
        | InList
        | TextMatch
        | Score
        | And
        | Or
        | MakeList
        | Not
    ),
) -> tuple[Expr, ...]:
    """The operands of an expression that is NULL only if one of them is."""
    match expr:
        case (
            Compare(left=one, right=other)
            | StringMatch(haystack=one, needle=other)
            | ListContains(items=one, item=other)
            | InList(item=one, options=other)
            | TextMatch(target=one, query=other)
            | Score(target=one, query=other)
        ):
            return (one, other)
        # With a NULL option, the membership of other items is unknown.
        case And(operands=parts) | Or(operands=parts) | MakeList(items=parts):
            return parts
        case Not(operand=operand):
            return (operand,)


# Functions that are NULL for some arguments that are not.
_PARTIAL = frozenset(
    {
        *(Function.DIVIDE, Function.MODULO, Function.DIV, Function.INDEX, Function.TRY_CAST),
        *(Function.SQRT, Function.POWER, Function.LN, Function.LOG10, Function.NULLIF),
    }
)
_SKIPS_NULLS = (Function.LEAST, Function.GREATEST)


def _is_nullable_call(expr: Call | Case | Coalesce | Quantified) -> bool:
    match expr:
        case Call(func=func, args=args):
            if func in _SKIPS_NULLS:
                return all(map(is_nullable, args))
            if func is Function.SLICE:
                return is_nullable(args[0])
            return func in _PARTIAL or any(map(is_nullable, args))
        case Case(branches=branches, otherwise=otherwise):
            results = (result for _, result in branches)
            return otherwise is None or any(map(is_nullable, (otherwise, *results)))
        case Coalesce(args=args):
            return all(map(is_nullable, args))
        case Quantified():
            # Items of lists may be NULL.
            return True
