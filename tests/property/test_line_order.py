"""The order of the lines of a block means nothing: neither to types and directions, nor to results.

Patterns are drawn with unknown types, same-type edges, self-edges, undirected and bound edges,
repeated bindings and nested blocks. Every permutation of their lines compiles to the same directed
hops and returns the same rows, or fails with the same codes.
"""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import check_query, compile_source
from omnigraph.datatypes.arrow import table_schema
from omnigraph.ir.queries import Block, Hop, ReadIR
from omnigraph.ir.walk import nodes
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.agreement import Question
from omnigraph.testing.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA = Source(
    """
node Person { handle: String @key }
node Paper { doi: String @key }
node Topic { slug: String @key }
edge Wrote: Person -> Paper
edge ReviewedBy: Paper -> Person
edge About: Paper -> Topic
edge Knows: Person -> Person
edge Cites: Paper -> Paper
""",
    "papers.pg",
)
CATALOG = build_catalog(parse_schema(SCHEMA), SCHEMA)
NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
NODES = {"Person": "abc", "Paper": "abc", "Topic": "ab"}
EDGES = {
    "Wrote": ["aa", "ab", "bb", "cb"],
    "ReviewedBy": ["ab", "ba", "cc"],
    "About": ["aa", "bb"],
    "Knows": ["ab", "bc", "ca", "cc"],
    "Cites": ["ab", "bc", "ac"],
}
KEYS = {"Person": "handle", "Paper": "doi", "Topic": "slug"}
# A line, or a nested block: its word and its lines.
Line = str | tuple[str, tuple[Any, ...]]


def stored() -> dict[Any, pa.Table]:
    tables = {}
    for node in CATALOG.nodes:
        rows = [{"id": each, KEYS[node.name]: each} for each in NODES[node.name]]
        tables[node.id] = pa.Table.from_pylist(rows, schema=table_schema(node))
    for edge in CATALOG.edges:
        rows = [{"id": ends, "src": ends[0], "dst": ends[1]} for ends in EDGES[edge.name]]
        tables[edge.id] = pa.Table.from_pylist(rows, schema=table_schema(edge))
    return tables


TABLES = stored()

# --- patterns ----------------------------------------------------------------------------------

variables = st.sampled_from(["a", "b", "c", "d"])
ends = st.sampled_from(["a", "b", "c", "d", "d", "_"])
bindings = st.builds("${}: {}".format, variables, st.sampled_from(sorted(NODES)))
between_types = st.sampled_from(
    ["wrote", "wrote", "reviewedBy", "reviewedBy", "wrote{1,2}", "$e:wrote", "about"]
)
within_a_type = st.sampled_from(["knows", "cites", "<knows>", "knows{2,2}", "<cites>{1,2}"])
traversals = st.builds(
    "${} {} ${}".format, ends, between_types | between_types | between_types | within_a_type, ends
)
flat = st.lists(traversals | traversals | bindings, min_size=1, max_size=2).map(tuple)
nested = st.tuples(st.sampled_from(["not", "exists"]), flat)
patterns = st.tuples(
    st.lists(traversals | traversals | traversals | traversals | bindings, min_size=2, max_size=3),
    st.lists(nested, max_size=1),
).map(lambda parts: (*parts[0], *parts[1]))


def permutations(lines: Sequence[Line]) -> Iterator[tuple[Line, ...]]:
    """Every order of the lines, and of the lines of the blocks among them."""
    choices = [
        [(line[0], order) for order in permutations(line[1])] if isinstance(line, tuple) else [line]
        for line in lines
    ]
    for chosen in itertools.product(*choices):
        yield from itertools.permutations(chosen)


def spell(lines: Sequence[Line]) -> str:
    return "\n".join(
        line if isinstance(line, str) else f"{line[0]} {{ {spell(line[1])} }}" for line in lines
    )


def query_of(lines: Sequence[Line]) -> str:
    named = {word[1:] for line in lines if isinstance(line, str) for word in line.split()}
    shown = [f"${name}.id as {name}" for name in "abcd" if {name, f"{name}:"} & named]
    columns = ", ".join(shown) or "count(*) as n"
    return f"query q() {{ match {{ {spell(lines)} }} return {{ {columns} }} }}"


