"""What each construct of the query language becomes."""

from __future__ import annotations

import datetime as dt

import pytest

from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.language.gq.ast import (
    Aggregate,
    AggregateFunc,
    AliasRef,
    Assignment,
    Binding,
    BlockAggregate,
    BoolOp,
    CompareOp,
    Comparison,
    Delete,
    Exists,
    Expr,
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
    Not,
    Now,
    Ordering,
    Param,
    Projection,
    PropertyAccess,
    PropertyName,
    Query,
    Read,
    TextCall,
    TextFunc,
    Traversal,
    Update,
    Variable,
)
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import NO_SPAN, Source
from omnigraph.testing.syntax import strip_spans


def parse_one(text: str) -> Query:
    (query,) = parse_queries(Source(text)).queries
    return strip_spans(query)


def read(text: str, params: str = "") -> Read:
    body = parse_one(f"query q({params}) {{ {text} }}").body
    assert isinstance(body, Read)
    return body


def clauses(text: str, params: str = "") -> tuple[MatchItem, ...]:
    return read(f"match {{ {text} }} return {{ $x }}", params).match


def clause(text: str, params: str = "") -> MatchItem:
    (item,) = clauses(text, params)
    return item


def column(text: str) -> Projection:
    (projection,) = read(f"match {{ $x: X }} return {{ {text} }}").returns
    return projection


def statement(text: str) -> Insert | Update | Delete:
    body = parse_one(f"query q($p: String) {{ {text} }}").body
    assert isinstance(body, Mutation)
    (found,) = body.statements
    return found


def prop(name: str, variable: str = "x") -> PropertyAccess:
    return PropertyAccess(variable, name, NO_SPAN, NO_SPAN, NO_SPAN)


def var(name: str) -> Variable:
    return Variable(name, NO_SPAN)


def literal(value: str | float | bool | dt.date | None) -> Literal:
    return Literal(value, NO_SPAN)


def compare(left: Expr, op: CompareOp | MatchOp, right: Expr) -> Comparison:
    return Comparison(op, left, right, NO_SPAN)


def equal(name: str, value: int) -> Comparison:
    return compare(prop(name), CompareOp.EQ, literal(value))


def hop(source: str, edge: str, target: str) -> Traversal:
    return Traversal(
        source=source,
        target=target,
        edge_name=edge,
        edge_variable=None,
        undirected=False,
        min_hops=1,
        max_hops=1,
        span=NO_SPAN,
        source_span=NO_SPAN,
        target_span=NO_SPAN,
        edge_span=NO_SPAN,
        edge_variable_span=None,
        bounds_span=None,
    )


class TestHeads:
    def test_a_file_may_hold_no_query_at_all(self) -> None:
        assert parse_queries(Source("// nothing yet\n")).queries == ()

    def test_several_queries_keep_their_order(self) -> None:
        text = "query b() { insert B {} } query a() { insert A {} }"
        assert [query.name for query in parse_queries(Source(text)).queries] == ["b", "a"]

    def test_annotations_carry_text(self) -> None:
        query = parse_one('query q() @instruction("how") @description("wh\\"at") { insert A {} }')
        assert (query.description, query.instruction) == ('wh"at', "how")

    def test_annotations_are_optional(self) -> None:
        query = parse_one("query q() { insert A {} }")
        assert (query.description, query.instruction) == (None, None)

    @pytest.mark.parametrize(
        ("spelling", "expected"),
        [
            *[(scalar.value, ScalarType(scalar)) for scalar in Scalar],
            ("[DateTime]", ListType(Scalar.DATETIME)),
            ("Vector(768)", VectorType(768)),
        ],
    )
    def test_parameters_have_types(
        self, spelling: str, expected: ScalarType | ListType | VectorType
    ) -> None:
        query = parse_one(f"query q($a: {spelling}, $b: {spelling}?) {{ insert A {{}} }}")
        assert query.params == (
            Param("a", expected, nullable=False, span=NO_SPAN),
            Param("b", expected, nullable=True, span=NO_SPAN),
        )

    def test_spans_point_into_the_text(self) -> None:
        text = "  query find($n: I64) { match { $x: X } return { $x.age } }"
        (query,) = parse_queries(Source(text)).queries
        assert isinstance(query.body, Read)
        (binding,) = query.body.match
        (projection,) = query.body.returns
        assert isinstance(binding, Binding)
        assert isinstance(projection.expr, PropertyAccess)
        spans = [
            query.name_span,
            query.params[0].span,
            binding.span,
            binding.variable_span,
            binding.type_span,
            projection.expr.span,
            projection.expr.prop_span,
        ]
        assert [text[span.start : span.end] for span in spans] == [
            "find",
            "$n: I64",
            "$x: X",
            "$x",
            "X",
            "$x.age",
            "age",
        ]
        assert text[query.span.start : query.span.end] == text.strip()


