"""Generated schemas: what is printed reads the same, catalogs survive, identities follow edits."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.canonical import canonical_bytes, digest, from_json, to_json
from omnigraph.catalog.diff import plan_migration
from omnigraph.catalog.render import render_plan
from omnigraph.catalog.source import print_catalog
from omnigraph.catalog.steps import (
    AddProperty,
    AddType,
    DropProperty,
    DropType,
    RenameProperty,
    RenameType,
    UnsupportedChange,
)
from omnigraph.datatypes.types import (
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    is_numeric,
)
from omnigraph.language.pg.ast import (
    Annotation,
    Cardinality,
    Constraint,
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    PropertyDecl,
    RangeBound,
    SchemaDocument,
)
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.printer import print_schema
from omnigraph.language.source import NO_SPAN, Source
from omnigraph.testing.examples import examples
from omnigraph.testing.syntax import strip_spans

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.pg.ast import AnnotationValue

NAMES = [*(f"p{number}" for number in range(8)), "from_year", "createdAt", "_x", "node", "enum"]
SCALARS = [ScalarType(scalar) for scalar in Scalar]
ITEMS = [scalar for scalar in Scalar if scalar is not Scalar.BLOB]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES: st.SearchStrategy[AnnotationValue] = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
)
WORDS = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)
DEFAULTS: dict[Scalar, st.SearchStrategy[Any]] = {
    Scalar.STRING: TEXTS,
    Scalar.BOOL: st.booleans(),
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1).map(str),
    Scalar.F32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Scalar.F64: st.floats(allow_nan=False, allow_infinity=False),
    Scalar.DATE: st.dates().map(str),
    Scalar.DATETIME: st.datetimes().map(lambda value: f"{value.isoformat()}Z"),
}


def constraint(name: str, *props: str, **values: Any) -> Constraint:
    inline = values.pop("on_property", False)
    bound, pattern = values.get("bound"), values.get("pattern")
    spans = () if inline else (NO_SPAN,) * len(props)
    return Constraint(name, props, bound, pattern, inline, NO_SPAN, spans)


def annotation(name: str, *args: AnnotationValue, **kwargs: AnnotationValue) -> Annotation:
    return Annotation(name, args, tuple(kwargs.items()), NO_SPAN)


@st.composite
def types(draw: st.DrawFn) -> DataType:
    match draw(st.integers(0, 5)):
        case 0:
            return EnumType(tuple(sorted(draw(st.sets(WORDS, min_size=1, max_size=4)))))
        case 1:
            return ListType(draw(st.sampled_from(ITEMS)))
        case 2:
            return VectorType(draw(st.integers(1, 65_536)))
        case _:
            return draw(st.sampled_from(SCALARS))


def identifies(dtype: DataType) -> bool:
    return not isinstance(dtype, ListType | VectorType) and dtype != ScalarType(Scalar.BLOB)


@st.composite
def properties(draw: st.DrawFn, name: str) -> PropertyDecl:
    dtype = draw(types())
    constraints = []
    if identifies(dtype):
        constraints = [
            constraint(each, name, on_property=True)
            for each in draw(st.sets(st.sampled_from(["unique", "index"])))
        ]
    annotations = [
        annotation("description", draw(TEXTS.filter(str.strip)))
        for _ in range(draw(st.integers(0, 1)))
    ]
    if draw(st.booleans()):
        annotations.append(
            annotation("note", *draw(st.lists(VALUES, max_size=3)), key=draw(VALUES))
        )
    if draw(st.booleans()):
        if isinstance(dtype, EnumType):
            annotations.append(annotation("default", draw(st.sampled_from(dtype.values))))
        elif isinstance(dtype, ScalarType) and dtype.scalar in DEFAULTS:
            annotations.append(annotation("default", draw(DEFAULTS[dtype.scalar])))
    return PropertyDecl(
        name, dtype, draw(st.booleans()), tuple(annotations), tuple(constraints), NO_SPAN, NO_SPAN
    )


@st.composite
def bodies(
    draw: st.DrawFn, prefix: str = ""
) -> tuple[tuple[PropertyDecl, ...], tuple[Constraint, ...]]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    props = tuple(draw(properties(f"{prefix}{name}")) for name in names)
    rules = []
    for prop in props:
        has_default = any(each.name == "default" for each in prop.annotations)
        if has_default or not draw(st.booleans()):
            continue
        if is_numeric(prop.dtype):
            low, high = sorted(draw(st.tuples(st.integers(0, 99), st.integers(0, 99))))
            rules.append(constraint("range", prop.name, bound=RangeBound(low, high)))
        if prop.dtype == ScalarType(Scalar.STRING):
            rules.append(constraint("check", prop.name, pattern=r"[a-z]+\d*"))
    members = [prop.name for prop in props if identifies(prop.dtype)]
    if len(members) > 1 and draw(st.booleans()):
        rules.append(constraint("unique", *draw(st.permutations(members))))
    return props, tuple(rules)


@st.composite
def schemas(draw: st.DrawFn) -> SchemaDocument:
    """Schemas that obey every rule."""
    interfaces = []
    for number in range(draw(st.integers(0, 2))):
        props, rules = draw(bodies(f"i{number}_"))
        interfaces.append(InterfaceDecl(f"I{number}", props, rules, (), NO_SPAN, NO_SPAN))
    nodes = [
        draw(node_types(f"N{number}", interfaces)) for number in range(draw(st.integers(1, 4)))
    ]
    edges = [
        draw(edge_types(f"E{number}", [node.name for node in nodes]))
        for number in range(draw(st.integers(0, 3)))
    ]
    return SchemaDocument(tuple(interfaces), tuple(nodes), tuple(edges))


@st.composite
def node_types(draw: st.DrawFn, name: str, interfaces: list[InterfaceDecl]) -> NodeDecl:
    implemented = [each for each in interfaces if draw(st.booleans())]
    props, rules = draw(bodies())
    for prop in (each for interface in implemented for each in interface.properties):
        if draw(st.integers(0, 3)) == 0:
            again = replace(prop, annotations=(annotation("again"),), constraints=())
            props = (*props, again)
    keys = [prop.name for prop in props if identifies(prop.dtype) and not prop.nullable]
    has_key = draw(st.booleans())
    if keys and has_key:
        chosen = draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
        rules = (*rules, constraint("key", *chosen))
    notes = (annotation("instruction", "go"),) if draw(st.booleans()) else ()
    implements = tuple((each.name, NO_SPAN) for each in implemented)
    return NodeDecl(name, implements, props, rules, notes, NO_SPAN, NO_SPAN)


@st.composite
def edge_types(draw: st.DrawFn, name: str, nodes: list[str]) -> EdgeDecl:
    props, rules = draw(bodies())
    if draw(st.booleans()):
        rules = (*rules, constraint("key", "src", "dst"))
    card = draw(st.sampled_from([None, (0, 1), (1, None), (2, 5)]))
    return EdgeDecl(
        name=name,
        source=draw(st.sampled_from(nodes)),
        target=draw(st.sampled_from(nodes)),
        cardinality=Cardinality(card[0], card[1], NO_SPAN) if card else None,
        properties=props,
        constraints=rules,
        annotations=(),
        span=NO_SPAN,
        name_span=NO_SPAN,
        source_span=NO_SPAN,
        target_span=NO_SPAN,
    )


def build(document: SchemaDocument, previous: Catalog | None = None) -> Catalog:
    """By way of the text, as a user's schema comes."""
    source = Source(print_schema(document), "generated.pg")
    return build_catalog(parse_schema(source), source, previous=previous)