# --- outcomes ----------------------------------------------------------------------------------


def meaning_of(ir: ReadIR) -> Any:
    """The types and directed hops of every block, with names instead of slots."""
    names: dict[int, str] = {}

    def introduce(block: Block) -> None:
        for slot in block.slots:
            names[slot.slot] = slot.name

    def hop(found: Hop) -> tuple[Any, ...]:
        where = (names[found.source], found.edge_type, names[found.target])
        return (*where, found.edge_slot is None, found.undirected, found.min_hops, found.max_hops)

    blocks = [each for each in nodes(ir) if isinstance(each, Block)]
    for block in blocks:
        introduce(block)
    return sorted(
        (
            sorted((slot.name, slot.type_id) for slot in block.slots),
            sorted(hop(found) for found in block.hops),
        )
        for block in blocks
    )


def rows_of(ir: ReadIR) -> list[Any]:
    """The rows, in no order: ties are broken by variables in the order of the text."""
    _, rows = Question(ir, CATALOG, TABLES, {}, NOW).require_agreement()
    return sorted(map(repr, rows))


def codes_of(text: str) -> set[str]:
    (query,) = parse_queries(Source(text)).queries
    return {found.code for found in check_query(CATALOG, query)}


def require_one_meaning(lines: Sequence[Line]) -> None:
    first: Any = None
    rows: Any = None
    for order in permutations(lines):
        text = query_of(order)
        codes = codes_of(text)
        ir = None if codes else compile_source(CATALOG, text)
        assert ir is None or isinstance(ir, ReadIR)
        found = (codes, ir and meaning_of(ir))
        if first is None:
            first, rows = found, ir and rows_of(ir)
        assert found == first, text
        assert (ir and rows_of(ir)) == rows, text


@settings(max_examples=examples(150), deadline=None)
@given(patterns)
@example(("$a wrote $b", "$b wrote $c"))
@example(("$a wrote $b", "$b wrote $c", "$c wrote $a"))
@example(("$a wrote $b", "$c wrote $b", "$c reviewedBy $d"))
@example(("$a wrote $b", "$b about $c", "$c: Person"))
@example(("$a knows $b", "$b cites $c"))
@example(("$a wrote $a", "$a knows $b"))
@example(("$a $e:wrote $b", "$e knows $c", "$c about $d"))
@example(("$a: Person", "$a: Topic", "$a about $b"))
@example(("$a: Person", ("not", ("$a reviewedBy $b", "$b wrote $c"))))
@example(("$a: Person", "$a knows $b", ("not", ("$c wrote $d", "$d reviewedBy $b"))))
def test_every_order_of_the_lines_has_the_same_directions_rows_and_errors(
    lines: tuple[Line, ...],
) -> None:
    require_one_meaning(lines)


@pytest.mark.slow
@settings(max_examples=1_000, deadline=None)
@given(patterns)
def test_every_order_of_the_lines_has_one_meaning_at_length(lines: tuple[Line, ...]) -> None:
    require_one_meaning(lines)


@settings(max_examples=examples(40), deadline=None)
@given(st.permutations(range(6)), st.booleans(), st.integers(0, 6))
def test_a_chain_of_unknown_types_is_decided_by_its_one_known_end(
    order: list[int], paper_first: bool, known: int
) -> None:
    kinds = ["Paper", "Person"] if paper_first else ["Person", "Paper"]
    chain = [f"$v{place} wrote $v{place + 1}" for place in range(6)]
    lines = [chain[place] for place in order]
    lines.insert(order[0], f"$v{known}: {kinds[known % 2]}")
    text = f"query q() {{ match {{ {spell(lines)} }} return {{ count(*) as n }} }}"
    ir = compile_source(CATALOG, text)
    assert isinstance(ir, ReadIR)
    types = {slot.name: CATALOG.types[slot.type_id].name for slot in ir.match.slots}  # type: ignore[index]
    assert types == {f"v{place}": kinds[place % 2] for place in range(7)}