class TestClauses:
    def test_a_binding_names_a_variable_and_its_type(self) -> None:
        assert clause("$x: Person") == Binding("x", "Person", (), NO_SPAN, NO_SPAN, NO_SPAN)

    @pytest.mark.parametrize("separator", [", ", ",\n", "\n", ",  // why\n"])
    def test_inline_filters_are_separated_by_commas_or_lines(self, separator: str) -> None:
        found = clause(f"$x: Person {{ name: $p{separator}born: now() }}", "$p: String")
        assert isinstance(found, Binding)
        assert found.filters == (
            Assignment("name", var("p"), NO_SPAN, NO_SPAN),
            Assignment("born", Now(NO_SPAN), NO_SPAN, NO_SPAN),
        )

    def test_empty_inline_filters_are_none(self) -> None:
        assert clause("$x: Person { }") == clause("$x: Person")

    def test_a_traversal_goes_one_hop(self) -> None:
        assert clause("$a knows $b") == hop("a", "knows", "b")

    def test_the_anonymous_variable_is_a_variable(self) -> None:
        assert clause("$a knows $_") == hop("a", "knows", "_")

    @pytest.mark.parametrize(
        ("bounds", "expected"), [("{1,3}", (1, 3)), ("{2,}", (2, None)), ("{0,0}", (0, 0))]
    )
    def test_hops_have_bounds(self, bounds: str, expected: tuple[int, int | None]) -> None:
        found = clause(f"$a knows{bounds} $b")
        assert isinstance(found, Traversal)
        assert (found.min_hops, found.max_hops) == expected
        assert found.bounds_span is not None

    def test_an_undirected_bound_edge(self) -> None:
        found = clause("$a $e:<knows>{1,2} $b")
        assert isinstance(found, Traversal)
        assert (found.edge_variable, found.edge_name, found.undirected) == ("e", "knows", True)

    def test_clauses_need_no_separator(self) -> None:
        assert clauses("$a knows $b $b.x = 1 $b: B not { $b knows $c }") == (
            hop("a", "knows", "b"),
            compare(prop("x", "b"), CompareOp.EQ, literal(1)),
            Binding("b", "B", (), NO_SPAN, NO_SPAN, NO_SPAN),
            Exists((hop("b", "knows", "c"),), negated=True, span=NO_SPAN),
        )


