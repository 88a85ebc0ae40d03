"""What a reader may not see is as if it were not there, through every way of reading."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.errors import Forbidden, GraphError, NotFound, PinChanged, TypeFailure
from omnigraph.graph.open import open_graph
from omnigraph.policy.reading import parse_bundle
from omnigraph.runtime import faults

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """\
interface Contact {
    email: String?
}
node Person implements Contact {
    name: String @key
    ssn: String? @unique
    age: I32?
}
node Salary {
    label: String @key
    amount: I64?
}
edge Knows: Person -> Person {
    secret: String?
}
edge Earns: Person -> Salary
"""
BUNDLE = parse_bundle(
    """\
version: 1
groups: {clerks: [cyd], people: [pat], owners: [ann]}
protected_branches: [main]
rules:
  - id: all
    allow:
      actors: {group: owners}
      actions: [read, export, change, branch_create, branch_merge, schema_apply, admin]
  - id: clerks
    allow:
      actors: {group: clerks}
      actions: [read, export, change, branch_create, branch_merge, schema_apply]
  - id: no-salaries
    deny: {actors: {group: clerks}, actions: [read], types: [Salary]}
  - id: no-numbers
    deny:
      actors: {group: clerks}
      actions: [read]
      properties: [Person.ssn, Person.email, Knows.secret]
  - id: only-people
    allow: {actors: {group: people}, actions: [read, change], types: [Person, Knows]}
  - id: only-people-branch
    allow: {actors: {group: people}, actions: [branch_create]}
  - id: people-do-not-change-ties
    deny: {actors: {group: people}, actions: [change], types: [Knows]}
