"""Patterns on random graphs, against formulations that share nothing with the evaluator.

The model tries every assignment of every slot (a product of all entities), knows paths only as a
matrix of shortest distances, and counts by brute force.
"""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.model import (
    NO_ANNOTATIONS,
    Catalog,
    EdgeType,
    NodeType,
    Property,
    PropertyId,
    TypeId,
)
from omnigraph.datatypes.arrow import table_schema
from omnigraph.datatypes.types import I64, STRING
from omnigraph.ir.expressions import (
    Aggregate,
    AggregateFunc,
    And,
    BlockAggregate,
    Compare,
    CompareOp,
    Const,
    Exists,
    Expr,
    IsNull,
    Not,
    Or,
    PropertyRef,
    Slot,
)
from omnigraph.ir.queries import (
    Block,
    EntitySlot,
    Hop,
    Projection,
    ReadIR,
    ResultColumn,
)
from omnigraph.testing.agreement import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
PERSON, CITY, KNOWS, LIVES = TypeId("Person"), TypeId("City"), TypeId("Knows"), TypeId("Lives")
N = Property(PropertyId("n"), "n", "n", I64, nullable=True)
UNCONSTRAINED: dict[str, Any] = {
    "uniques": (),
    "indexes": (),
    "ranges": (),
    "checks": (),
    "key": None,
    "annotations": NO_ANNOTATIONS,
}
CATALOG = Catalog(
    interfaces=(),
    nodes=tuple(NodeType(each, each, (N,), **UNCONSTRAINED) for each in (PERSON, CITY)),
    edges=(
        EdgeType(KNOWS, KNOWS, (N,), **UNCONSTRAINED, source=PERSON, target=PERSON),
        EdgeType(LIVES, LIVES, (N,), **UNCONSTRAINED, source=PERSON, target=CITY),
    ),
)

# --- graphs ------------------------------------------------------------------------------------

Entity = dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """Rows by type. Both node types use the same ids on purpose."""

    rows: Mapping[TypeId, Sequence[Entity]]

    def table(self, type_id: TypeId) -> pa.Table:
        schema = table_schema(CATALOG.types[type_id])
        return pa.Table.from_pylist(list(self.rows[type_id]), schema=schema)


numbers = st.none() | st.integers(0, 2)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    people = [{"id": name, "n": draw(numbers)} for name in "abcd"[: draw(st.integers(1, 4))]]
    cities = [{"id": name, "n": draw(numbers)} for name in "ab"[: draw(st.integers(1, 2))]]

    def edges(targets: Sequence[Entity], most: int) -> list[Entity]:
        ends = st.tuples(st.sampled_from(people), st.sampled_from(targets))
        pairs = draw(st.lists(ends, max_size=most))
        return [
            {"id": f"e{place}", "src": source["id"], "dst": target["id"], "n": draw(numbers)}
            for place, (source, target) in enumerate(pairs)
        ]

    rows = {PERSON: people, CITY: cities, KNOWS: edges(people, 7), LIVES: edges(cities, 4)}
    return Graph(rows)


# --- patterns ----------------------------------------------------------------------------------


def number(slot: int) -> PropertyRef:
    return PropertyRef(Slot(slot), N.id, I64, nullable=True)


def conditions(slots: Sequence[int]) -> st.SearchStrategy[Expr]:
    operands = st.sampled_from(slots).map(number) | st.integers(0, 2).map(lambda n: Const(n, I64))
    compares = st.builds(Compare, st.sampled_from(list(CompareOp)), operands, operands)
    nulls = st.builds(IsNull, st.sampled_from(slots).map(number), st.booleans())
    return st.recursive(
        compares | nulls,
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(And, st.tuples(inner, inner))
            | st.builds(Or, st.tuples(inner, inner))
        ),
        max_leaves=4,
    )


