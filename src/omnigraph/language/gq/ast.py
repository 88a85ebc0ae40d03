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
    "Assignment",
    "Binding",
    "BlockAggregate",
    "BoolOp",
    "CompareOp",
    "Comparison",
    "Delete",
    "Document",
    "Exists",
    "Expr",
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
    "Not",
    "Now",
    "Ordering",
    "Param",
    "Projection",
    "PropertyAccess",
    "PropertyName",
    "Query",
    "Read",
    "Statement",
    "TextCall",
    "TextFunc",
    "Traversal",
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


class BoolOp(StrEnum):
    AND = "and"
    OR = "or"


class AggregateFunc(StrEnum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


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
class Now:
    """``now()``: one instant for the whole query."""

    span: Span


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
    """``count($x)``, ``count(distinct $x.p)``, ``count(*)`` (operand None), ``sum($x.p)``."""

    func: AggregateFunc
    operand: Expr | None
    distinct: bool
    span: Span


Expr = (
    Literal
    | ListLiteral
    | Variable
    | PropertyAccess
    | PropertyName
    | AliasRef
    | Now
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


# Any boolean expression may stand among the clauses of a block; clauses are joined by ``and``.
MatchItem = Binding | Traversal | Expr

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
    """``match … return … order … limit … offset``; limit and offset are literals or parameters."""

    match: tuple[MatchItem, ...]
    returns: tuple[Projection, ...]
    distinct: bool
    order: tuple[Ordering, ...]
    limit: Expr | None
    offset: Expr | None
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
    """``where`` speaks of bare property names."""

    type_name: str
    assignments: tuple[Assignment, ...]
    where: Expr
    span: Span
    type_span: Span


@frozen
class Delete:
    type_name: str
    where: Expr
    span: Span
    type_span: Span


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
    body: Read | Mutation
    span: Span
    name_span: Span


@frozen
class Document:
    """A file of queries."""

    queries: tuple[Query, ...]