@settings(max_examples=examples(80), deadline=None)
@given(schemas())
def test_what_is_printed_reads_the_same(document: SchemaDocument) -> None:
    printed = print_schema(document)
    again = parse_schema(Source(printed))
    assert strip_spans(again) == strip_spans(document)
    assert print_schema(again) == printed


@settings(max_examples=examples(60), deadline=None)
@given(schemas())
def test_catalogs_survive_text_and_json(document: SchemaDocument) -> None:
    catalog = build(document)
    printed = Source(print_catalog(catalog))
    again = build_catalog(parse_schema(printed), printed, previous=catalog)
    assert again == catalog
    assert canonical_bytes(again) == canonical_bytes(catalog)
    loaded = from_json(json.loads(canonical_bytes(catalog)))
    assert loaded == catalog
    assert digest(loaded) == digest(catalog)
    assert plan_migration(catalog, again).steps == ()


# --- edits -------------------------------------------------------------------------------------


@dataclass
class Edited:
    """A schema after edits, and where its types and properties came from."""

    document: SchemaDocument
    # New name to old name; what is absent is new.
    types: dict[str, str]
    properties: dict[tuple[str, str], tuple[str, str]]


@st.composite
def edits(draw: st.DrawFn) -> tuple[SchemaDocument, Edited]:
    """Renames, drops and additions of nodes and their properties, interfaces left alone."""
    before = draw(schemas())
    plain = SchemaDocument((), tuple(replace(node, implements=()) for node in before.nodes), ())
    # What an interface declared is declared by nobody now.
    before = replace(plain, nodes=tuple(_without_inherited(node) for node in plain.nodes))
    nodes: list[NodeDecl] = []
    origins: dict[str, str] = {}
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for node in before.nodes:
        fate = draw(st.sampled_from(["keep", "keep", "rename", "drop"]))
        if fate == "drop":
            continue
        name = f"{node.name}New" if fate == "rename" else node.name
        origins[name] = node.name
        after = _edit_properties(draw, node, name, kept)
        if fate == "rename":
            after = replace(
                after,
                name=name,
                annotations=(*node.annotations, annotation("rename_from", node.name)),
            )
        nodes.append(after)
    if draw(st.booleans()):
        nodes.append(NodeDecl("Fresh", (), (), (), (), NO_SPAN, NO_SPAN))
    order = draw(st.permutations(nodes))
    return before, Edited(SchemaDocument((), tuple(order), ()), origins, kept)


