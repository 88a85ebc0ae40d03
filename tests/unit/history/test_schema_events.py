"""Changes of definitions in the feed: stable identities, old and new names, in every interface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.cli.program import run as main
from omnigraph.policy.reading import parse_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph import Graph

FIRST = (
    "node Person { name: String @key\n age: I32?\n mail: String? }\nnode Salary { k: String @key }"
)
SECOND = (
    'node Author @rename_from("Person") {\n name: String @key\n'
    ' years: I32? @rename_from("age")\n site: String? }\n'
    'node Wage @rename_from("Salary") { k: String @key }\nedge Knows: Author -> Author'
)
BUNDLE = parse_bundle(
    """\
version: 1
groups: {clerks: [cyd], owners: [ann]}
rules:
  - id: all
    allow: {actors: {group: owners}, actions: [read, change, schema_apply]}
  - id: clerks
    allow: {actors: {group: clerks}, actions: [read]}
  - id: no-salaries
    deny: {actors: {group: clerks}, actions: [read], types: [Salary, Wage]}
  - id: no-mail
    deny: {actors: {group: clerks}, actions: [read], properties: [Person.mail, Author.site]}
"""
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(tmp_path / "g.omni", FIRST, durability="process", actor="ann")
    graph.mutate('query q() { insert Person { name: "Ada", age: 36, mail: "a@x" } }')
    graph.apply_schema(SECOND)
    return graph


def told(changes: Any) -> list[tuple[str | None, ...]]:
    """Operation, type, property and previous name of every event."""
    return sorted(
        (
            each["op"],
            each["type"]["name"],
            each.get("property", {}).get("name", ""),
            each.get("previous_name", ""),
        )
        for each in changes
    )


EVENTS = [
    ("create_property", "Author", "site", ""),
    ("create_type", "Knows", "", ""),
    ("drop_property", "Author", "mail", ""),
    ("rename_property", "Author", "years", "age"),
    ("rename_type", "Author", "", "Person"),
    ("rename_type", "Wage", "", "Salary"),
]


def test_the_feed_has_the_changes_of_definitions_at_their_commit(graph: Graph) -> None:
    first, second, third = graph.changes.poll(start="beginning").to_json()["blocks"]
    assert told(first["schema_changes"]) == [
        ("create_type", "Person", "", ""),
        ("create_type", "Salary", "", ""),
    ]
    assert "schema_changes" not in second
    assert told(third["schema_changes"]) == EVENTS
    created = {each["type"]["name"]: each for each in first["schema_changes"]}
    renamed = {
        each["type"]["name"]: each
        for each in third["schema_changes"]
        if each["op"] == "rename_type"
    }
    assert renamed["Author"]["type"]["id"] == created["Person"]["type"]["id"]
    ids = {each["name"]: each["id"] for each in created["Person"]["properties"]}
    years = next(each for each in third["schema_changes"] if each["op"] == "rename_property")
    assert years["property"] == {"id": ids["age"], "name": "years"}


def test_the_changes_of_a_commit_have_them_on_the_first_page(graph: Graph) -> None:
    graph.mutate('query q() { insert Author { name: "Bob", site: "b" } }')
    graph.apply_schema("node Other { k: String @key }")
    newest = graph.commits.list().commits[0]
    page = graph.changes.of_commit(newest, limit=1)
    assert page.block.schema_changes
    assert page.next_page_token is not None
    rest = graph.changes.of_commit(newest, limit=1, page_token=page.next_page_token)
    assert rest.block.schema_changes == ()
    assert rest.block.changes


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"kinds": ["edge"]}, {"Knows"}),
        ({"types": ["Author"]}, {"Author"}),
        ({"types": ["Person"]}, {"Author"}),
        ({"ops": ["insert"]}, {"Author", "Wage", "Knows"}),
    ],
)
def test_filters_of_kinds_and_types_hold_for_definitions(
    wanted: dict[str, Any], names: set[str], graph: Graph
) -> None:
    newest = graph.commits.list().commits[0]
    found = graph.changes.of_commit(newest, **wanted).block.schema_changes
    assert {change.type.name for change in found} == names


def test_hidden_types_and_properties_have_no_events(graph: Graph) -> None:
    seen = omnigraph.open(graph.uri, policy=BUNDLE, actor="cyd").changes.poll(start="beginning")
    text = json.dumps(seen.to_json())
    for hidden in ("Salary", "Wage", "mail", "site"):
        assert hidden not in text
    assert told(seen.to_json()["blocks"][2]["schema_changes"]) == [
        each for each in EVENTS if each[1] != "Wage" and each[2] not in {"mail", "site"}
    ]


def test_a_reset_and_a_merge_have_the_events_of_what_they_bring(graph: Graph) -> None:
    first, *_ = reversed(graph.commits.list().commits)
    graph.branches.create("old", source=first)
    graph.merge("old")
    graph.branches.reset("main", to="old")
    newest = graph.commits.list().commits[0]
    back = graph.changes.of_commit(newest).to_json()["schema_changes"]
    assert ("rename_type", "Person", "", "Author") in told(back)
    assert ("drop_type", "Knows", "", "") in told(back)


def node(name: str, previous: str = "", **renamed: str) -> str:
    was = f' @rename_from("{previous}")' if previous else ""
    lines = [f'{new}: I64? @rename_from("{old}")' for new, old in renamed.items()]
    return "\n".join([f"node {name}{was} {{ k: String @key", *(lines or ["a: I64?"]), "}"])


def test_a_delete_has_the_name_that_the_block_gives_its_type(tmp_path: Path) -> None:
    graph = omnigraph.init(tmp_path / "g.omni", node("P"), durability="process")
    graph.mutate('query q() { insert P { k: "x" } insert P { k: "y" } insert P { k: "z" } }')
    graph.branches.create("b")
    graph.apply_schema(node("Q", "P", b="a"), branch="b")
    graph.mutate('query q() { delete Q where k = "x" }', branch="b")
    graph.mutate(
        'query q() { update Q set { b: 1 } where k = "y" insert Q { k: "w" } }', branch="b"
    )
    merged = graph.merge("b").commit
    assert merged is not None
    page = graph.changes.poll(start="beginning").blocks[-1]
    for block in (page, graph.changes.of_commit(merged).block):
        found = [(each.op.name, each.entity.name, each.id) for each in block.changes]
        assert found == [("INSERT", "Q", "w"), ("DELETE", "Q", "x"), ("UPDATE", "Q", "y")]
        assert {each["type"]["name"] for each in block.to_json()["changes"]} == {"Q"}
        assert block.changes[2].changed == ("b",)
    assert graph.blame("Q", "x").entries[0][1].entity.name == "Q"


def test_a_merge_that_exchanges_names_deletes_from_the_right_type(tmp_path: Path) -> None:
    first = node("P") + "\n" + node("Q")
    graph = omnigraph.init(tmp_path / "g.omni", first, durability="process")
    graph.mutate('query q() { insert P { k: "x", a: 1 } insert Q { k: "x", a: 2 } }')
    graph.branches.create("b")
    graph.apply_schema(node("R", "P") + "\n" + node("Q"), branch="b")
    graph.apply_schema(node("R") + "\n" + node("P", "Q"), branch="b")
    graph.apply_schema(node("Q", "R") + "\n" + node("P"), branch="b")
    graph.mutate('query q() { delete Q where k = "x" }', branch="b")
    merged = graph.merge("b").commit
    assert merged is not None
    (change,) = graph.changes.of_commit(merged).block.changes
    assert (change.op.name, change.entity.name) == ("DELETE", "Q")
    assert change.before is not None
    assert change.before.properties == {"k": "x", "a": 1}
    assert [row["a"] for row in graph.nodes("P").to_pylist()] == [2]


def test_a_dropped_and_a_renamed_property_of_one_name_change_once(tmp_path: Path) -> None:
    two = "node P { k: String @key\n a: I64?\n b: I64? }"
    graph = omnigraph.init(tmp_path / "g.omni", two, durability="process")
    graph.mutate('query q() { insert P { k: "x", a: 1, b: 2 } }')
    graph.branches.create("b")
    graph.apply_schema("node P { k: String @key\n b: I64? }", branch="b")
    graph.apply_schema(node("P", a="b"), branch="b")
    graph.mutate('query q() { update P set { a: 3 } where k = "x" }', branch="b")
    merged = graph.merge("b").commit
    assert merged is not None
    (change,) = graph.changes.of_commit(merged).block.changes
    assert change.changed == ("a",)
    assert change.before is not None
    assert change.before.properties == {"k": "x", "a": 1, "b": 2}


def test_the_command_line_shows_them(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    newest = graph.commits.list().commits[0].id
    for verb in (["changes", "poll", "--start", "beginning"], ["commit", "changes", newest]):
        assert main([*verb, "--store", graph.uri]) == 0
        shown = capsys.readouterr().out
        assert "# rename type Author (was Person)" in shown
        assert "# rename property Author.years (was age)" in shown
        assert main([*verb, "--store", graph.uri, "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        block = body["blocks"][2] if "blocks" in body else body
        assert told(block["schema_changes"]) == EVENTS
