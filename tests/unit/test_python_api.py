"""What Python users see: short words for results, pictures in notebooks, ways out."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import networkx as nx
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import NotFound
from omnigraph.notebook.commit_graph import Dot, draw_history
from omnigraph.notebook.row_table import html_table
from omnigraph.notebook.schema_graph import Arrow, Box, draw_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph import Graph

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
}

node Note {
    text: String
}

edge Knows: Person -> Person {
    since: I32?
    @key(src, dst)
}

edge Wrote: Person -> Note {
    @key(src, dst)
}
"""
PEOPLE = [
    {"type": "Person", "data": {"name": "Ada <b>", "born": "1815-12-10"}},
    {"type": "Person", "data": {"name": "Charles"}},
    {"type": "Note", "id": "n1", "data": {"text": "G"}},
    {"edge": "Knows", "from": "Ada <b>", "to": "Charles", "data": {"since": 1833}},
    {"edge": "Wrote", "from": "Ada <b>", "to": "n1"},
]
NAMES = """\
query names() {
    match { $p: Person }
    return { $p.name as name, $p.born as born }
    order { name }
}
"""


def _parse(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own drawings


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place = tmp_path_factory.mktemp("api") / "people.omni"
    with omnigraph.init(place, SCHEMA, durability="process", actor="ada") as opened:
        opened.load(PEOPLE, mode="append", message="first <people>")
        opened.branches.create("review")
        opened.mutate('query q() { insert Person { name: "Bo" } }', branch="review")
        opened.mutate('query q() { insert Person { name: "Cy" } }')
        opened.tags.create("v1")
        opened.merge("review")
        yield opened


def test_results_say_in_one_line_what_happened(graph: Graph) -> None:
    graph.branches.create("short")
    loaded = graph.load([{"type": "Note", "data": {"text": "x"}}], mode="append", branch="short")
    assert loaded.commit is not None
    added = graph.mutate('query add() { insert Person { name: "Di" } }', branch="short")
    assert added.commit is not None
    merged = graph.merge("short", preview=True)
    undone = graph.revert(added.commit, branch="short", preview=True)
    assert [repr(each) for each in (loaded, added, merged, undone)] == [
        f"<LoadResult append into short: 1 nodes, 0 edges as {loaded.commit.id}>",
        f"<MutationResult add on short: 1 nodes, 0 edges as {added.commit.id}>",
        "<MergeResult short into main: fast_forward, +2 ~0 -0 in 2 types>",
        f"<PickResult revert of {added.commit.id} on short, +0 ~0 -1 in 1 types>",
    ]
    assert repr(added.commit) == f"<Commit {added.commit.id} mutation on short by ada>"
    assert repr(graph.diff("main", "short")) == "<Diff from main to short>"
    assert repr(graph.at("v1")) == f"<GraphAt v1 of {graph.uri}>"
    assert repr(graph.catalog) == "<Catalog of 2 node types, 2 edge types>"
    assert repr(graph.commits.list()).startswith("<CommitPage of ")
    assert max(len(repr(each)) for each in (loaded, added, merged, undone, graph.status())) < 800


def test_a_commit_is_a_target(graph: Graph) -> None:
    first = list(graph.commits.list())[-2]
    assert first.message == "first <people>"
    assert len(graph.at(first).query(NAMES)) == 2
    assert graph.diff(first, "main").summary()
    assert len(graph.at(dt.datetime.now(dt.UTC)).query(NAMES)) == 4


def test_rows_become_html_and_never_markup(graph: Graph) -> None:
    shown = graph.query(NAMES)._repr_html_()
    _parse(f"<div>{shown}</div>")
    assert "Ada &lt;b&gt;" in shown
    assert "<em>null</em>" in shown
    assert "1815-12-10" in shown


def test_a_long_answer_is_shown_in_part() -> None:
    shown = html_table(["n", "text"], ([n, "x" * 1_000] for n in range(10_000)), note="10000 rows")
    assert shown.count("<tr>") == 51
    assert len(shown) < 20_000
    assert "10000 rows" in shown


def test_the_schema_is_drawn(graph: Graph) -> None:
    picture = _parse(graph.catalog._repr_html_())
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert {"Person", "Note", "name: String", "born: Date?", "↻ Knows", "Wrote"} <= set(texts)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_any_number_of_types_is_drawn_without_overlap(count: int) -> None:
    boxes = [Box(f"T{n}", ("p" * (n + 1),) * n) for n in range(count)]
    arrows = [Arrow("e<>", a.name, b.name) for a in boxes for b in boxes]
    picture = _parse(draw_types(boxes, arrows))
    texts = [each.text for each in picture.iter() if each.tag.endswith("text")]
    # One that leads back to its own type is a line in the box; the others stand on arrows.
    assert texts.count("↻ e<>") == count
    assert texts.count("e<>") == len(arrows) - count
    found = [
        tuple(float(each.attrib[key]) for key in ("x", "y", "width", "height"))
        for each in picture.iter()
        if each.tag.endswith("rect")
    ]
    assert len(found) == count
    for at, (x, y, width, height) in enumerate(found):
        for other_x, other_y, other_width, other_height in found[at + 1 :]:
            apart_x = x + width <= other_x or other_x + other_width <= x
            apart_y = y + height <= other_y or other_y + other_height <= y
            assert apart_x or apart_y


def test_the_history_is_drawn_with_branches_and_tags(graph: Graph) -> None:
    drawn = graph.commits.graph(limit=50)
    assert [len(commit.ref.id) for commit in drawn] == [26] * len(drawn)
    picture = drawn._repr_html_()
    _parse(picture)
    assert picture.count("<circle") == len(drawn)
    assert "first &lt;people&gt;" in picture
    assert "tag v1" in picture
    assert graph.commits.list()._repr_html_().count("<circle") == len(graph.commits.list())


def test_commits_that_are_not_related_have_lanes_of_their_own() -> None:
    dots = [
        Dot("m", ("a", "b"), "merge", ("main",)),
        Dot("a", ("r",), "left"),
        Dot("b", ("r",), "right"),
    ]
    picture = _parse(draw_history([*dots, Dot("r", ("gone",), "root")]))
    places = [each.attrib["cx"] for each in picture.iter() if each.tag.endswith("circle")]
    assert places[0] == places[1] == places[3] != places[2]


def test_entities_come_as_arrow_tables(graph: Graph) -> None:
    people, knows = graph.at("v1").nodes("Person"), graph.edges("Knows")
    assert people.column_names == ["id", "name", "born"]
    assert people.num_rows == 3
    assert knows.column_names == ["id", "src", "dst", "since"]
    assert isinstance(knows, pa.Table)
    assert knows.select(["src", "dst", "since"]).to_pylist() == [
        {"src": "Ada <b>", "dst": "Charles", "since": 1833}
    ]
    asks: list[Callable[[], object]] = [
        lambda: graph.nodes("Knows"),
        lambda: graph.edges("Person"),
        lambda: graph.nodes("X"),
    ]
    for ask in asks:
        with pytest.raises(NotFound, match="the schema has no"):
            ask()


def test_a_graph_goes_to_networkx(graph: Graph) -> None:
    whole = graph.to_networkx()
    assert isinstance(whole, nx.MultiDiGraph)
    assert (whole.number_of_nodes(), whole.number_of_edges()) == (5, 2)
    assert whole.nodes["Person", "Ada <b>"]["born"] == dt.date(1815, 12, 10)
    assert nx.has_path(whole, ("Person", "Ada <b>"), ("Note", "n1"))
    part = graph.to_networkx("Knows")
    assert {kind for kind, _ in part.nodes} == {"Person"}
    assert [data["since"] for *_, data in part.edges(data=True)] == [1833]
