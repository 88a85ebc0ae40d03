"""The doors of the compiler, and what passes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.compiler import (
    check_document,
    check_query,
    compile_document,
    compile_query,
    compile_source,
    select_query,
)
from omnigraph.compiler.unit import MAX_FINDINGS
from omnigraph.errors import InvalidInput, NotFound, SyntaxFailure, TypeFailure
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import MutationIR, ReadIR
from omnigraph.language.gq.ast import Document
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

TWO = """
query sailors() { match { $s: Sailor } return { $s.label } }
query ports() { match { $p: Port } return { $p.code } }
"""
WRONG = """
query fine() { match { $s: Sailor } return { $s.label } }
query one() { match { $s: Sailorr } return { $s.label } }
query two() { match { $s: Sailor } return { $s.lable } }
"""


def test_the_only_query_needs_no_name(harbour: Catalog) -> None:
    compiled = compile_source(harbour, "query all() { match { $s: Sailor } return { $s } }")
    assert compiled.name == "all"


def test_one_of_several_queries_is_chosen_by_name(harbour: Catalog) -> None:
    assert compile_source(harbour, TWO, "ports").name == "ports"


def test_several_queries_and_no_name_are_ambiguous(harbour: Catalog) -> None:
    with pytest.raises(InvalidInput) as caught:
        compile_source(harbour, TWO)
    assert caught.value.code == "query.ambiguous"
    assert "sailors, ports" in caught.value.message


def test_an_unknown_name_is_missing_and_the_closest_is_suggested() -> None:
    document = parse_queries(Source(TWO))
    with pytest.raises(NotFound) as caught:
        select_query(document, "sailor")
    assert caught.value.code == "query.missing"
    assert caught.value.remedy == "did you mean `sailors`?"
    with pytest.raises(NotFound) as caught:
        select_query(document, "xyz")
    assert caught.value.remedy == "it holds sailors, ports"


def test_a_text_without_queries_says_so() -> None:
    with pytest.raises(InvalidInput) as caught:
        select_query(Document(()), None)
    assert caught.value.code == "query.ambiguous"
    assert caught.value.message == "no query here"


def test_a_syntax_error_stays_a_syntax_error(harbour: Catalog) -> None:
    with pytest.raises(SyntaxFailure):
        compile_source(harbour, "query {")


def test_a_failure_names_file_line_and_column_and_shows_the_line(harbour: Catalog) -> None:
    with pytest.raises(TypeFailure) as caught:
        compile_source(harbour, WRONG, "two", source_name="mine.gq")
    error = caught.value
    assert error.code == "T6"
    assert error.message.startswith("mine.gq:4:48: error [T6]")
    assert "^^^^^" in error.message
    (found,) = error.details["diagnostics"]
    assert (found["file"], found["line"], found["column"]) == ("mine.gq", 4, 48)
    assert found["remedy"] == "did you mean `label`?"


def test_a_document_is_compiled_whole_or_fails_with_everything(harbour: Catalog) -> None:
    source = Source(TWO)
    compiled = compile_document(harbour, parse_queries(source), source)
    assert [query.name for query in compiled] == ["sailors", "ports"]
    source = Source(WRONG)
    with pytest.raises(TypeFailure) as caught:
        compile_document(harbour, parse_queries(source), source)
    codes = [found["code"] for found in caught.value.details["diagnostics"]]
    assert codes == ["T1", "T6"]


def test_checking_returns_findings_instead_of_raising(harbour: Catalog) -> None:
    document = parse_queries(Source(WRONG))
    assert [found.code for found in check_document(harbour, document)] == ["T1", "T6"]
    assert [len(check_query(harbour, query)) for query in document.queries] == [0, 1, 1]


def test_the_only_wrong_query_stops_only_itself(harbour: Catalog) -> None:
    source = Source(WRONG)
    assert compile_query(harbour, parse_queries(source), source, "fine").name == "fine"


# --- what the IR promises ----------------------------------------------------------------------


def compiled_read(catalog: Catalog, text: str) -> ReadIR:
    compiled = compile_source(catalog, text)
    assert isinstance(compiled, ReadIR)
    return compiled


def touched(catalog: Catalog, text: str) -> tuple[list[str], list[str]]:
    compiled = compile_source(catalog, text)
    assert isinstance(compiled, MutationIR)
    return [use.name for use in compiled.reads], [use.name for use in compiled.writes]


def test_slots_are_numbered_as_variables_appear_in_the_text(harbour: Catalog) -> None:
    compiled = compiled_read(
        harbour,
        "query q() { match { $a $k:knows $b  not { $b knows $_ } $c: Port } return { $a.label } }",
    )
    assert [(slot.slot, slot.name) for slot in compiled.match.slots] == [
        (0, "a"),
        (1, "k"),
        (2, "b"),
        (3, "c"),
    ]
    (block,) = compiled.match.filters
    assert isinstance(block, ir.Exists)
    assert [slot.slot for slot in block.block.slots] == [4]


def test_a_name_of_an_inner_block_belongs_to_the_outer_one_that_binds_it_later(
    harbour: Catalog,
) -> None:
    compiled = compiled_read(
        harbour, "query q() { match { $a: Sailor  not { $a knows $b }  $b: Sailor } return { $a } }"
    )
    (block,) = compiled.match.filters
    assert isinstance(block, ir.Exists)
    assert block.block.slots == ()
    assert block.block.hops[0].target == 1


def test_an_alias_takes_the_default_direction_of_what_it_stands_for(harbour: Catalog) -> None:
    compiled = compiled_read(
        harbour,
        """query q($q: String) { match { $s: Sailor }
        return {
            bm25($s.bio, $q) as relevance, nearest($s.bio_vector, $q) as distance, $s.age as age
        }
        order { relevance, distance, age, relevance asc, $s.label desc } limit 3 }""",
    )
    assert [key.descending for key in compiled.order] == [True, False, False, False, True]


def test_deleting_nodes_reads_and_writes_the_edges_that_go_with_them(harbour: Catalog) -> None:
    reads, writes = touched(harbour, 'query q() { delete Port where code = "x" }')
    assert reads == writes == ["Port", "CallsAt"]


def test_inserting_an_edge_reads_its_endpoint_types(harbour: Catalog) -> None:
    reads, writes = touched(harbour, 'query q() { insert Wrote { from: "a", to: "b" } }')
    assert (reads, writes) == (["Entry", "Sailor", "Wrote"], ["Wrote"])


def test_changing_an_edge_touches_only_its_own_type(harbour: Catalog) -> None:
    reads, writes = touched(harbour, 'query q() { delete Knows where from = "x" }')
    assert reads == writes == ["Knows"]


def test_types_of_nested_blocks_are_read(harbour: Catalog) -> None:
    compiled = compiled_read(
        harbour,
        "query q() { match { $s: Sailor  not { $s servesOn $x  exists { $x callsAt $_ } } }"
        " return { $s.label } }",
    )
    assert [(use.kind, use.name) for use in compiled.reads] == [
        ("node", "Port"),
        ("node", "Sailor"),
        ("node", "Ship"),
        ("edge", "CallsAt"),
        ("edge", "ServesOn"),
    ]


def test_a_failed_binding_silences_everything_that_hangs_on_it(harbour: Catalog) -> None:
    text = """query q() { match {
        $s: Sailorr
        $s servesOn $ship
        $ship callsAt $port
        $s knows $friend
        $friend.age > 1
        $friend.nope = 1
        $ship.nope = 2
        $port.nope = 3
        not { $s knows $x  $x.age = $port.age }
    } return { $s.nope, count($port.nope) as n } order { n } }"""
    codes = [found.code for found in check_document(harbour, parse_queries(Source(text)))]
    # A friend of whoever knows people is a sailor: that much is certain.
    assert codes == ["T1", "T6"]


def test_a_query_with_countless_mistakes_gets_a_bounded_answer(harbour: Catalog) -> None:
    clauses = " ".join(f"$s.nope{at} = 1" for at in range(500))
    text = f"query q() {{ match {{ $s: Sailor {clauses} }} return {{ $s.label }} }}"
    assert len(check_document(harbour, parse_queries(Source(text)))) == MAX_FINDINGS


def test_the_same_text_compiles_to_equal_and_hashable_ir(harbour: Catalog) -> None:
    text = "query q() { match { $s: Sailor { age: 3 } } return { $s.label, [1, 2] as list } }"
    one, other = compile_source(harbour, text), compile_source(harbour, text)
    assert one == other
    assert hash(one) == hash(other)