"""
)
HIDDEN = (
    "ssn",
    "123-45",
    "email",
    "ann@x",
    "Salary",
    "Earns",
    "amount",
    "424242424242",
    "secret",
    "psst",
)
EVERYONE = "query q() { match { $p: Person } return { $p } order { $p.name asc } }"


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    made = omnigraph.init(
        tmp_path / "g.omni", SCHEMA, actor="ann", durability="process", policy=BUNDLE
    )
    made.mutate(
        """query add() {
            insert Person { name: "Ann", ssn: "123-45", email: "ann@x", age: 30 }
            insert Person { name: "Bob" }
            insert Salary { label: "s1", amount: 424242424242 }
            insert Knows { from: "Ann", to: "Bob", secret: "psst" }
            insert Earns { from: "Ann", to: "s1" }
        }"""
    )
    made.branches.create("dev")
    made.mutate(
        'query u() { update Person set { ssn: "123-99", age: 31 } where name = "Ann" }',
        branch="dev",
    )
    made.mutate(
        'query u() { update Person set { ssn: "123-77" } where name = "Bob" }', branch="dev"
    )
    return made


@pytest.fixture
def clerk(graph: EmbeddedGraph) -> EmbeddedGraph:
    return graph.acting_as("cyd")


def tells(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def clean(value: Any) -> None:
    told = tells(value)
    assert [word for word in HIDDEN if word in told] == []


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { $p: Person } return { $p.ssn } }",
        'query q() { match { $p: Person { ssn: "123-45" } } return { $p.name } }',
        "query q() { match { $p: Person } return { $p.name } order { $p.ssn asc } }",
        "query q() { match { $s: Salary } return { $s.label } }",
        "query q() { match { $p: Person $p earns $s } return { $s.label } }",
        "query q() { match { $a: Person $a knows $b } return { $b.email } }",
    ],
)
def test_hidden_names_are_unknown_to_a_query(
    graph: EmbeddedGraph, clerk: EmbeddedGraph, text: str
) -> None:
    graph.query(text)
    with pytest.raises(TypeFailure) as caught:
        clerk.query(text)
    # Like any other name that is not there: no remedy may suggest it.
    assert "did you mean `ssn`" not in str(caught.value)
    with pytest.raises(TypeFailure):
        clerk.explain(text)
    with pytest.raises(TypeFailure):
        clerk.stream(text)


def test_values_of_entities_lack_what_is_hidden(graph: EmbeddedGraph, clerk: EmbeddedGraph) -> None:
    assert graph.query(EVERYONE).rows()[0]["p"]["ssn"] == "123-45"
    row = clerk.query(EVERYONE).rows()[0]["p"]
    assert (row["name"], row["age"]) == ("Ann", 30)
    assert "ssn" not in row
    # Nobody finds what somebody else's question left in a cache.
    assert "ssn" in graph.query(EVERYONE).rows()[0]["p"]
    assert "ssn" not in clerk.query(EVERYONE).rows()[0]["p"]


def test_no_way_of_reading_tells_it(
    graph: EmbeddedGraph, clerk: EmbeddedGraph, tmp_path: Path
) -> None:
    commits = [commit.id for commit in graph.commits.list().commits]
    seen: list[Any] = [
        clerk.schema,
        [type_.name for type_ in clerk.catalog.types.values()],
        clerk.snapshot(),
        clerk.query(EVERYONE).to_json(),
        clerk.explain(EVERYONE).to_json(),
        clerk.profile(EVERYONE).to_json(),
        [index.to_json() for index in clerk.indexes()],
        clerk.diff(commits[-1], "main").to_json(),
        clerk.diff("main", "dev").to_json(),
        clerk.diff("main", "dev").summary_json(),
        clerk.changes.of_commit(commits[0]).to_json(),
        clerk.changes.poll(start="beginning").to_json(),
        clerk.changes.poll(branch="dev", start="beginning").to_json(),
        clerk.blame("Person", "Ann", target="dev").to_json(),
        b"".join(clerk.changes.baseline().lines()).decode(),
        clerk.nodes("Person").to_pylist(),
        clerk.edges("Knows").to_pylist(),
        clerk.plan_schema(clerk.schema).to_json(),
        {k: v for k, v in clerk.status().to_json().items() if k != "uri"},
    ]
    out = io.BytesIO()
    clerk.export(out)
    seen.append(out.getvalue().decode())
    for format_ in ("csv", "parquet", "arrow"):
        clerk.export(tmp_path / format_, format=format_)
        names = sorted(each.stem for each in (tmp_path / format_).iterdir())
        assert names == ["Knows", "Person"]
    seen += [
        (tmp_path / "csv" / "Person.csv").read_text(),
        (tmp_path / "csv" / "Knows.csv").read_text(),
        pq.read_table(tmp_path / "parquet" / "Person.parquet").to_pylist(),
        pq.read_table(tmp_path / "parquet" / "Knows.parquet").to_pylist(),
    ]
    for told in seen:
        clean(told)


def test_a_change_of_what_is_hidden_is_no_change(clerk: EmbeddedGraph) -> None:
    (change,) = clerk.diff("main", "dev")
    assert (change.id, change.changed) == ("Ann", ("age",))


def test_naming_a_hidden_type_is_naming_nothing(clerk: EmbeddedGraph, tmp_path: Path) -> None:
    with pytest.raises(GraphError) as export:
        clerk.export(tmp_path / "x.ndjson", types=["Salary"])
    assert export.value.code == "export.unknown_type"
    with pytest.raises(GraphError):
        clerk.blame("Salary", "s1")
    with pytest.raises(GraphError):
        clerk.nodes("Salary")
    with pytest.raises(NotFound):
        clerk.blob("Salary", "s1", "amount")
    with pytest.raises(GraphError):
        clerk.diff("main", "dev", types=["Salary"])


def test_types_can_be_all_that_is_allowed(graph: EmbeddedGraph) -> None:
    pat = graph.acting_as("pat")
    assert [type_.name for type_ in pat.catalog.types.values()] == ["Person", "Knows"]
    assert "ssn" in pat.query(EVERYONE).rows()[0]["p"]
    with pytest.raises(Forbidden):
        pat.export(io.BytesIO())


def test_a_mutation_cannot_name_what_is_hidden_and_leaves_it_alone(
    graph: EmbeddedGraph, clerk: EmbeddedGraph
) -> None:
    for text in (
        'query q() { update Person set { age: 1 } where ssn = "123-45" }',
        'query q() { update Person set { ssn: "0" } where name = "Ann" }',
        'query q() { delete Salary where label = "s1" }',
        'query q() { insert Salary { label: "s2" } }',
    ):
        with pytest.raises(TypeFailure):
            clerk.mutate(text)
    clerk.mutate('query q() { update Person set { age: 44 } where name = "Ann" }')
    row = graph.query(EVERYONE).rows()[0]["p"]
    assert (row["age"], row["ssn"], row["email"]) == (44, "123-45", "ann@x")


def test_an_insert_keeps_what_is_hidden_and_replace_is_refused(
    graph: EmbeddedGraph, clerk: EmbeddedGraph
) -> None:
    hidden = (
        'query q() { match { $p: Person { name: "Ann" } } return { $p.ssn, $p.email, $p.age } }'
    )
    ((ssn, email, _),) = (tuple(row.values()) for row in graph.query(hidden).rows())
    assert None not in (ssn, email)
    clerk.mutate('query q() { insert Person { name: "Ann", age: 45 } }')
    assert [tuple(row.values()) for row in graph.query(hidden).rows()] == [(ssn, email, 45)]
    for dry_run in (False, True):
        with pytest.raises(Forbidden) as found:
            clerk.mutate('query q() { replace Person { name: "Ann" } }', dry_run=dry_run)
        assert "ssn" not in str(found.value)
    graph.mutate('query q() { replace Person { name: "Ann" } }')
    assert [tuple(row.values()) for row in graph.query(hidden).rows()] == [(None, None, None)]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        # Names that are hidden are like names that are not there.
        (b'{"type": "Salary", "data": {"label": "s1"}}\n', "data.unknown_type"),
        (b'{"type": "Salar", "data": {"label": "s1"}}\n', "data.unknown_type"),
        (b'{"edge": "Earns", "from": "Ann", "to": "s1"}\n', "data.unknown_type"),
        # Whoever could say a value could ask whether somebody has it.
        (
            b'{"type": "Person", "data": {"name": "New", "ssn": "123-45"}}\n',
            "data.unknown_property",
        ),
        (b'{"type": "Person", "data": {"name": "New", "ss": "1"}}\n', "data.unknown_property"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_load_cannot_name_what_is_hidden(
    graph: EmbeddedGraph, clerk: EmbeddedGraph, source: bytes, code: str, *, dry_run: bool
) -> None:
    before = graph.commits.list().commits[0].id
    with pytest.raises(GraphError) as caught:
        clerk.load(source, mode="append", dry_run=dry_run)
    assert caught.value.code == code
    told = f"{caught.value} {caught.value.remedy} {caught.value.details}"
    assert [word for word in HIDDEN if word in told and word.encode() not in source] == []
    assert graph.commits.list().commits[0].id == before


@pytest.mark.parametrize(
    "source",
    [
        b'{"type": "Person", "data": {"name": "Ann", "age": 77}}\n',
        b'{"type": "Person", "data": {"name": "Ann"}}\n'
        b'{"type": "Person", "data": {"name": "Ann", "age": 77}}\n',
    ],
    ids=["one record", "two records"],
)
def test_a_merge_load_keeps_what_is_hidden(
    graph: EmbeddedGraph, clerk: EmbeddedGraph, source: bytes
) -> None:
    before = next(row["p"] for row in graph.query(EVERYONE).rows() if row["p"]["name"] == "Ann")
    clerk.load(source, mode="merge")
    after = next(row["p"] for row in graph.query(EVERYONE).rows() if row["p"]["name"] == "Ann")
    assert before["ssn"] == "123-45"
    assert after == {**before, "age": 77}
    clerk.load({"Person": pa.table({"name": ["Ann", "New"]})}, mode="merge")
    assert {**before, "age": 77} in [row["p"] for row in graph.query(EVERYONE).rows()]


def test_an_append_load_gives_hidden_properties_their_defaults(
    graph: EmbeddedGraph, clerk: EmbeddedGraph
) -> None:
    clerk.load(b'{"type": "Person", "data": {"name": "New"}}\n', mode="append")
    new = next(row["p"] for row in graph.query(EVERYONE).rows() if row["p"]["name"] == "New")
    assert (new["ssn"], new["email"], new["age"]) == (None, None, None)


def test_a_broken_rule_about_what_is_hidden_is_not_told(graph: EmbeddedGraph) -> None:
    graph.apply_schema(
        SCHEMA.replace("amount: I64?\n}", "amount: I64?\n}\nnode Badge {\n    pin: String\n}")
    )
    bundle = parse_bundle(
        """\