@st.composite
def blocks(draw: st.DrawFn, outer: Sequence[EntitySlot] = (), first: int = 0) -> Block:
    """A pattern of a few nodes, bound edges among them; it may reach out to the slots around it."""
    count = draw(st.sampled_from([0, 1, 2, 2] if outer else [1, 2, 2, 3]))
    types = [draw(st.sampled_from([PERSON, PERSON, CITY])) for _ in range(count)]
    slots = [EntitySlot(Slot(first + place), type_id, "") for place, type_id in enumerate(types)]
    visible = [*outer, *slots]
    people = [each.slot for each in visible if each.type_id == PERSON]
    cities = [each.slot for each in visible if each.type_id == CITY]
    hops = []
    for _ in range(draw(st.integers(0, 2)) if people else 0):
        knows = not cities or draw(st.booleans())
        hop = Hop(
            source=draw(st.sampled_from(people)),
            target=draw(st.sampled_from(people if knows else cities)),
            edge_type=KNOWS if knows else LIVES,
            edge_slot=None,
            undirected=knows and draw(st.booleans()),
            min_hops=1,
            max_hops=1,
        )
        shape = draw(st.sampled_from(["single", "bound", "range"]))
        if shape == "bound":
            edge = Slot(first + len(slots))
            slots.append(EntitySlot(edge, hop.edge_type, ""))
            hop = replace(hop, edge_slot=edge)
        elif shape == "range":
            low = draw(st.integers(0, 2))
            hop = replace(hop, min_hops=low, max_hops=draw(st.integers(max(low, 1), 3)))
        hops.append(hop)
    visible = [*outer, *slots]
    filters = draw(st.lists(conditions([each.slot for each in visible]), max_size=2))
    order = draw(st.permutations(slots))
    return Block(tuple(order), tuple(hops), tuple(filters))


# --- the model ---------------------------------------------------------------------------------

Row = dict[int, Entity]
FAR = 10**6


def distances(graph: Graph, hop: Hop) -> dict[tuple[str, str], int]:
    """Shortest paths among people (Floyd and Warshall); a city is one step from its people."""
    people = [person["id"] for person in graph.rows[PERSON]]
    pairs = {(edge["src"], edge["dst"]) for edge in graph.rows[TypeId(hop.edge_type)]}
    if hop.edge_type == LIVES:
        return dict.fromkeys(pairs, 1)
    if hop.undirected:
        pairs |= {(target, source) for source, target in pairs}
    far = {(a, b): 0 if a == b else 1 if (a, b) in pairs else FAR for a in people for b in people}
    for middle, a, b in itertools.product(people, repeat=3):
        far[a, b] = min(far[a, b], far[a, middle] + far[middle, b])
    return far


def relation(graph: Graph, hop: Hop) -> set[tuple[str, str]]:
    allowed = range(hop.min_hops, hop.max_hops + 1)
    loops = {edge["src"] for edge in graph.rows[KNOWS] if edge["src"] == edge["dst"]}
    return {
        (a, b)
        for (a, b), depth in distances(graph, hop).items()
        if depth in allowed or (hop.edge_type == KNOWS and b in loops and depth + 1 in allowed)
    }


def model_rows(graph: Graph, block: Block, outer: Row) -> Iterator[Row]:
    relations = [relation(graph, hop) for hop in block.hops]
    choices = [graph.rows[TypeId(each.type_id)] for each in block.slots]
    for chosen in itertools.product(*choices):
        row: Row = dict(outer)
        row.update(zip((each.slot for each in block.slots), chosen, strict=True))
        related = all(
            model_hop(hop, pairs, row) for hop, pairs in zip(block.hops, relations, strict=True)
        )
        if related and all(model_value(graph, expr, row) is True for expr in block.filters):
            yield row


def model_hop(hop: Hop, pairs: set[tuple[str, str]], row: Row) -> bool:
    ends = (row[hop.source]["id"], row[hop.target]["id"])
    if hop.edge_slot is None:
        return ends in pairs
    edge = row[hop.edge_slot]
    return (edge["src"], edge["dst"]) == ends or (
        hop.undirected and (edge["dst"], edge["src"]) == ends
    )