def _without_inherited(node: NodeDecl) -> NodeDecl:
    own = tuple(prop for prop in node.properties if prop.name in NAMES)
    names = {prop.name for prop in own}
    rules = tuple(each for each in node.constraints if names.issuperset(each.props))
    return replace(node, properties=own, constraints=rules)


def _edit_properties(
    draw: st.DrawFn,
    node: NodeDecl,
    name: str,
    kept: dict[tuple[str, str], tuple[str, str]],
) -> NodeDecl:
    fates = {
        prop.name: draw(st.sampled_from(["keep", "keep", "rename", "drop"]))
        for prop in node.properties
    }
    # Keys do not change, so their members stay.
    for rule in node.constraints:
        if rule.name == "key":
            fates |= dict.fromkeys(rule.props, "keep")
    spelled = {
        old: f"{old}_new" if fate == "rename" else old
        for old, fate in fates.items()
        if fate != "drop"
    }
    props = []
    for prop in node.properties:
        if prop.name not in spelled:
            continue
        new = spelled[prop.name]
        kept[name, new] = (node.name, prop.name)
        constraints = tuple(replace(each, props=(new,)) for each in prop.constraints)
        notes = prop.annotations
        if new != prop.name:
            notes = (*notes, annotation("rename_from", prop.name))
        props.append(replace(prop, name=new, constraints=constraints, annotations=notes))
    if draw(st.booleans()):
        props.append(PropertyDecl("fresh", ScalarType(Scalar.I32), True, (), (), NO_SPAN, NO_SPAN))
    rules = tuple(
        replace(each, props=tuple(spelled[member] for member in each.props))
        for each in node.constraints
        if all(member in spelled for member in each.props)
    )
    return replace(node, properties=tuple(props), constraints=rules)


