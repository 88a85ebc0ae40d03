"""Queries that are written to fit the schema compile, and their IR is well formed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import ID
from omnigraph.compiler import compile_source
from omnigraph.datatypes.types import (
    DATE,
    DATETIME,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    is_numeric,
    spell_type,
)
from omnigraph.ir.expressions import EntityRef, PropertyRef
from omnigraph.ir.printer import print_ir
from omnigraph.ir.queries import Block, ReadIR
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.examples import examples

if TYPE_CHECKING:
    from omnigraph.catalog.model import EdgeType, EntityType, Property

SCHEMA = Path(__file__).parents[1] / "fixtures" / "compiler" / "harbour.pg"
SOURCE = Source(SCHEMA.read_text(encoding="utf-8"), SCHEMA.name)
HARBOUR = build_catalog(parse_schema(SOURCE), SOURCE)
BLOB = ScalarType(Scalar.BLOB)
_T = TypeVar("_T")

LITERALS: dict[DataType, st.SearchStrategy[str]] = {
    STRING: st.sampled_from(['"a"', '""', '"Ålesund"']),
    ScalarType(Scalar.BOOL): st.sampled_from(["true", "false"]),
    DATE: st.sampled_from(['"2025-01-02"', 'date("2025-01-02")']),
    DATETIME: st.sampled_from(['"2025-01-02T03:04:05Z"', "now()", 'date("2025-01-02")']),
}
NUMBERS = st.sampled_from(["0", "-3", "2.5", "5000000000", "1e30"])


class Writer:
    """Writes a query clause by clause, knowing the type of each variable and parameter."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.params: list[str] = []
        self.count = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def choose(self, options: list[_T]) -> _T:
        return self.draw(st.sampled_from(options))

    def flip(self) -> bool:
        return self.draw(st.booleans())

    # --- patterns ------------------------------------------------------------------------------

    def pattern(self, known: dict[str, EntityType], steps: int) -> list[str]:
        """Clauses that extend what is known; the order of the list means nothing."""
        clauses = []
        for _ in range(steps):
            if not known or self.draw(st.integers(0, 4)) == 0:
                clauses.append(self.binding(known))
            else:
                clauses += self.traversal(known)
        return clauses

    def binding(self, known: dict[str, EntityType]) -> str:
        node = self.choose(list(HARBOUR.nodes))
        name = self.fresh("v")
        known[name] = node
        prop = self.choose(readable(node))
        if isinstance(prop.dtype, VectorType) or self.flip():
            return f"${name}: {node.name}"
        held = ScalarType(prop.dtype.item) if isinstance(prop.dtype, ListType) else prop.dtype
        return f"${name}: {node.name} {{ {prop.name}: {self.constant(held)} }}"

    def traversal(self, known: dict[str, EntityType]) -> list[str]:
        nodes = {name: kind for name, kind in known.items() if kind in HARBOUR.nodes}
        start = self.choose(sorted(nodes))
        edges = HARBOUR.incident_edges(nodes[start].id)
        if not edges:
            return [f"${start}: {nodes[start].name}"]
        edge: EdgeType = self.choose(list(edges))
        alike = edge.source == edge.target
        other = edge.target if edge.source == nodes[start].id else edge.source
        end = self.fresh("v")
        known[end] = HARBOUR.node_by_id(other)
        spelled = edge.name[0].lower() + edge.name[1:]
        shape = self.draw(st.integers(0, 3))
        if shape == 1 and alike:
            spelled = f"<{spelled}>"
        elif shape == 2:
            spelled += "{1,3}"
        elif shape == 3:
            name = self.fresh("e")
            known[name] = edge
            spelled = f"${name}:{spelled}"
        ends = (start, end) if self.flip() else (end, start)
        return [f"${ends[0]} {spelled} ${ends[1]}"]

    # --- conditions ----------------------------------------------------------------------------

    def condition(self, known: dict[str, EntityType], depth: int) -> str:
        shape = self.draw(st.integers(0, 7 if depth else 3))
        if shape <= 3:
            return self.test(known)
        if shape == 4:
            parts = [self.condition(known, depth - 1) for _ in range(2)]
            inside = f"{parts[0]} {self.choose(['and', 'or'])} {parts[1]}"
            return f"{self.test(known)} {self.choose(['and', 'or'])} ({inside})"
        if shape == 5:
            return f"not ({self.condition(known, depth - 1)})"
        return self.block(known, depth - 1)

    def block(self, known: dict[str, EntityType], depth: int) -> str:
        inner = dict(known)
        outer = self.choose(sorted(name for name in known if known[name] in HARBOUR.nodes))
        inner_clauses = [f"${outer}: {known[outer].name}", *self.pattern(inner, 1)]
        if depth:
            inner_clauses.append(self.condition(inner, depth - 1))
        body = "  ".join(inner_clauses)
        word = self.choose(["not", "exists", "count"])
        return (
            f"count {{ {body} }} > {self.draw(NUMBERS)}"
            if word == "count"
            else f"{word} {{ {body} }}"
        )

    def test(self, known: dict[str, EntityType]) -> str:
        name = self.choose(sorted(known))
        entity = known[name]
        prop = self.choose(readable(entity))
        place = f"${name}.{prop.name}"
        if self.draw(st.integers(0, 4)) == 0:
            return f"{place} is {self.choose(['', 'not '])}null"
        match prop.dtype:
            case ListType(item):
                return f"{place} contains {self.constant(ScalarType(item))}"
            case VectorType():
                if entity in HARBOUR.edges:
                    return f"{place} is null"
                return f"nearest({place}, {self.constant(prop.dtype)}) < 0.5"
            case EnumType():
                return self.choose(
                    [
                        f"{place} != {self.constant(prop.dtype)}",
                        f"{place} in [{self.constant(prop.dtype)}, {self.constant(prop.dtype)}]",
                    ]
                )
            case _:
                op = self.choose(["=", "!=", "<", "<=", ">", ">="])
                return f"{place} {op} {self.constant(prop.dtype)}"

    def constant(self, dtype: DataType) -> str:
        """A literal or a new parameter that fits the type."""
        if self.flip():
            return self.param(STRING if isinstance(dtype, EnumType) else dtype)
        if isinstance(dtype, EnumType):
            return f'"{self.choose(list(dtype.values))}"'
        if isinstance(dtype, VectorType):
            return f"[{', '.join(['0.5'] * dtype.dim)}]"
        return self.draw(NUMBERS if is_numeric(dtype) else LITERALS[dtype])

    def param(self, dtype: DataType) -> str:
        name = self.fresh("p")
        self.params.append(f"${name}: {spell_type(dtype, nullable=self.flip())}")
        return f"${name}"


