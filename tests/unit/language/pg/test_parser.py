"""What a schema's text means as a tree."""

from __future__ import annotations

import pytest

from omnigraph.datatypes.types import (
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    spell_type,
)
from omnigraph.errors import SyntaxFailure
from omnigraph.language.pg.ast import (
    Annotation,
    Cardinality,
    Constraint,
    PropertyDecl,
    RangeBound,
    SchemaDocument,
)
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.syntax import strip_spans


def parse(text: str) -> SchemaDocument:
    return parse_schema(Source(text, "schema.pg"))


def property_of(text: str) -> PropertyDecl:
    [node] = parse(f"node T {{ {text} }}").nodes
    [prop] = node.properties
    return prop


def test_an_empty_text_is_an_empty_schema() -> None:
    assert parse("  // nothing\n") == SchemaDocument((), (), ())


@pytest.mark.parametrize("scalar", Scalar)
def test_every_scalar_is_a_type(scalar: Scalar) -> None:
    assert property_of(f"x: {scalar.value}").dtype == ScalarType(scalar)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("[String]", ListType(Scalar.STRING)),
        ("[DateTime]", ListType(Scalar.DATETIME)),
        ("Vector(768)", VectorType(768)),
        ("enum(b, a)", EnumType(("a", "b"))),
        (
            "enum(data-eng, 2fa, A_b, 2e5, 7, -x-)",
            EnumType(("-x-", "2e5", "2fa", "7", "A_b", "data-eng")),
        ),
    ],
)
def test_types_are_read_with_and_without_a_question_mark(text: str, dtype: object) -> None:
    required, optional = property_of(f"x: {text}"), property_of(f"x: {text}?")
    assert (required.dtype, required.nullable) == (dtype, False)
    assert (optional.dtype, optional.nullable) == (dtype, True)
    assert spell_type(optional.dtype, nullable=True).endswith("?")


def test_a_node_has_annotations_interfaces_properties_and_constraints() -> None:
    [node] = parse(
        'node Person @description("who") implements Named, Dated @team(7) {\n'
        "    slug: String @key\n"
        "    age: I32?\n"
        "    @unique(slug, age)\n"
        "}"
    ).nodes
    assert node.name == "Person"
    assert [name for name, _ in node.implements] == ["Named", "Dated"]
    assert [annotation.name for annotation in node.annotations] == ["description", "team"]
    assert [prop.name for prop in node.properties] == ["slug", "age"]
    assert [constraint.props for constraint in node.constraints] == [("slug", "age")]


def test_an_edge_needs_no_body() -> None:
    [edge] = parse("edge Knows: Person -> City").edges
    assert (edge.name, edge.source, edge.target) == ("Knows", "Person", "City")
    assert (edge.cardinality, edge.properties) == (None, ())


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0..1", 0, 1), ("1..*", 1, None), ("2..", 2, None), ("3..7", 3, 7)],
)
def test_cardinality_may_be_open(text: str, low: int, high: int | None) -> None:
    [edge] = parse(f'edge Knows: A -> B @card({text}) @description("x")').edges
    assert edge.cardinality is not None
    assert strip_spans(edge.cardinality) == strip_spans(
        Cardinality(low, high, edge.cardinality.span)
    )


def test_constraints_on_a_property_name_that_property() -> None:
    prop = property_of('x: String @key @unique @index @check("a+")')
    assert [(c.name, c.props, c.on_property) for c in prop.constraints] == [
        ("key", ("x",), True),
        ("unique", ("x",), True),
        ("index", ("x",), True),
        ("check", ("x",), True),
    ]
    assert prop.constraints[3].pattern == "a+"


def test_constraints_that_name_properties_belong_to_the_body() -> None:
    [node] = parse(
        'node T { x: I32 @index(x) @range(x, 0..9) @check(y, "a") y: String @key }'
    ).nodes
    assert [constraint.name for constraint in node.constraints] == ["index", "range", "check"]
    assert [constraint.name for constraint in node.properties[1].constraints] == ["key"]
    assert not node.properties[0].constraints


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0..150", 0, 150),
        ("-5..-1", -5, -1),
        ("..10", None, 10),
        ("10..", 10, None),
        ("0.5..1e3", 0.5, 1000.0),
        ("- 2 .. 2", -2, 2),
    ],
)
def test_ranges_may_be_open_negative_and_fractional(
    text: str, low: float | None, high: float | None
) -> None:
    inline = property_of(f"x: F64 @range({text})").constraints[0]
    [node] = parse(f"node T {{ x: F64 @range(x, {text}) }}").nodes
    [body] = node.constraints
    assert inline.bound == body.bound == RangeBound(low, high)
    assert type(inline.bound.low if inline.bound else None) is type(low)


def test_annotations_take_values_words_and_named_values() -> None:
    prop = property_of(
        'x: String @note("t", -1, 2.5, true, word, Word, data-eng, 2fa, a=-3, b="c")'
    )
    [annotation] = prop.annotations
    assert annotation == Annotation(
        "note",
        ("t", -1, 2.5, True, "word", "Word", "data-eng", "2fa"),
        (("a", -3), ("b", "c")),
        annotation.span,
    )


def test_spans_point_at_what_they_name() -> None:
    text = "node Person {\n    age: I32 @index\n    @range(age, 0..9)\n}"
    [node] = parse(text).nodes
    [prop] = node.properties
    [constraint] = node.constraints

    def cut(span: object) -> str:
        return text[span.start : span.end]  # type: ignore[attr-defined] # a Span

    assert cut(node.span) == text
    assert cut(node.name_span) == "Person"
    assert cut(prop.span) == "age: I32 @index"
    assert cut(constraint.span) == "@range(age, 0..9)"
    assert [cut(span) for span in constraint.prop_spans] == ["age"]


def test_words_of_the_language_are_allowed_as_names_of_properties() -> None:
    [node] = parse(
        "node T { node: String edge: I32 interface: Bool implements: Date enum: F64 }"
    ).nodes
    assert [prop.name for prop in node.properties] == [
        "node",
        "edge",
        "interface",
        "implements",
        "enum",
    ]


def test_errors_in_the_text_of_a_schema_carry_file_line_and_column() -> None:
    with pytest.raises(SyntaxFailure) as caught:
        parse("node Person {\n    name String\n}")
    [found] = caught.value.details["diagnostics"]
    assert (found["file"], found["line"], found["column"]) == ("schema.pg", 2, 10)


@pytest.mark.parametrize("opening", ["node A { x: [", "node A { x: enum(", "node A { x: F64 @f("])
def test_a_huge_number_of_openings_is_refused_quickly(opening: str) -> None:
    with pytest.raises(SyntaxFailure):
        parse(opening * 20_000)


def test_constraints_compare_by_what_they_say() -> None:
    [first] = parse("node T { x: I32 @index(x) }").nodes[0].constraints
    assert isinstance(first, Constraint)
    assert strip_spans(first) == strip_spans(
        parse("node T {x: I32\n@index( x )}").nodes[0].constraints[0]
    )