version: 1
groups: {clerks: [cyd]}
rules:
  - id: clerks
    allow: {actors: {group: clerks}, actions: [read, change]}
  - id: no-pins
    deny: {actors: {group: clerks}, actions: [read], properties: [Badge.pin]}
"""
    )
    with open_graph(graph.uri, policy=bundle, actor="cyd") as partly:
        for dry_run in (False, True):
            with pytest.raises(GraphError) as caught:
                partly.mutate("query q() { insert Badge { } }", dry_run=dry_run)
            assert caught.value.code == "data.required"
            assert "pin" not in f"{caught.value} {caught.value.details}"
            for mode in ("append", "merge"):
                with pytest.raises(GraphError) as caught:
                    partly.load([{"type": "Badge"}], mode=mode, dry_run=dry_run)
                assert caught.value.code == "data.required"
                assert "pin" not in f"{caught.value} {caught.value.details}"


def test_a_conflict_does_not_name_a_hidden_type(graph: EmbeddedGraph, clerk: EmbeddedGraph) -> None:
    def intrude() -> None:
        faults.clear()
        graph.mutate('query q() { insert Earns { from: "Bob", to: "s1" } }')

    faults.arm("attempt.prepared", intrude)
    with pytest.raises(PinChanged) as caught:
        clerk.mutate('query q() { delete Person where name = "Bob" }')
    told = f"{caught.value} {caught.value.remedy} {caught.value.details}"
    assert [word for word in HIDDEN if word in told] == []
    assert caught.value.details == {}


def test_a_change_is_asked_about_by_its_types(graph: EmbeddedGraph) -> None:
    pat = graph.acting_as("pat")
    pat.mutate('query q() { insert Person { name: "Pat" } }')
    before = graph.commits.list().commits[0].id
    with pytest.raises(Forbidden, match=r"may not change Knows on branch 'main'"):
        pat.mutate('query q() { insert Knows { from: "Pat", to: "Ann" } }')
    with pytest.raises(Forbidden, match="Knows"):
        pat.load(b'{"edge": "Knows", "from": "Pat", "to": "Ann"}\n', mode="append")
    with pytest.raises(GraphError, match="no type 'Salary'"):
        pat.load(b'{"type": "Salary", "data": {"label": "s9"}}\n', mode="append")
    assert graph.commits.list().commits[0].id == before
    pat.load(b'{"type": "Person", "data": {"name": "Quin"}}\n', mode="append")


def test_who_sees_a_part_does_not_move_the_whole(
    graph: EmbeddedGraph, clerk: EmbeddedGraph
) -> None:
    commit = graph.commits.list().commits[0].id
    for call in (
        lambda: clerk.merge("dev"),
        lambda: clerk.merge("dev", preview=True),
        lambda: clerk.revert(commit),
        lambda: clerk.cherry_pick(commit, into="dev"),
        lambda: clerk.branches.reset("dev", to="main"),
        lambda: clerk.apply_schema(clerk.schema),
        lambda: clerk.load(b'{"type": "Person", "data": {"name": "Ann"}}\n', mode="overwrite"),
    ):
        with pytest.raises(Forbidden, match="has a restricted view"):
            call()
    assert graph.query(EVERYONE).rows()[0]["p"]["ssn"] == "123-45"
    # A branch of one's own shows no more than its source did.
    clerk.branches.create("mine")
    assert "ssn" not in clerk.at("mine").query(EVERYONE).rows()[0]["p"]
    graph.merge("dev")