class TestTraversalOrOperator:
    """The one ambiguity of the language: a word after a bare variable."""

    @pytest.mark.parametrize("word", ["contains", "starts_with", "in", "is"])
    def test_between_two_bindings_the_word_is_an_edge(self, word: str) -> None:
        assert clause(f"$a {word} $b") == hop("a", word, "b")

    def test_bounds_make_it_an_edge(self) -> None:
        found = clause("$a in{1,2} $p", "$p: [String]")
        assert isinstance(found, Traversal)

    def test_a_literal_makes_it_an_operator(self) -> None:
        expected = compare(var("a"), MatchOp.CONTAINS, literal("x"))
        assert clause('$a contains "x"') == expected

    def test_a_list_makes_it_an_operator(self) -> None:
        options = ListLiteral((literal(1),), NO_SPAN)
        assert clause("$a in [1]") == Membership(var("a"), options, NO_SPAN)

    def test_a_property_makes_it_an_operator(self) -> None:
        assert clause("$a starts_with $x.p") == compare(var("a"), MatchOp.STARTS_WITH, prop("p"))

    @pytest.mark.parametrize("params", ["$a: String", "$b: [String]"])
    def test_a_parameter_on_either_side_makes_it_an_operator(self, params: str) -> None:
        assert clause("$a in $b", params) == Membership(var("a"), var("b"), NO_SPAN)

    def test_parameters_of_one_query_mean_nothing_in_the_next(self) -> None:
        text = "query p($a: String) { insert A {} } query q() { match { $a in $b } return { $a } }"
        body = strip_spans(parse_queries(Source(text)).queries[1].body)
        assert isinstance(body, Read)
        assert body.match == (hop("a", "in", "b"),)

    def test_parentheses_make_it_an_operator(self) -> None:
        assert clause("($a contains $b)") == compare(var("a"), MatchOp.CONTAINS, var("b"))

    @pytest.mark.parametrize(("words", "negated"), [("is null", False), ("is not null", True)])
    def test_null_makes_is_an_operator(self, words: str, negated: bool) -> None:
        assert clause(f"$a {words}") == IsNull(var("a"), negated, NO_SPAN)

    def test_smaller_than_a_value_is_no_undirected_edge(self) -> None:
        assert clause("$a < $x.p") == compare(var("a"), CompareOp.LT, prop("p"))
        assert clause("$a < now()") == compare(var("a"), CompareOp.LT, Now(NO_SPAN))