def model_value(graph: Graph, expr: Expr, row: Row) -> Any:
    match expr:
        case Const(value):
            return value
        case PropertyRef(slot):
            return row[slot]["n"]
        case IsNull(operand, negated):
            return (model_value(graph, operand, row) is not None) == negated
        case Not(operand):
            return opposite(model_value(graph, operand, row))
        case And(operands):
            # Kleene: with 0, ½ and 1 for false, unknown and true, AND is the smallest.
            return least(model_value(graph, each, row) for each in operands)
        case Or(operands):
            return opposite(least(model_value(graph, Not(each), row) for each in operands))
        case Compare(op, left, right):
            pair = (model_value(graph, left, row), model_value(graph, right, row))
            return None if None in pair else COMPARISONS[op](*pair)
        case Exists(block, negated):
            return (len(list(model_rows(graph, block, row))) > 0) != negated
        case _:
            raise AssertionError(expr)


def opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def least(truths: Iterator[bool | None]) -> bool | None:
    weight = {False: 0, None: 1, True: 2}
    return min(truths, key=weight.__getitem__)


COMPARISONS: dict[CompareOp, Callable[[int, int], bool]] = {
    CompareOp.EQ: lambda a, b: a == b,
    CompareOp.NE: lambda a, b: a != b,
    CompareOp.LT: lambda a, b: a < b,
    CompareOp.LE: lambda a, b: a <= b,
    CompareOp.GT: lambda a, b: a > b,
    CompareOp.GE: lambda a, b: a >= b,
}

# --- running -----------------------------------------------------------------------------------


def identity(slot: int) -> PropertyRef:
    return PropertyRef(Slot(slot), "@id", STRING, nullable=False)


def read(block: Block, returns: Mapping[str, Expr]) -> ReadIR:
    return ReadIR(
        name="q",
        params=(),
        match=block,
        returns=tuple(Projection(name, expr) for name, expr in returns.items()),
        distinct=False,
        order=(),
        limit=None,
        offset=None,
        columns=tuple(ResultColumn(name, "string", nullable=True) for name in returns),
        reads=(),
    )


def run(graph: Graph, ir: ReadIR) -> list[tuple[Any, ...]]:
    tables = {type_id: graph.table(type_id) for type_id in CATALOG.types}
    _, rows = Question(ir, CATALOG, tables, {}, NOW).require_agreement()
    return [tuple(row.values()) for row in rows]


def ids(graph: Graph, block: Block) -> list[tuple[Any, ...]]:
    """The ids of all slots, row by row."""
    slots = sorted(each.slot for each in block.slots)
    return run(graph, read(block, {f"s{slot}": identity(slot) for slot in slots}))


def model_ids(graph: Graph, block: Block) -> list[tuple[Any, ...]]:
    slots = sorted(each.slot for each in block.slots)
    rows = model_rows(graph, block, {})
    return sorted(tuple(row[slot]["id"] for slot in slots) for row in rows)


def with_filter(block: Block, condition: Expr) -> Block:
    return replace(block, filters=(*block.filters, condition))


# --- properties --------------------------------------------------------------------------------


@given(graphs(), blocks())
def test_the_rows_of_a_block_are_the_assignments_that_satisfy_it_in_the_order_of_their_ids(
    graph: Graph, block: Block
) -> None:
    assert ids(graph, block) == model_ids(graph, block)


@st.composite
def bounded_hops(draw: st.DrawFn) -> Block:
    """Nothing but one hop of some steps; either end may be filled first."""
    low = draw(st.integers(0, 3))
    slots = [EntitySlot(Slot(place), PERSON, "") for place in range(2)]
    hop = Hop(
        Slot(0), Slot(1), KNOWS, None, draw(st.booleans()), low, low + draw(st.integers(0, 2))
    )
    return Block(tuple(draw(st.permutations(slots))), (hop,), ())


@given(graphs(), bounded_hops())
def test_a_hop_of_some_steps_is_a_matter_of_shortest_distances_and_loops(
    graph: Graph, block: Block
) -> None:
    assert ids(graph, block) == model_ids(graph, block)


@st.composite
def nested(draw: st.DrawFn) -> tuple[Block, Block]:
    outer = draw(blocks())
    return outer, draw(blocks(outer=outer.slots, first=10))


