"""Syntax trees that no text parses to: the compiler does not trust the parser."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from typing import TYPE_CHECKING

import pytest

from omnigraph.compiler.lower import lower_query
from omnigraph.datatypes.types import DATETIME, F64, I64, STRING
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import ReadIR
from omnigraph.language.gq import ast
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

AT = Span(0, 1)
SAILOR = ast.Binding("s", "Sailor", (), AT, AT, AT)
LABEL = ast.PropertyAccess("s", "label", AT, AT, AT)
AGE = ast.PropertyAccess("s", "age", AT, AT, AT)
BIO_VECTOR = ast.PropertyAccess("s", "bio_vector", AT, AT, AT)
NULL = ast.Literal(None, AT)
ONE = ast.Literal(1, AT)
TEXT = ast.Literal("x", AT)
COUNT = ast.Aggregate(ast.AggregateFunc.COUNT, None, distinct=False, span=AT)


def query(body: ast.Read | ast.Mutation, params: tuple[ast.Param, ...] = ()) -> ast.Query:
    return ast.Query("q", params, None, None, body, AT, AT)


def read(
    *conditions: ast.Expr,
    returns: tuple[ast.Expr, ...] = (LABEL,),
    order: tuple[ast.Expr, ...] = (),
    limit: ast.Expr | None = None,
) -> ast.Query:
    return query(
        ast.Read(
            match=(SAILOR, *conditions),
            returns=tuple(ast.Projection(expr, f"c{at}", AT) for at, expr in enumerate(returns)),
            distinct=False,
            order=tuple(ast.Ordering(expr, None, AT) for expr in order),
            limit=limit,
            offset=None,
            span=AT,
        )
    )


def update(*assignments: ast.Assignment, where: ast.Expr) -> ast.Query:
    statement = ast.Update("Sailor", assignments, where, AT, AT)
    return query(ast.Mutation((statement,), AT))


def equal(left: ast.Expr, right: ast.Expr) -> ast.Comparison:
    return ast.Comparison(ast.CompareOp.EQ, left, right, AT)


def call(func: ast.TextFunc, *args: ast.Expr) -> ast.TextCall:
    return ast.TextCall(func, args, AT)


def nested(depth: int) -> ast.Expr:
    node: ast.Expr = equal(AGE, ONE)
    for _ in range(depth):
        node = ast.Not(node, AT)
    return node


def nested_blocks(depth: int) -> ast.Expr:
    node: ast.Expr = equal(AGE, ONE)
    for _ in range(depth):
        node = ast.Exists((node,), negated=False, span=AT)
    return node


def sum_block(operand: ast.Expr | None) -> ast.BlockAggregate:
    return ast.BlockAggregate(ast.AggregateFunc.SUM, (SAILOR,), operand, distinct=False, span=AT)


AGE_IS_ONE = equal(ast.PropertyName("age", AT), ONE)
SET_AGE = ast.Assignment("age", ONE, AT, AT)

REFUSED = {
    "an aggregate in match": (read(equal(COUNT, ONE)), "T30"),
    "an aggregate of an aggregate": (
        read(
            returns=(
                COUNT,
                ast.Aggregate(
                    ast.AggregateFunc.SUM, ast.AliasRef("c0", AT), distinct=False, span=AT
                ),
            )
        ),
        "T30",
    ),
    "a number as a condition": (read(ONE), "T34"),
    "an entity as a condition": (read(ast.Not(ast.Variable("s", AT), AT)), "T34"),
    "deep conditions": (read(nested(400)), "T39"),
    "deep blocks": (read(nested_blocks(400)), "T39"),
    "an empty update": (update(where=AGE_IS_ONE), "T40"),
    "a comparison with null": (read(equal(AGE, NULL)), "T7"),
    "null in a string": (
        read(ast.Comparison(ast.MatchOp.CONTAINS, LABEL, NULL, AT)),
        "T7",
    ),
    "null among options": (
        read(ast.Membership(AGE, ast.ListLiteral((ONE, NULL), AT), AT)),
        "T37",
    ),
    "null in a filter": (
        query(
            ast.Read(
                (ast.Binding("s", "Sailor", (ast.Assignment("age", NULL, AT, AT),), AT, AT, AT),),
                (ast.Projection(LABEL, None, AT),),
                distinct=False,
                order=(),
                limit=None,
                offset=None,
                span=AT,
            )
        ),
        "T3",
    ),
    "an integer beyond 64 bits": (read(equal(AGE, ast.Literal(2**64, AT))), "T3"),
    "a number that is none": (read(equal(AGE, ast.Literal(math.nan, AT))), "T3"),
    "a bare property in match": (read(equal(ast.PropertyName("age", AT), ONE)), "T6"),
    "a bare word in match": (read(equal(ast.AliasRef("age", AT), ONE)), "T6"),
    "a variable's property in where": (update(SET_AGE, where=equal(AGE, ONE)), "T14"),
    "a negative limit": (read(limit=ast.Literal(-1, AT)), "T33"),
    "a limit that is true": (read(limit=ast.Literal(True, AT)), "T33"),
    "a sum of nothing": (
        read(returns=(ast.Aggregate(ast.AggregateFunc.SUM, None, False, AT),)),
        "T8",
    ),
    "a sum over a block of nothing": (read(equal(sum_block(None), ONE)), "T8"),
    "a sum over a block of something unknown": (
        read(equal(sum_block(ast.PropertyAccess("s", "nope", AT, AT, AT)), ONE)),
        "T6",
    ),
    "a search without a query": (read(call(ast.TextFunc.SEARCH, LABEL)), "T19"),
    "a search of a literal": (read(call(ast.TextFunc.SEARCH, TEXT, TEXT)), "T19"),
    "a search for null": (read(call(ast.TextFunc.SEARCH, LABEL, NULL)), "T19"),
    "a nearest for null": (
        read(equal(call(ast.TextFunc.NEAREST, BIO_VECTOR, NULL), ONE)),
        "T25",
    ),
    "a score with three arguments": (
        read(equal(call(ast.TextFunc.BM25, LABEL, TEXT, ONE), ONE)),
        "T20",
    ),
    "a fusion of one": (
        read(returns=(call(ast.TextFunc.RRF, call(ast.TextFunc.BM25, LABEL, TEXT)),)),
        "T21",
    ),
    "a fusion with a wrong part": (
        read(
            returns=(
                call(
                    ast.TextFunc.RRF,
                    call(ast.TextFunc.BM25, AGE, TEXT),
                    call(ast.TextFunc.BM25, LABEL, TEXT),
                ),
            )
        ),
        "T20",
    ),
    "a vector with a variable": (
        read(
            equal(
                call(
                    ast.TextFunc.NEAREST,
                    BIO_VECTOR,
                    ast.ListLiteral((ast.Variable("s", AT),), AT),
                ),
                ONE,
            )
        ),
        "T37",
    ),
    "edits that are a property": (read(call(ast.TextFunc.FUZZY, LABEL, TEXT, AGE)), "T37"),
    "a property without a variable in return": (
        read(returns=(ast.PropertyName("label", AT),)),
        "T6",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_one_finding(name: str, harbour: Catalog) -> None:
    tree, code = REFUSED[name]
    lowered, found = lower_query(harbour, tree)
    assert lowered is None
    assert [one.code for one in found] == [code]


def columns(catalog: Catalog, *returns: ast.Expr) -> list[tuple[str, str, bool]]:
    lowered, found = lower_query(catalog, read(returns=returns))
    assert found == []
    assert isinstance(lowered, ReadIR)
    return [(column.name, column.kind, column.nullable) for column in lowered.columns]


def test_any_expression_may_be_a_column(harbour: Catalog) -> None:
    block = ast.BlockAggregate(
        ast.AggregateFunc.COUNT,
        (equal(LABEL, TEXT),),
        None,
        distinct=False,
        span=AT,
    )
    assert columns(harbour, equal(AGE, ONE), ast.IsNull(AGE, False, AT), block, NULL) == [
        ("c0", "bool", True),
        ("c1", "bool", False),
        ("c2", "bigint", False),
        ("c3", "string", True),
    ]


def test_columns_without_an_alias_are_named_after_what_they_are(harbour: Catalog) -> None:
    body = ast.Read(
        (SAILOR,),
        (
            ast.Projection(equal(AGE, ONE), None, AT),
            ast.Projection(ast.ListLiteral((ONE,), AT), None, AT),
            ast.Projection(call(ast.TextFunc.SEARCH, LABEL, TEXT), None, AT),
            ast.Projection(ast.Now(AT), None, AT),
        ),
        distinct=False,
        order=(),
        limit=None,
        offset=None,
        span=AT,
    )
    lowered, found = lower_query(harbour, query(body))
    assert found == []
    assert isinstance(lowered, ReadIR)
    assert [column.name for column in lowered.columns] == ["condition", "literal", "search", "now"]


def test_naive_instants_are_utc(harbour: Catalog) -> None:
    signed_on = ast.PropertyAccess("s", "signed_on", AT, AT, AT)
    naive = dt.datetime(2025, 1, 1)  # noqa: DTZ001 - the point of the test
    lowered, _ = lower_query(harbour, read(equal(signed_on, ast.Literal(naive, AT))))
    assert isinstance(lowered, ReadIR)
    (condition,) = lowered.match.filters
    assert isinstance(condition, ir.Compare)
    assert condition.right == ir.Const(naive.replace(tzinfo=dt.UTC), DATETIME)


def test_two_literals_are_compared_in_a_type_that_fits_both(harbour: Catalog) -> None:
    day = ast.Literal(dt.date(2025, 1, 1), AT)
    lowered, found = lower_query(
        harbour,
        read(
            equal(ONE, ast.Literal(1.5, AT)),
            equal(day, ast.Literal("2025-01-01", AT)),
            equal(ast.Literal("2025-01-01", AT), day),
        ),
    )
    assert found == []
    assert isinstance(lowered, ReadIR)
    first = lowered.match.filters[0]
    assert isinstance(first, ir.Compare)
    assert [ir.type_of(side) for side in (first.left, first.right)] == [F64, F64]
    assert lowered.match.filters[1] == lowered.match.filters[2]


def test_now_may_be_an_option(harbour: Catalog) -> None:
    signed_on = ast.PropertyAccess("s", "signed_on", AT, AT, AT)
    options = ast.ListLiteral((ast.Now(AT),), AT)
    lowered, _ = lower_query(harbour, read(ast.Membership(signed_on, options, AT)))
    assert isinstance(lowered, ReadIR)
    (condition,) = lowered.match.filters
    assert isinstance(condition, ir.InList)
    assert condition.options == ir.MakeList((ir.Now(),), DATETIME)


def test_strings_beside_members_of_an_enum_make_a_list_of_strings(harbour: Catalog) -> None:
    rank = ast.PropertyAccess("s", "rank", AT, AT, AT)
    options = ast.ListLiteral((ast.Literal("mate", AT), ast.Variable("p", AT)), AT)
    tree = read(ast.Membership(rank, options, AT))
    tree = dataclasses.replace(tree, params=(ast.Param("p", STRING, nullable=False, span=AT),))
    lowered, _ = lower_query(harbour, tree)
    assert isinstance(lowered, ReadIR)
    (condition,) = lowered.match.filters
    assert isinstance(condition, ir.InList)
    assert isinstance(condition.options, ir.MakeList)
    assert condition.options.item_type == STRING


def test_an_empty_list_holds_strings(harbour: Catalog) -> None:
    lowered, _ = lower_query(harbour, read(returns=(ast.ListLiteral((), AT),)))
    assert isinstance(lowered, ReadIR)
    assert lowered.returns[0].expr == ir.MakeList((), STRING)


def test_a_literal_may_be_looked_for_among_parameters(harbour: Catalog) -> None:
    options = ast.ListLiteral((ast.Variable("n", AT), ast.Literal(2, AT)), AT)
    tree = query(
        ast.Read(
            (SAILOR, ast.Membership(ONE, options, AT)),
            (ast.Projection(LABEL, None, AT),),
            distinct=False,
            order=(),
            limit=None,
            offset=None,
            span=AT,
        ),
        (ast.Param("n", I64, nullable=True, span=AT),),
    )
    lowered, found = lower_query(harbour, tree)
    assert found == []
    assert isinstance(lowered, ReadIR)
    (condition,) = lowered.match.filters
    assert ir.is_nullable(condition)


def test_parsed_nesting_is_deep_enough_for_the_parser(harbour: Catalog) -> None:
    for tree in (read(nested(128)), read(nested_blocks(64))):
        assert lower_query(harbour, tree)[1] == []