class TestConditions:
    @pytest.mark.parametrize("op", [*CompareOp, *MatchOp])
    def test_every_operator_compares(self, op: CompareOp | MatchOp) -> None:
        assert clause(f'$x.a {op.value} "v"') == compare(prop("a"), op, literal("v"))

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1", 1),
            ("-1", -1),
            ("- 1", -1),
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
            ("18446744073709551615", 2**64 - 1),
            ("1.5", 1.5),
            ("-2.5e-3", -0.0025),
            ("1e3", 1000.0),
            ("true", True),
            ("false", False),
            (r'"a\"\\\/\n\t\r\b\f\u00e9\ud83d\ude00"', 'a"\\/\n\t\r\b\fé😀'),
            ('date("2024-02-29")', dt.date(2024, 2, 29)),
            (
                'datetime("2024-02-29T12:30:00+02:00")',
                dt.datetime(2024, 2, 29, 10, 30, tzinfo=dt.UTC),
            ),
            ('datetime("2024-02-29T12:30")', dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)),
        ],
    )
    def test_literals_have_values(self, text: str, value: str | float | bool | dt.date) -> None:
        found = clause(f"$x.a = {text}")
        assert found == compare(prop("a"), CompareOp.EQ, literal(value))
        assert isinstance(found, Comparison)
        assert isinstance(found.right, Literal)
        assert type(found.right.value) is type(value)

    def test_lists_hold_literals_and_parameters(self) -> None:
        expected = ListLiteral((literal(1), literal(-2), var("p")), NO_SPAN)
        assert clause("$x.a in [1, -2, $p,]") == Membership(prop("a"), expected, NO_SPAN)
        assert clause("$x.a in []") == Membership(prop("a"), ListLiteral((), NO_SPAN), NO_SPAN)

    def test_and_binds_tighter_than_or(self) -> None:
        a, b, c = equal("a", 1), equal("b", 2), equal("c", 3)
        both = Logical(BoolOp.AND, (a, b), NO_SPAN)
        assert clause("$x.a = 1 and $x.b = 2 or $x.c = 3") == Logical(BoolOp.OR, (both, c), NO_SPAN)
        both = Logical(BoolOp.AND, (b, c), NO_SPAN)
        assert clause("$x.a = 1 or $x.b = 2 and $x.c = 3") == Logical(BoolOp.OR, (a, both), NO_SPAN)

    def test_parentheses_bind_tightest(self) -> None:
        a, b, c = equal("a", 1), equal("b", 2), equal("c", 3)
        either = Logical(BoolOp.OR, (a, b), NO_SPAN)
        expected = Logical(BoolOp.AND, (either, c), NO_SPAN)
        assert clause("($x.a = 1 or $x.b = 2) and $x.c = 3") == expected

    def test_runs_of_one_operator_are_flat(self) -> None:
        a, b, c = equal("a", 1), equal("b", 2), equal("c", 3)
        expected = Logical(BoolOp.AND, (a, b, c), NO_SPAN)
        assert clause("$x.a = 1 and $x.b = 2 and $x.c = 3") == expected
        assert clause("$x.a = 1 and ($x.b = 2 and $x.c = 3)") == expected

    def test_not_negates_a_condition(self) -> None:
        assert clause("not ($x.a = 1)") == Not(equal("a", 1), NO_SPAN)

    @pytest.mark.parametrize(
        ("word", "negated"), [("exists", False), ("not", True), ("not exists", True)]
    )
    def test_blocks_are_asked_for_rows(self, word: str, negated: bool) -> None:
        expected = Exists((hop("x", "knows", "y"),), negated=negated, span=NO_SPAN)
        assert clause(f"{word} {{ $x knows $y }}") == expected

    def test_blocks_join_conditions(self) -> None:
        block = Exists((hop("x", "knows", "y"),), negated=False, span=NO_SPAN)
        expected = Logical(BoolOp.OR, (equal("a", 1), block), NO_SPAN)
        assert clause("$x.a = 1 or exists { $x knows $y }") == expected

    def test_count_folds_a_block(self) -> None:
        folded = BlockAggregate(
            AggregateFunc.COUNT, (hop("x", "knows", "y"),), None, distinct=False, span=NO_SPAN
        )
        expected = compare(folded, CompareOp.GT, literal(2))
        assert clause("count { $x knows $y } > 2") == expected

    @pytest.mark.parametrize("func", [*AggregateFunc][:6])
    @pytest.mark.parametrize("distinct", [False, True])
    def test_every_aggregate_folds_a_property_of_a_block(
        self, func: AggregateFunc, distinct: bool
    ) -> None:
        folded = BlockAggregate(
            func, (hop("x", "knows", "y"),), prop("age", "y"), distinct=distinct, span=NO_SPAN
        )
        word = "distinct " if distinct else ""
        found = clause(f"3 < {func.value} {{ $x knows $y return {word}$y.age }}")
        assert found == compare(literal(3), CompareOp.LT, folded)

    @pytest.mark.parametrize("func", [TextFunc.SEARCH, TextFunc.FUZZY, TextFunc.MATCH_TEXT])
    def test_text_predicates_are_conditions(self, func: TextFunc) -> None:
        expected = TextCall(func, (prop("a"), var("q")), NO_SPAN)
        assert clause(f"{func.value}($x.a, $q)") == expected

    @pytest.mark.parametrize("option", ["1", "edits=1", "edits = 1"])
    def test_an_option_may_be_named(self, option: str) -> None:
        expected = TextCall(TextFunc.FUZZY, (prop("a"), var("q"), literal(1)), NO_SPAN)
        assert clause(f"fuzzy($x.a, $q, {option})") == expected

    def test_scores_can_be_compared(self) -> None:
        score = TextCall(TextFunc.BM25, (prop("a"), var("q")), NO_SPAN)
        assert clause("bm25($x.a, $q) > 0.5") == compare(score, CompareOp.GT, literal(0.5))