@settings(max_examples=examples(60), deadline=None)
@given(edits())
def test_identities_and_columns_follow_edits(case: tuple[SchemaDocument, Edited]) -> None:
    document, edited = case
    first = build(document)
    second = build(edited.document, first)
    old_types = {node.name: node for node in first.nodes}
    for node in second.nodes:
        origin = edited.types.get(node.name)
        assert (node.id in first.types) == (origin is not None)
        if origin is not None:
            assert node.id == old_types[origin].id
        for prop in node.properties:
            came_from = edited.properties.get((node.name, prop.name))
            if came_from is None:
                assert origin is None or prop.id not in {p.id for p in old_types[origin].properties}
            else:
                before = old_types[came_from[0]].by_name[came_from[1]]
                assert (prop.id, prop.column) == (before.id, before.column)


@settings(max_examples=examples(60), deadline=None)
@given(edits(), st.booleans())
def test_plans_say_exactly_what_was_edited(
    case: tuple[SchemaDocument, Edited], allow_data_loss: bool
) -> None:
    document, edited = case
    first = build(document)
    second = build(edited.document, first)
    plan = plan_migration(first, second, allow_data_loss=allow_data_loss)
    steps = plan.steps
    assert {step.old_name: step.type_name for step in steps if isinstance(step, RenameType)} == {
        old: new for new, old in edited.types.items() if old != new
    }
    assert {step.type_name for step in steps if isinstance(step, AddType)} == {
        node.name for node in second.nodes if node.name not in edited.types
    }
    assert {step.type_name for step in steps if isinstance(step, DropType)} == {
        node.name for node in first.nodes if node.name not in edited.types.values()
    }
    assert {(s.type_name, s.old_name) for s in steps if isinstance(s, RenameProperty)} == {
        (new[0], old[1]) for new, old in edited.properties.items() if old[1] != new[1]
    }
    dropped = {(step.type_name, step.prop.name) for step in steps if isinstance(step, DropProperty)}
    new_names = {old: new for new, old in edited.types.items()}
    assert dropped == {
        (new_names[node.name], prop.name)
        for node in first.nodes
        if node.name in new_names
        for prop in node.properties
        if (node.name, prop.name) not in edited.properties.values()
    }
    assert {step.prop.name for step in steps if isinstance(step, AddProperty)} <= {"fresh"}
    assert not [step for step in steps if isinstance(step, UnsupportedChange)]
    assert json.dumps(plan.to_json())
    assert render_plan(plan)


def unordered(body: Any) -> Any:
    """JSON in which the order of definitions means nothing. That of plain values does: members of a
    constraint, arguments of an annotation."""
    if isinstance(body, dict):
        return {
            key: value if key == "annotations" else unordered(value) for key, value in body.items()
        }
    if isinstance(body, list) and all(isinstance(item, dict) for item in body):
        return sorted((unordered(item) for item in body), key=json.dumps)
    return body


@settings(max_examples=examples(60), deadline=None)
@given(schemas(), schemas(), st.sampled_from(["reversed", "weakened", "other"]))
def test_an_empty_plan_means_the_same_schema(
    document: SchemaDocument, other: SchemaDocument, what: str
) -> None:
    if what == "reversed":
        other = replace(document, nodes=document.nodes[::-1], edges=document.edges[::-1])
    elif what == "weakened":
        weaker = tuple(replace(node, constraints=node.constraints[:-1]) for node in document.nodes)
        other = replace(document, nodes=weaker)
    first = build(document)
    second = build(other, first)
    # As texts: to Python, false and 0 are equal.
    same = json.dumps(unordered(to_json(first))) == json.dumps(unordered(to_json(second)))
    assert (plan_migration(first, second).steps == ()) == same


@settings(max_examples=examples(50), deadline=None)
@given(schemas(), schemas())
def test_any_schema_has_a_plan_to_any_other_and_back(
    document: SchemaDocument, other: SchemaDocument
) -> None:
    first = build(document)
    second = build(other, first)
    there = plan_migration(first, second)
    back = plan_migration(second, build(document, second))
    for plan in (there, back):
        assert json.dumps(plan.to_json())
        assert render_plan(plan)
        named = {step.type_name for step in plan.steps}
        for catalog in (first, second):
            named -= {interface.name for interface in catalog.interfaces}
            named -= {entity.name for entity in catalog.types.values()}
        assert not named
