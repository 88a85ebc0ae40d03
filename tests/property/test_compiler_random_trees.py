"""Whatever the syntax tree, the compiler answers with IR or a TypeFailure, and nothing else."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import CODES, bind_params, check_query, compile_query
from omnigraph.datatypes.types import EnumType, ListType, Scalar, ScalarType, VectorType
from omnigraph.errors import TypeFailure
from omnigraph.ir.printer import print_ir
from omnigraph.language.gq import ast
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source, Span
from omnigraph.testing.examples import examples

SCHEMA = Path(__file__).parents[1] / "fixtures" / "compiler" / "harbour.pg"
SOURCE = Source(SCHEMA.read_text(encoding="utf-8"), SCHEMA.name)
HARBOUR = build_catalog(parse_schema(SOURCE), SOURCE)
TEXT = Source("some text\nin two lines")

# Few names, so that right and wrong ones meet often.
variables = st.sampled_from(["a", "b", "c", "p", "q", "_"])
properties = st.sampled_from(
    [
        "label",
        "age",
        "rank",
        "languages",
        "bio",
        "bio_vector",
        "portrait",
        "born",
        "signed_on",
        "strength",
        "since",
        "from",
        "to",
        "id",
        "badge",
        "code",
        "sailor",
        "nope",
    ]
)
types = st.sampled_from(
    ["Sailor", "Ship", "Port", "Entry", "Chart", "Knows", "CallsAt", "Labelled", "Nope"]
)
edges = st.sampled_from(["knows", "servesOn", "callsAt", "escorts", "wrote", "nope"])
aliases = st.sampled_from(["x", "y", "z"])
spans = st.builds(lambda start: Span(start, start + 3), st.integers(0, 18))

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**66), 2**66),
    st.floats(),
    st.sampled_from(["mate", "2025-01-01", "2025-01-01T00:00:00Z", "base64:aGk=", "", "\udc80"]),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC])),
)
literals = st.builds(ast.Literal, values, spans)
names = st.one_of(
    st.builds(ast.Variable, variables, spans),
    st.builds(ast.PropertyAccess, variables, properties, spans, spans, spans),
    st.builds(ast.PropertyName, properties, spans),
    st.builds(ast.AliasRef, aliases, spans),
    st.builds(ast.Now, spans),
)
lists = st.builds(
    ast.ListLiteral, st.lists(st.one_of(literals, names), max_size=4).map(tuple), spans
)
assignments = st.builds(ast.Assignment, properties, st.one_of(literals, names, lists), spans, spans)
assigned = st.lists(assignments, max_size=4).map(tuple)
bindings = st.builds(ast.Binding, variables, types, assigned, spans, spans, spans)
traversals = st.builds(
    ast.Traversal,
    source=variables,
    target=variables,
    edge_name=edges,
    edge_variable=st.none() | variables,
    undirected=st.booleans(),
    min_hops=st.integers(0, 3),
    max_hops=st.none() | st.integers(0, 70),
    span=spans,
    source_span=spans,
    target_span=spans,
    edge_span=spans,
    edge_variable_span=st.none() | spans,
    bounds_span=st.none() | spans,
)


def compound(parts: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    items = st.lists(st.one_of(bindings, traversals, parts), max_size=4).map(tuple)
    operators = st.sampled_from([*ast.CompareOp, *ast.MatchOp])
    folds = st.sampled_from(ast.AggregateFunc)
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ast.Comparison, operators, parts, parts, spans),
        st.builds(ast.Membership, parts, parts, spans),
        st.builds(ast.IsNull, parts, st.booleans(), spans),
        st.builds(ast.Logical, st.sampled_from(ast.BoolOp), several, spans),
        st.builds(ast.Not, parts, spans),
        st.builds(ast.Exists, items, st.booleans(), spans),
        st.builds(ast.BlockAggregate, folds, items, st.none() | parts, st.booleans(), spans),
        st.builds(ast.TextCall, st.sampled_from(ast.TextFunc), several, spans),
        st.builds(ast.Aggregate, folds, st.none() | parts, st.booleans(), spans),
    )


expressions: st.SearchStrategy[ast.Expr] = st.recursive(
    st.one_of(literals, names, lists), compound, max_leaves=8
)
reads = st.builds(
    ast.Read,
    match=st.lists(st.one_of(bindings, traversals, expressions), max_size=6).map(tuple),
    returns=st.lists(
        st.builds(ast.Projection, expressions, st.none() | aliases, spans), max_size=4
    ).map(tuple),
    distinct=st.booleans(),
    order=st.lists(
        st.builds(ast.Ordering, expressions, st.none() | st.booleans(), spans), max_size=3
    ).map(tuple),
    limit=st.none() | st.one_of(literals, names),
    offset=st.none() | st.one_of(literals, names),
    span=spans,
)
statements = st.one_of(
    st.builds(ast.Insert, st.sampled_from(ast.InsertVerb), types, assigned, spans, spans),
    st.builds(ast.Update, types, assigned, expressions, spans, spans),
    st.builds(ast.Delete, types, expressions, spans, spans),
)
mutations = st.builds(ast.Mutation, st.lists(statements, max_size=3).map(tuple), spans)
data_types = st.one_of(
    st.sampled_from(Scalar).map(ScalarType),
    st.sampled_from(Scalar).map(ListType),
    st.sampled_from([2, 3, 4]).map(VectorType),
    st.just(EnumType(("captain", "mate"))),
)
parameters = st.lists(
    st.builds(ast.Param, st.sampled_from(["p", "q"]), data_types, st.booleans(), spans), max_size=2
).map(tuple)
queries = st.builds(
    ast.Query,
    name=st.just("q"),
    params=parameters,
    description=st.none(),
    instruction=st.none(),
    body=st.one_of(reads, mutations),
    span=spans,
    name_span=spans,
)


@settings(max_examples=examples(250), deadline=None)
@given(queries)
def test_a_tree_compiles_or_fails_with_known_codes(query: ast.Query) -> None:
    document = ast.Document((query,))
    try:
        compiled = compile_query(HARBOUR, document, TEXT)
    except TypeFailure as error:
        found = error.details["diagnostics"]
        assert found
        assert {finding["code"] for finding in found} <= set(CODES)
        assert check_query(HARBOUR, query)
    else:
        assert print_ir(compiled, HARBOUR)
        assert hash(compiled) == hash(compile_query(HARBOUR, document, TEXT))


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=examples(120), deadline=None)
@given(parameters, st.dictionaries(st.sampled_from(["p", "q", "r"]), json_values, max_size=3))
def test_parameters_are_bound_or_fail_typed(
    params: tuple[ast.Param, ...], given_values: dict[str, object]
) -> None:
    read = ast.Mutation((), Span(0, 0))
    query = ast.Query("q", params, None, None, read, Span(0, 0), Span(0, 0))
    compiled = compile_query(HARBOUR, ast.Document((query,)), TEXT)
    try:
        bound = bind_params(compiled, given_values)
    except TypeFailure as error:
        assert error.details["problems"]
    else:
        assert set(bound) == {param.name for param in params}