class TestResults:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("$x", var("x")),
            ("$x.a", prop("a")),
            ('"v"', literal("v")),
            ("[1]", ListLiteral((literal(1),), NO_SPAN)),
            ("now()", Now(NO_SPAN)),
            ("earlier", AliasRef("earlier", NO_SPAN)),
            ("count(*)", Aggregate(AggregateFunc.COUNT, None, distinct=False, span=NO_SPAN)),
            ("count($x)", Aggregate(AggregateFunc.COUNT, var("x"), distinct=False, span=NO_SPAN)),
            (
                "count(distinct $x.a)",
                Aggregate(AggregateFunc.COUNT, prop("a"), distinct=True, span=NO_SPAN),
            ),
            ("max($x.a)", Aggregate(AggregateFunc.MAX, prop("a"), distinct=False, span=NO_SPAN)),
        ],
    )
    def test_a_column_is_a_value(self, text: str, expected: Expr) -> None:
        assert column(text) == Projection(expected, None, NO_SPAN)

    def test_a_column_may_have_an_alias(self) -> None:
        assert column("$x.a as b").alias == "b"

    @pytest.mark.parametrize("separator", [",", "\n", " , // first\n"])
    def test_columns_are_separated_by_commas_or_lines(self, separator: str) -> None:
        found = read(f"match {{ $x: X }} return {{ $x.a{separator}$x.b as c }}").returns
        assert [projection.expr for projection in found] == [prop("a"), prop("b")]

    def test_results_can_be_distinct(self) -> None:
        assert read("match { $x: X } return distinct { $x.a }").distinct
        assert not read("match { $x: X } return { $x.a }").distinct

    def test_rankings_can_be_fused(self) -> None:
        nearest = TextCall(TextFunc.NEAREST, (prop("v"), var("q")), NO_SPAN)
        bm25 = TextCall(TextFunc.BM25, (prop("t"), var("q")), NO_SPAN)
        found = column("rrf(nearest($x.v, $q), bm25($x.t, $q), k=10)").expr
        assert found == TextCall(TextFunc.RRF, (nearest, bm25, literal(10)), NO_SPAN)

    def test_rows_are_ordered_by_keys(self) -> None:
        found = read("match { $x: X } return { $x.a as b } order { b desc, $x.c asc, $x.d, }")
        assert found.order == (
            Ordering(AliasRef("b", NO_SPAN), descending=True, span=NO_SPAN),
            Ordering(prop("c"), descending=False, span=NO_SPAN),
            Ordering(prop("d"), descending=None, span=NO_SPAN),
        )

    @pytest.mark.parametrize("text", ["limit 3 offset $n", "offset $n limit 3"])
    def test_limit_and_offset_are_numbers_or_parameters(self, text: str) -> None:
        found = read(f"match {{ $x: X }} return {{ $x }} {text}")
        assert (found.limit, found.offset) == (literal(3), var("n"))


class TestMutations:
    def test_insert_assigns_values(self) -> None:
        found = statement("insert A { a: 1, b: $p c: null }".replace(" c", "\nc"))
        assert found == Insert(
            InsertVerb.INSERT,
            "A",
            (
                Assignment("a", literal(1), NO_SPAN, NO_SPAN),
                Assignment("b", var("p"), NO_SPAN, NO_SPAN),
                Assignment("c", literal(None), NO_SPAN, NO_SPAN),
            ),
            NO_SPAN,
            NO_SPAN,
        )

    def test_update_changes_what_a_condition_on_bare_properties_finds(self) -> None:
        name = compare(PropertyName("name", NO_SPAN), CompareOp.EQ, var("p"))
        old = IsNull(PropertyName("age", NO_SPAN), negated=True, span=NO_SPAN)
        assert statement("update A set { a: now() } where name = $p and age is not null") == Update(
            "A",
            (Assignment("a", Now(NO_SPAN), NO_SPAN, NO_SPAN),),
            Logical(BoolOp.AND, (name, old), NO_SPAN),
            NO_SPAN,
            NO_SPAN,
        )

    def test_delete_takes_every_condition(self) -> None:
        options = ListLiteral((literal("x"),), NO_SPAN)
        tags = Membership(PropertyName("tag", NO_SPAN), options, NO_SPAN)
        assert statement('delete A where not (tag in ["x"])') == Delete(
            "A", Not(tags, NO_SPAN), NO_SPAN, NO_SPAN
        )

    def test_statements_follow_each_other(self) -> None:
        body = parse_one(
            "query q() { insert A {} update B set { x: 1 } where y = 2 insert C {} }"
        ).body
        assert isinstance(body, Mutation)
        assert [found.type_name for found in body.statements] == ["A", "B", "C"]
