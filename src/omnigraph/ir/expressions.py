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

if TYPE_CHECKING:
    from omnigraph.ir.queries import Block

__all__ = [
    "Aggregate",
    "AggregateFunc",
    "And",
    "BlockAggregate",
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
    "RankFusion",
    "Score",
    "ScoreFunc",
    "Slot",
    "StringMatch",
    "StringOp",
    "TextFunc",
    "TextMatch",
    "Value",
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


class AggregateFunc(StrEnum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


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
class EntityRef:
    """The whole entity in a slot, as a struct of its properties."""

    slot: Slot
    type_id: str


@frozen
class MakeList:
    """A list whose items are constants or parameters."""

    items: tuple[Expr, ...]
    item_type: DataType


@frozen
class Compare:
    op: CompareOp
    left: Expr
    right: Expr


@frozen
class StringMatch:
    """An exact, case-sensitive substring or prefix test."""

    op: StringOp
    haystack: Expr
    needle: Expr


@frozen
class ListContains:
    """Whether a list property contains an item."""

    items: Expr
    item: Expr


@frozen
class InList:
    """Whether an item is one of the options (a MakeList or list parameter); NULL for NULL."""

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
    """An aggregate over a group of result rows; ``operand`` None counts rows, NULLs are skipped."""

    func: AggregateFunc
    operand: Expr | None
    distinct: bool
    dtype: DataType


Expr = (
    Const
    | ParamRef
    | Now
    | PropertyRef
    | EntityRef
    | MakeList
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
        case BlockAggregate(dtype=dtype) | Aggregate(dtype=dtype):
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
        case ParamRef(nullable=nullable) | PropertyRef(nullable=nullable):
            return nullable
        case Aggregate(func=func) | BlockAggregate(func=func):
            return func is not AggregateFunc.COUNT
        case Score(func=ScoreFunc.NEAREST):
            # The cosine distance of a zero vector is undefined.
            return True
        case (
            Compare(left=one, right=other)
            | StringMatch(haystack=one, needle=other)
            | ListContains(items=one, item=other)
            | InList(item=one, options=other)
            | TextMatch(target=one, query=other)
            | Score(target=one, query=other)
        ):
            return is_nullable(one) or is_nullable(other)
        # With a NULL option, the membership of other items is unknown.
        case And(operands=parts) | Or(operands=parts) | MakeList(items=parts):
            return any(is_nullable(part) for part in parts)
        case Not(operand=operand):
            return is_nullable(operand)
        case Now() | EntityRef() | IsNull() | Exists() | RankFusion():
            return False
