"""The syntax tree of ``.gq``: the structure of the text, before any schema is known."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.source import Span

__all__ = [
    "Aggregate",
    "AggregateFunc",
    "AliasRef",
    "Arithmetic",
    "ArithmeticOp",
    "Assignment",
    "Binding",
    "BlockAggregate",
    "BoolOp",
    "Case",
    "Cast",
    "CompareOp",
    "Comparison",
    "Delete",
    "Document",
    "Duration",
    "Exists",
    "Expr",
    "FunctionCall",
    "Index",
    "Insert",
    "InsertVerb",
    "IsNull",
    "ListLiteral",
    "Literal",
    "Logical",
    "MatchItem",
    "MatchOp",
    "Membership",
    "Mutation",
    "Negation",
    "Not",
    "Now",
    "OptionalBlock",
    "Ordering",
    "Param",
    "Projection",
    "PropertyAccess",
    "PropertyName",
    "Quantifier",
    "QuantifierKind",
    "Query",
    "Read",
    "Slice",
    "Star",
    "Statement",
    "TextCall",
    "TextFunc",
    "Traversal",
    "UnionRead",
    "Unwind",
    "Update",
    "Value",
    "Variable",
]

Value = str | int | float | bool | dt.date | dt.datetime | None


class CompareOp(StrEnum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class MatchOp(StrEnum):
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    MATCHES = "matches"


class BoolOp(StrEnum):
    AND = "and"
    OR = "or"


class ArithmeticOp(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    CONCATENATE = "||"


class QuantifierKind(StrEnum):
    """Tests of the items of a list."""

    ANY = "any"
    ALL = "all"
    NONE = "none"


class AggregateFunc(StrEnum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"
    MIN_BY = "min_by"
    MAX_BY = "max_by"
    PERCENTILE = "percentile"
    STDDEV = "stddev"
    STDDEV_POP = "stddev_pop"


class TextFunc(StrEnum):
    """Functions written as calls over a property and a query."""

    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"
    NEAREST = "nearest"
    BM25 = "bm25"
    RRF = "rrf"


# --- expressions -------------------------------------------------------------------------------


@frozen
class Literal:
    """A scalar. Dates and datetimes were written ``date("…")`` and ``datetime("…")``."""

    value: Value
    span: Span


@frozen
class ListLiteral:
    """``[…]``; items are literals or variables."""

    items: tuple[Expr, ...]
    span: Span


@frozen
class Variable:
    """``$x``: a binding or a parameter; which one is known only with its scope."""

    name: str
    span: Span


@frozen
class PropertyAccess:
    """``$x.prop``."""

    variable: str
    prop: str
    span: Span
    variable_span: Span
    prop_span: Span


@frozen
class PropertyName:
    """A bare property, as in the ``where`` of a mutation."""

    prop: str
    span: Span


@frozen
class AliasRef:
    """A bare word in ``return`` or ``order``: an alias that the same ``return`` defines."""

    name: str
    span: Span


@frozen
class Star:
    """``*`` in ``return``: every variable of the pattern."""

    span: Span


@frozen
class Now:
    """``now()``: one instant for the whole query."""

    span: Span


@frozen
class Duration:
    """``duration("P1Y2M3DT4H5M6S")``: calendar months, days, and microseconds."""

    months: int
    days: int
    micros: int
    span: Span


@frozen
class Arithmetic:
    """``a + b``, ``a || b``."""

    op: ArithmeticOp
    left: Expr
    right: Expr
    span: Span


@frozen
class Negation:
    """``-a``."""

    operand: Expr
    span: Span


@frozen
class FunctionCall:
    """``lower($x.name)``."""

    name: str
    args: tuple[Expr, ...]
    span: Span
    name_span: Span


@frozen
class Cast:
    """``cast(a as I64)``; ``tries``: ``try_cast``, which gives NULL instead of an error."""

    operand: Expr
    dtype: DataType
    tries: bool
    span: Span


@frozen
class Case:
    """``case when a then b else c end``; with ``operand``, branches compare it for equality."""

    operand: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None
    span: Span


@frozen
class Index:
    """``a[0]``."""

    items: Expr
    index: Expr
    span: Span


@frozen
class Slice:
    """``a[1..3]``, ``a[1..]``, ``a[..3]``."""

    items: Expr
    low: Expr | None
    high: Expr | None
    span: Span


@frozen
class Quantifier:
    """``any($x in a where b)``, and with ``all`` and ``none``."""

    kind: QuantifierKind
    variable: str
    items: Expr
    condition: Expr
    span: Span
    variable_span: Span


@frozen
class Comparison:
    """``a op b``; ``op`` is a comparison or a string or list match."""

    op: CompareOp | MatchOp
    left: Expr
    right: Expr
    span: Span


@frozen
class Membership:
    """``a in [ … ]`` or ``a in $list``."""

    item: Expr
    options: Expr
    span: Span


@frozen
class IsNull:
    """``a is null``, ``a is not null``."""

    operand: Expr
    negated: bool
    span: Span


@frozen
class Logical:
    """``a and b and …``, ``a or b or …``; at least two operands, never the same operator nested."""

    op: BoolOp
    operands: tuple[Expr, ...]
    span: Span


@frozen
class Not:
    """``not ( … )``."""

    operand: Expr
    span: Span


@frozen
class Exists:
    """``exists { … }``, and ``not { … }`` with ``negated``."""

    block: tuple[MatchItem, ...]
    negated: bool
    span: Span


@frozen
class BlockAggregate:
    """``count { … }`` and ``sum { … return $x.p }`` (sum, min, max, avg name what they fold).

    The folded expression follows the block's clauses: ``sum { $p buys $i  return $i.price }``.
    """

    func: AggregateFunc
    block: tuple[MatchItem, ...]
    operand: Expr | None
    distinct: bool
    span: Span
    parameter: Expr | None = None


@frozen
class TextCall:
    """``search``, ``match_text``, ``nearest``, ``bm25``: property, query.

    For ``fuzzy`` maybe also the edits; for ``rrf`` the arguments are two rankings and, maybe, k.
    """

    func: TextFunc
    args: tuple[Expr, ...]
    span: Span


@frozen
class Aggregate:
    """``count($x)``, ``count(distinct $x.p)``, ``count(*)`` (operand None), ``sum($x.p)``.

    ``parameter`` is the second argument: a key of ``min_by``, the share of ``percentile``.
    """

    func: AggregateFunc
    operand: Expr | None
    distinct: bool
    span: Span
    parameter: Expr | None = None


Expr = (
    Literal
    | ListLiteral
    | Variable
    | PropertyAccess
    | PropertyName
    | AliasRef
    | Star
    | Now
    | Duration
    | Arithmetic
    | Negation
    | FunctionCall
    | Cast
    | Case
    | Index
    | Slice
    | Quantifier
    | Comparison
    | Membership
    | IsNull
    | Logical
    | Not
    | Exists
    | BlockAggregate
    | TextCall
    | Aggregate
)

# --- match -------------------------------------------------------------------------------------


@frozen
class Assignment:
    """``prop: value`` in a binding, an insert or an update."""

    prop: str
    value: Expr
    span: Span
    prop_span: Span


@frozen
class Binding:
    """``$x: Type { prop: value, … }``."""

    variable: str
    type_name: str
    filters: tuple[Assignment, ...]
    span: Span
    variable_span: Span
    type_span: Span


@frozen
class Traversal:
    """``$a knows{1,3} $b``, ``$a <knows> $b``, ``$a $w:knows $b``.

    Without bounds both hop counts are 1; ``max_hops`` is None for an open upper bound.
    """

    source: str
    target: str
    edge_name: str
    edge_variable: str | None
    undirected: bool
    min_hops: int
    max_hops: int | None
    span: Span
    source_span: Span
    target_span: Span
    edge_span: Span
    edge_variable_span: Span | None
    bounds_span: Span | None


@frozen
class Unwind:
    """``unwind $x.list as $item``: a row for each item."""

    items: Expr
    variable: str
    span: Span
    variable_span: Span


@frozen
class OptionalBlock:
    """``optional { … }``: a pattern whose variables are NULL where it has no match."""

    block: tuple[MatchItem, ...]
    span: Span


# Any boolean expression may stand among the clauses of a block; clauses are joined by ``and``.
MatchItem = Binding | Traversal | Unwind | OptionalBlock | Expr

# --- queries -----------------------------------------------------------------------------------


@frozen
class Param:
    """``$p: T?``."""

    name: str
    dtype: DataType
    nullable: bool
    span: Span


@frozen
class Projection:
    """``expr as alias``."""

    expr: Expr
    alias: str | None
    span: Span


@frozen
class Ordering:
    """``expr desc``; ``descending`` is None where no direction was written."""

    expr: Expr
    descending: bool | None
    span: Span


@frozen
class Read:
    """``match … return … having … order … limit … offset``.

    ``source`` is the stage before ``then``, whose columns are the variables of this one.
    """

    match: tuple[MatchItem, ...]
    returns: tuple[Projection, ...]
    distinct: bool
    order: tuple[Ordering, ...]
    limit: Expr | None
    offset: Expr | None
    span: Span
    having: Expr | None = None
    source: Read | None = None


@frozen
class UnionRead:
    """Reads joined by ``union``, which drops equal rows, or by ``union all``."""

    parts: tuple[Read, ...]
    all: bool
    span: Span


class InsertVerb(StrEnum):
    """The treatment of a key that exists: update the entity, refuse, or replace the whole row."""

    INSERT = "insert"
    CREATE = "create"
    REPLACE = "replace"


@frozen
class Insert:
    """``insert``, ``create`` and ``replace`` differ in ``verb`` alone."""

    verb: InsertVerb
    type_name: str
    assignments: tuple[Assignment, ...]
    span: Span
    type_span: Span


@frozen
class Update:
    """``where`` and values name properties alone, or by ``variable``: ``update T as $x``."""

    type_name: str
    assignments: tuple[Assignment, ...]
    where: Expr
    span: Span
    type_span: Span
    variable: str | None = None


@frozen
class Delete:
    """``where`` names properties as that of an update does."""

    type_name: str
    where: Expr
    span: Span
    type_span: Span
    variable: str | None = None


Statement = Insert | Update | Delete


@frozen
class Mutation:
    """One or more statements, never deletes beside inserts or updates."""

    statements: tuple[Statement, ...]
    span: Span


@frozen
class Query:
    name: str
    params: tuple[Param, ...]
    description: str | None
    instruction: str | None
    body: Read | UnionRead | Mutation
    span: Span
    name_span: Span


@frozen
class Document:
    """A file of queries."""

    queries: tuple[Query, ...]