def readable(entity: EntityType) -> list[Property]:
    return [ID, *(prop for prop in entity.properties if prop.dtype != BLOB)]


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[str], str, str]:
    """The clauses of a match, the head and the rest of a query."""
    writer = Writer(draw)
    known: dict[str, EntityType] = {}
    clauses = writer.pattern(known, draw(st.integers(1, 4)))
    clauses += [writer.condition(known, 2) for _ in range(draw(st.integers(0, 3)))]
    columns = []
    for at in range(draw(st.integers(1, 3))):
        name = writer.choose(sorted(known))
        prop = writer.choose([None, *readable(known[name])])
        columns.append(f"${name}{'' if prop is None else '.' + prop.name} as c{at}")
    rest = f"return {{ {', '.join(columns)} }}"
    if writer.flip():
        name = writer.choose(sorted(known))
        rest += f" order {{ ${name}.id {writer.choose(['', 'asc', 'desc'])} }} limit 3"
    return clauses, f"query q({', '.join(writer.params)})", rest


def compiled(clauses: list[str], head: str, rest: str) -> ReadIR:
    newline = "\n"
    found = compile_source(HARBOUR, f"{head} {{ match {{\n{newline.join(clauses)}\n}} {rest} }}")
    assert isinstance(found, ReadIR)
    return found


def check_slots(tree: object, visible: frozenset[int]) -> None:
    """Every slot that is used was introduced by a block around it, once."""
    if isinstance(tree, Block):
        own = [slot.slot for slot in tree.slots]
        assert len(set(own)) == len(own)
        assert not visible & set(own)
        visible |= set(own)
        for hop in tree.hops:
            assert {hop.source, hop.target} <= visible
            assert hop.edge_slot is None or hop.edge_slot in visible
    if isinstance(tree, PropertyRef | EntityRef):
        assert tree.slot in visible
    if isinstance(tree, tuple):
        for item in tree:
            check_slots(item, visible)
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            check_slots(getattr(tree, field.name), visible)


@settings(max_examples=examples(120), deadline=None)
@given(queries())
def test_a_query_that_fits_the_schema_compiles_to_well_formed_ir(
    query: tuple[list[str], str, str],
) -> None:
    found = compiled(*query)
    check_slots(found.match, frozenset())
    outer = frozenset(slot.slot for slot in found.match.slots)
    check_slots((found.returns, found.order), outer)
    assert len(found.columns) == len(found.returns)
    assert {use.type_id for use in found.reads} <= set(HARBOUR.types)
    assert print_ir(found, HARBOUR)


@settings(max_examples=examples(60), deadline=None)
@given(queries(), st.randoms(use_true_random=False))
def test_the_order_of_clauses_changes_neither_types_nor_columns(
    query: tuple[list[str], str, str], random: Any
) -> None:
    clauses, head, rest = query
    shuffled = list(clauses)
    random.shuffle(shuffled)
    one, other = compiled(clauses, head, rest), compiled(shuffled, head, rest)
    assert one.columns == other.columns
    assert one.reads == other.reads
    assert {(slot.name, slot.type_id) for slot in one.match.slots} == {
        (slot.name, slot.type_id) for slot in other.match.slots
    }
    assert len(one.match.filters) == len(other.match.filters)