@given(graphs(), nested(), st.booleans())
def test_exists_and_not_ask_the_inner_block_for_every_outer_row(
    graph: Graph, both: tuple[Block, Block], negated: bool
) -> None:
    outer, inner = both
    block = with_filter(outer, Exists(inner, negated))
    assert ids(graph, block) == model_ids(graph, block)


@given(graphs(), nested())
def test_not_is_the_set_difference_and_exists_the_projection_of_the_join(
    graph: Graph, both: tuple[Block, Block]
) -> None:
    outer, inner = both
    every = ids(graph, outer)
    inside = ids(graph, with_filter(outer, Exists(inner, negated=False)))
    outside = ids(graph, with_filter(outer, Exists(inner, negated=True)))
    joined = Block(
        (*outer.slots, *inner.slots), (*outer.hops, *inner.hops), (*outer.filters, *inner.filters)
    )
    assert sorted(inside + outside) == every
    assert set(inside) == {row[: len(outer.slots)] for row in ids(graph, joined)}


@given(graphs(), nested())
def test_a_count_block_is_the_group_count_of_the_join_and_zero_where_there_is_none(
    graph: Graph, both: tuple[Block, Block]
) -> None:
    outer, inner = both
    keys = {f"s{each.slot}": identity(each.slot) for each in sorted_slots(outer)}
    block_count = BlockAggregate(AggregateFunc.COUNT, inner, None, distinct=False, dtype=I64)
    counted = run(graph, read(outer, {**keys, "n": block_count}))
    joined = Block(
        (*outer.slots, *inner.slots), (*outer.hops, *inner.hops), (*outer.filters, *inner.filters)
    )
    count = Aggregate(AggregateFunc.COUNT, None, distinct=False, dtype=I64)
    grouped = {row[:-1]: row[-1] for row in run(graph, read(joined, {**keys, "n": count}))}
    assert counted == [(*row, grouped.get(row, 0)) for row in ids(graph, outer)]


@given(graphs(), nested(), st.integers(0, 3))
def test_a_count_block_may_decide_which_rows_there_are(
    graph: Graph, both: tuple[Block, Block], least_rows: int
) -> None:
    outer, inner = both
    block_count = BlockAggregate(AggregateFunc.COUNT, inner, None, distinct=False, dtype=I64)
    enough = Compare(CompareOp.GE, block_count, Const(least_rows, I64))
    expected = [
        tuple(row[each.slot]["id"] for each in sorted_slots(outer))
        for row in sorted_rows(graph, outer)
        if len(list(model_rows(graph, inner, row))) >= least_rows
    ]
    assert ids(graph, with_filter(outer, enough)) == expected


@given(graphs(), nested())
def test_a_sum_block_is_the_sum_over_the_rows_of_the_inner_block(
    graph: Graph, both: tuple[Block, Block]
) -> None:
    outer, inner = both
    place = (inner.slots or outer.slots)[0].slot
    block_sum = BlockAggregate(AggregateFunc.SUM, inner, number(place), distinct=False, dtype=I64)
    keys = {f"s{each.slot}": identity(each.slot) for each in sorted_slots(outer)}
    expected = []
    for row in sorted_rows(graph, outer):
        folded = [inside[place]["n"] for inside in model_rows(graph, inner, row)]
        present = [value for value in folded if value is not None]
        names = tuple(row[each.slot]["id"] for each in sorted_slots(outer))
        expected.append((*names, sum(present) if present else None))
    assert run(graph, read(outer, {**keys, "n": block_sum})) == expected


def sorted_slots(block: Block) -> list[EntitySlot]:
    return sorted(block.slots, key=lambda each: each.slot)


def sorted_rows(graph: Graph, block: Block) -> list[Row]:
    slots = [each.slot for each in sorted_slots(block)]
    return sorted(model_rows(graph, block, {}), key=lambda row: [row[slot]["id"] for slot in slots])


@given(graphs(), blocks(), st.randoms())
def test_the_answer_does_not_depend_on_where_rows_are_stored(
    graph: Graph, block: Block, random: Any
) -> None:
    shuffled = Graph(
        {type_id: random.sample(list(rows), len(rows)) for type_id, rows in graph.rows.items()}
    )
    assert ids(shuffled, block) == ids(graph, block)
