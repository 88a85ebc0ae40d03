"""Whatever tree can be written is printed so that parsing it again gives the same tree."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq.ast import (
    Aggregate,
    AggregateFunc,
    AliasRef,
    Arithmetic,
    ArithmeticOp,
    Assignment,
    Binding,
    BlockAggregate,
    BoolOp,
    Case,
    Cast,
    CompareOp,
    Comparison,
    Delete,
    Document,
    Duration,
    Exists,
    Expr,
    FunctionCall,
    Index,
    Insert,
    InsertVerb,
    IsNull,
    ListLiteral,
    Literal,
    Logical,
    MatchItem,
    MatchOp,
    Membership,
    Mutation,
    Negation,
    Not,
    Now,
    OptionalBlock,
    Ordering,
    Param,
    Projection,
    PropertyAccess,
    PropertyName,
    Quantifier,
    QuantifierKind,
    Query,
    Read,
    Slice,
    Star,
    Statement,
    TextCall,
    TextFunc,
    Traversal,
    UnionRead,
    Unwind,
    Update,
    Variable,
)
from omnigraph.language.gq.formatter import format_queries
from omnigraph.language.gq.functions import FUNCTIONS
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import print_queries
from omnigraph.language.lexer import tokenize
from omnigraph.language.source import NO_SPAN, Source
from omnigraph.testing.syntax import strip_spans

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMETRISED = (AggregateFunc.MIN_BY, AggregateFunc.MAX_BY, AggregateFunc.PERCENTILE)
PREDICATES = (TextFunc.SEARCH, TextFunc.FUZZY, TextFunc.MATCH_TEXT)

# --- names: keywords are names like any other, but for the few that begin a value or a condition

KEYWORDS = [
    *("query", "match", "return", "order", "limit", "offset", "insert", "update", "delete", "set"),
    *("where", "as", "asc", "desc", "distinct", "exists", "count", "sum", "search", "rrf", "now"),
    *("contains", "starts_with", "in", "is", "and", "or", "date", "from", "to", "edits", "k"),
]
words = st.sampled_from([*KEYWORDS, "name", "age", "a_1", "camelCase", "_"])
aliases = words.filter(lambda word: word != "as")
property_names = st.sampled_from([*KEYWORDS, "name", "age", "not", "true", "null"])
# A traversal between parameters cannot be: `$p in $q` is then a condition.
variables = st.sampled_from(["x", "y", "z", "match", "_", "not"])
parameters = st.sampled_from(["p", "q", "limit", "in"])
type_names = st.sampled_from(["Person", "A", "Knows_2", "Vector"])
edge_names = st.sampled_from(
    ["knows", "contains", "in", "is", "starts_with", "count", "query", "as"]
)


# --- values


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda instant: instant.replace(fold=0)),
)
literals = scalars.map(lambda value: Literal(value, NO_SPAN))
variable_refs = (variables | parameters).map(lambda name: Variable(name, NO_SPAN))
items = literals | variable_refs
lists = st.lists(items, max_size=4).map(lambda found: ListLiteral(tuple(found), NO_SPAN))
values = st.one_of(literals, variable_refs, lists, st.just(Now(NO_SPAN)))
accesses = st.builds(
    lambda variable, prop: PropertyAccess(variable, prop, NO_SPAN, NO_SPAN, NO_SPAN),
    variables,
    property_names,
)
own_properties = words.map(lambda word: PropertyName(word, NO_SPAN))
folded = st.one_of(variable_refs, accesses)


@st.composite
def operations(draw: st.DrawFn, depth: int, targets: st.SearchStrategy[Expr]) -> Expr:
    """Arithmetic, calls, casts, ``case``, indexes and quantifiers."""
    inner: st.SearchStrategy[Expr] = values | targets
    if depth:
        inner = inner | operations(depth - 1, targets) | conditions(depth - 1, targets)
    one, other = draw(inner), draw(inner)
    match draw(st.integers(0, 8)):
        case 0 | 1:
            return Arithmetic(draw(st.sampled_from(ArithmeticOp)), one, other, NO_SPAN)
        case 2:
            return Negation(one, NO_SPAN)
        case 3:
            name = draw(st.sampled_from(FUNCTIONS))
            return FunctionCall(name, (one, other)[: draw(st.integers(0, 2))], NO_SPAN, NO_SPAN)
        case 4:
            kinds = [each for each in Scalar if each is not Scalar.BLOB]
            types = st.sampled_from(kinds).map(ScalarType) | st.sampled_from(kinds).map(ListType)
            return Cast(one, draw(types), draw(st.booleans()), NO_SPAN)
        case 5:
            tested = draw(st.none() | variable_refs)
            return Case(tested, ((one, other),), draw(st.none() | inner), NO_SPAN)
        case 6:
            return Index(one, other, NO_SPAN)
        case 7:
            low, high = draw(st.sampled_from([(one, other), (None, other), (one, None)]))
            return Slice(draw(inner), low, high, NO_SPAN)
        case _:
            kind, name = draw(st.sampled_from(QuantifierKind)), draw(variables)
            return Quantifier(kind, name, one, other, NO_SPAN, NO_SPAN)


durations = st.sampled_from([(14, 3, 0), (0, 0, 1_500_000), (-1, -2, -1), (0, 0, 0)]).map(
    lambda parts: Duration(*parts, NO_SPAN)
)


@st.composite
def text_calls(
    draw: st.DrawFn, targets: st.SearchStrategy[Expr], funcs: tuple[TextFunc, ...] = tuple(TextFunc)
) -> TextCall:
    func = draw(st.sampled_from(funcs))
    if func is TextFunc.RRF:
        rankings = text_calls(targets, (TextFunc.NEAREST, TextFunc.BM25))
        args: tuple[Expr, ...] = (draw(rankings), draw(rankings))
    else:
        args = (draw(targets), draw(items | lists))
    if func in (TextFunc.RRF, TextFunc.FUZZY) and draw(st.booleans()):
        args = (*args, draw(items))
    return TextCall(func, args, NO_SPAN)


# --- conditions and clauses; ``depth`` is what may still be nested


def logical(op: BoolOp, operands: list[Expr]) -> Expr:
    """As the parser builds them: never the same operator nested."""
    flat: list[Expr] = []
    for operand in operands:
        if isinstance(operand, Logical) and operand.op is op:
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return Logical(op, tuple(flat), NO_SPAN)


@st.composite
def conditions(draw: st.DrawFn, depth: int, targets: st.SearchStrategy[Expr]) -> Expr:
    """Over properties of variables with blocks, or over bare properties without."""
    in_match = targets is accesses
    kinds = ["compare", "compare", "in", "is", "text"]
    if depth:
        kinds += ["not", "logical", *["exists"] * in_match]
    operands: st.SearchStrategy[Expr] = st.one_of(values, targets, text_calls(targets), durations)
    if depth:
        operands |= operations(depth - 1, targets)
    if depth and in_match:
        operands |= folds(depth - 1)
    match draw(st.sampled_from(kinds)):
        case "compare":
            op = draw(st.sampled_from([*CompareOp, *MatchOp]))
            return Comparison(op, draw(operands), draw(operands), NO_SPAN)
        case "in":
            options = draw(st.one_of(lists, variable_refs, targets))
            return Membership(draw(operands), options, NO_SPAN)
        case "is":
            return IsNull(draw(operands), draw(st.booleans()), NO_SPAN)
        case "text":
            return draw(text_calls(targets, PREDICATES))
        case "not":
            return Not(draw(conditions(depth - 1, targets)), NO_SPAN)
        case "logical":
            inner = st.lists(conditions(depth - 1, targets), min_size=2, max_size=3)
            return logical(draw(st.sampled_from(BoolOp)), draw(inner))
        case _:
            return Exists(draw(blocks(depth - 1)), draw(st.booleans()), NO_SPAN)


def assignments(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[tuple[Assignment, ...]]:
    one = st.builds(lambda p, v: Assignment(p, v, NO_SPAN, NO_SPAN), property_names, inner)
    return st.lists(one, max_size=3).map(tuple)


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
    filters = draw(assignments(values))
    return Binding(draw(variables), draw(type_names), filters, NO_SPAN, NO_SPAN, NO_SPAN)


WORD_OPERATORS = {"contains", "starts_with", "ends_with", "matches", "in"}


@st.composite
def traversals(draw: st.DrawFn) -> Traversal:
    bounded = draw(st.booleans())
    edge_variable = draw(st.none() | variables)
    return Traversal(
        source=draw(variables),
        target=draw(variables),
        # Words of operators are names of edges only where no list or sign follows.
        edge_name=draw(edge_names.filter(lambda name: name not in WORD_OPERATORS)),
        edge_variable=edge_variable,
        undirected=draw(st.booleans()),
        min_hops=draw(st.integers(0, 9)) if bounded else 1,
        max_hops=draw(st.none() | st.integers(0, 9)) if bounded else 1,
        span=NO_SPAN,
        source_span=NO_SPAN,
        target_span=NO_SPAN,
        edge_span=NO_SPAN,
        edge_variable_span=None if edge_variable is None else NO_SPAN,
        bounds_span=NO_SPAN if bounded else None,
    )


@st.composite
def blocks(draw: st.DrawFn, depth: int) -> tuple[MatchItem, ...]:
    one: st.SearchStrategy[MatchItem] = st.one_of(
        bindings(), traversals(), conditions(depth, accesses), unwinds()
    )
    if depth:
        one |= blocks(depth - 1).map(lambda block: OptionalBlock(block, NO_SPAN))
    return tuple(draw(st.lists(one, min_size=1, max_size=3)))


@st.composite
def folds(draw: st.DrawFn, depth: int) -> BlockAggregate:
    func = draw(st.sampled_from(AggregateFunc))
    block = draw(blocks(depth))
    if func is AggregateFunc.COUNT and draw(st.booleans()):
        return BlockAggregate(func, block, None, distinct=False, span=NO_SPAN)
    parameter = draw(folded) if func in PARAMETRISED else None
    return BlockAggregate(func, block, draw(folded), draw(st.booleans()), NO_SPAN, parameter)


# --- queries


@st.composite
def aggregates(draw: st.DrawFn) -> Aggregate:
    if draw(st.booleans()):
        return Aggregate(AggregateFunc.COUNT, None, distinct=False, span=NO_SPAN)
    func = draw(st.sampled_from(AggregateFunc))
    parameter = draw(folded) if func in PARAMETRISED else None
    operand = draw(folded | operations(1, accesses))
    return Aggregate(func, operand, draw(st.booleans()), NO_SPAN, parameter)


@st.composite
def reads(draw: st.DrawFn, depth: int = 1) -> Read:
    references = aliases.map(lambda word: AliasRef(word, NO_SPAN))
    columns = st.one_of(
        values, accesses, references, aggregates(), text_calls(accesses), operations(2, accesses)
    )
    projections = st.builds(lambda e, a: Projection(e, a, NO_SPAN), columns, st.none() | aliases)
    projections |= st.just(Projection(Star(NO_SPAN), None, NO_SPAN))
    orderings = st.builds(lambda e, d: Ordering(e, d, NO_SPAN), columns, st.none() | st.booleans())
    counts = st.one_of(
        st.none(),
        st.integers(0, 2**63).map(lambda value: Literal(value, NO_SPAN)),
        parameters.map(lambda name: Variable(name, NO_SPAN)),
    )
    source = draw(st.none() | stages()) if depth else None
    return Read(
        match=draw(blocks(3)) if source is None or draw(st.booleans()) else (),
        returns=tuple(draw(st.lists(projections, min_size=1, max_size=3))),
        distinct=draw(st.booleans()),
        order=tuple(draw(st.lists(orderings, max_size=3))),
        limit=draw(counts),
        offset=draw(counts),
        span=NO_SPAN,
        having=draw(st.none() | conditions(1, accesses)),
        source=source,
    )


def stages() -> st.SearchStrategy[Read]:
    return reads(0)


@st.composite
def unions(draw: st.DrawFn) -> UnionRead:
    parts = draw(st.lists(reads(), min_size=2, max_size=3))
    return UnionRead(tuple(parts), draw(st.booleans()), NO_SPAN)


@st.composite
def unwinds(draw: st.DrawFn) -> Unwind:
    return Unwind(
        draw(values | accesses | operations(1, accesses)), draw(variables), NO_SPAN, NO_SPAN
    )


@st.composite
def statements(draw: st.DrawFn, kinds: list[str]) -> Statement:
    kind = draw(st.sampled_from(kinds))
    type_name = draw(type_names)
    changes = draw(assignments(values | st.just(Literal(None, NO_SPAN))))
    if kind == "insert":
        return Insert(draw(st.sampled_from(InsertVerb)), type_name, changes, NO_SPAN, NO_SPAN)
    where = draw(conditions(2, own_properties))
    if kind == "update":
        return Update(type_name, changes, where, NO_SPAN, NO_SPAN)
    return Delete(type_name, where, NO_SPAN, NO_SPAN)


@st.composite
def mutations(draw: st.DrawFn) -> Mutation:
    kinds = draw(st.sampled_from([["delete"], ["insert", "update"]]))
    return Mutation(tuple(draw(st.lists(statements(kinds), min_size=1, max_size=3))), NO_SPAN)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    types = st.one_of(
        st.sampled_from(Scalar).map(ScalarType),
        st.sampled_from(Scalar).map(ListType),
        st.integers(1, 65_536).map(VectorType),
    )
    names = draw(st.lists(parameters, unique=True, max_size=3))
    return Query(
        name=draw(words),
        params=tuple(Param(name, draw(types), draw(st.booleans()), NO_SPAN) for name in names),
        description=draw(st.none() | texts),
        instruction=draw(st.none() | texts),
        body=draw(st.one_of(reads(), mutations(), unions())),
        span=NO_SPAN,
        name_span=NO_SPAN,
    )


@st.composite
def documents(draw: st.DrawFn) -> Document:
    return Document(tuple(draw(st.lists(queries(), max_size=2, unique_by=lambda q: q.name))))


@settings(max_examples=150, deadline=None)
@given(documents())
def test_printing_and_parsing_again_is_the_identity(document: Document) -> None:
    text = print_queries(document)
    again = parse_queries(Source(text))
    # The texts of the trees are compared too: True equals 1, and -0.0 equals 0.0.
    assert strip_spans(again) == document
    assert repr(strip_spans(again)) == repr(document)
    assert print_queries(again) == text


@st.composite
def commented_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A printed document with numbered comments between its tokens."""
    text = print_queries(draw(documents()))
    tokens, _ = tokenize(Source(text))
    gaps = draw(st.lists(st.sampled_from([token.start for token in tokens]), max_size=6))
    comments = []
    for number, offset in enumerate(sorted(gaps, reverse=True)):
        comment = f"/* c{number} */"
        comments.append(comment)
        shapes: list[Callable[[str], str]] = [
            lambda c: f" {c} ",
            lambda c: f"\n{c}\n",
            lambda c: f" //{c}\n",
        ]
        text = text[:offset] + draw(st.sampled_from(shapes))(comment) + text[offset:]
    return text, comments


@settings(max_examples=100, deadline=None)
@given(commented_texts())
def test_formatting_keeps_every_comment_and_the_tree(case: tuple[str, list[str]]) -> None:
    text, comments = case
    # A line break that a comment brought can separate what was not separate: that is no loss.
    try:
        tree = strip_spans(parse_queries(Source(text)))
    except SyntaxFailure:
        # An index that begins a line is a list.
        reject()
    formatted = format_queries(Source(text))
    assert strip_spans(parse_queries(Source(formatted))) == tree
    assert sorted(re.findall(r"/\* c\d+ \*/", formatted)) == sorted(comments)
