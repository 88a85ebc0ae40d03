"""The client gives what the facade gives: the same types, values and errors."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.api.change_json import cause_to_json, change_to_json
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.client import connect, connect_async
from omnigraph.runtime.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.graph import Graph
    from omnigraph.client.remote import RemoteGraph

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
    score: I64?
    seen: DateTime?
}

edge Knows: Person -> Person {
    since: I32?
}
"""
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for one test
ALL = """\
query all() {
    match { $p: Person }
    return { $p.name, $p.born, $p.score, $p }
    order { $p.name asc }
}
"""
ADD = "query add($name: String, $born: Date?) { insert Person { name: $name, born: $born } }"


def test_rows_have_the_types_that_they_have_embedded(graph: Graph, remote: RemoteGraph) -> None:
    here, there = graph.query(ALL), remote.query(ALL)
    assert there.rows() == here.rows()
    assert there.rows()[0]["p.born"] == dt.date(1815, 12, 10)
    assert there.to_arrow().equals(here.to_arrow())
    assert there.columns == here.columns
    assert there.to_json() == here.to_json()
    assert there.to_pandas().equals(here.to_pandas())


def test_a_stream_has_the_rows_of_the_query(graph: Graph, remote: RemoteGraph) -> None:
    stream = remote.stream(ALL)
    assert stream.row_count == 2
    assert stream.read_all().rows() == graph.query(ALL).rows()


def test_parameters_of_every_kind_arrive(remote: RemoteGraph) -> None:
    done = remote.mutate(ADD, {"name": "Grace", "born": dt.date(1906, 12, 9)}, message="hello")
    assert (done.affected_nodes, done.actor, done.branch) == (1, "admin", "main")
    assert done.commit is not None
    shown = remote.commits.show(done.commit.id)
    assert (shown.message, shown.actor, shown.kind.value) == ("hello", "admin", "mutation")
    assert remote.query(ALL).rows()[-1]["p.born"] == dt.date(1906, 12, 9)


def test_reads_at_every_kind_of_target(graph: Graph, remote: RemoteGraph) -> None:
    head = graph.commits.list().commits[0].id
    remote.tags.create("v1")
    remote.mutate(ADD, {"name": "Grace", "born": None})
    for target in ("v1", head, "main@v2", f"main@{dt.datetime.now(dt.UTC).isoformat()}", "main"):
        assert remote.at(target).query(ALL).to_json() == graph.at(target).query(ALL).to_json()
    with pytest.raises(errors.NotFound) as caught:
        remote.at("nowhere")
    assert caught.value.code == "target.missing"


def test_everything_that_is_told_is_told_the_same(graph: Graph, remote: RemoteGraph) -> None:
    graph.branches.create("dev")
    graph.mutate(ADD, {"name": "Grace", "born": None}, branch="dev")
    graph.tags.create("v1")
    commit = graph.commits.list(None).commits[0]
    assert remote.schema == graph.schema
    assert remote.snapshot() == graph.snapshot()
    assert remote.status().to_json() == _json(graph.status().to_json())
    assert remote.id == graph.id
    assert remote.commits.list().to_json() == graph.commits.list().to_json()
    assert commit_to_json(remote.commits.show(commit.id)) == commit_to_json(commit)
    assert [(each.name, each.commit) for each in remote.tags.list()] == [
        (each.name, each.commit) for each in graph.tags.list()
    ]
    assert [
        (each.ref.name, commit_to_json(each.head.commit)) for each in remote.branches.list()
    ] == [(each.ref.name, commit_to_json(each.head.commit)) for each in graph.branches.list()]
    assert remote.diff("main", "dev").to_json() == graph.diff("main", "dev").to_json()
    assert remote.blame("Person", "Ada").to_json() == graph.blame("Person", "Ada").to_json()
    assert remote.explain(ALL).to_json() == graph.explain(ALL).to_json()
    assert str(remote.explain(ALL)) == str(graph.explain(ALL))
    assert (
        remote.changes.of_commit(commit.id).to_json()
        == graph.changes.of_commit(commit.id).to_json()
    )
    here = graph.changes.poll(start="beginning", branch="dev")
    assert remote.changes.poll(start="beginning", branch="dev").to_json() == here.to_json()
    assert remote.commits.is_ancestor(commit.id, graph.branches.list()[0].head.commit.id)
    assert remote.commits.merge_base(commit.id, commit.id) is not None


def test_conditions_look_through_maintenance(graph: Graph, remote: RemoteGraph) -> None:
    head = graph.commits.list().commits[0].id
    assert graph.ensure_indices(force=True).commit is not None
    wanted = CommitFilter(hide_maintenance=True)
    assert remote.commits.list(wanted).to_json() == graph.commits.list(wanted).to_json()
    assert remote.commits.list(wanted).commits[0].id == head
    done = remote.mutate(ADD, {"name": "Grace", "born": None}, if_commit=head)
    assert done.affected_nodes == 1
    with pytest.raises(errors.PreconditionFailed):
        remote.load(b'{"type": "Person", "data": {"name": "Z"}}', mode="append", if_commit=head)


def test_changes_can_be_walked_like_those_of_the_facade(graph: Graph, remote: RemoteGraph) -> None:
    graph.mutate('query u() { update Person set { score: 1 } where name = "Ada" }')
    commit = graph.commits.list().commits[0].id
    here, there = graph.changes.of_commit(commit), remote.changes.of_commit(commit)
    assert cause_to_json(there.block.commit) == cause_to_json(here.block.commit)
    assert [*map(change_to_json, there.block.changes)] == [*map(change_to_json, here.block.changes)]
    assert there.block.changes[0].changed == ("score",)
    assert len(list(remote.changes.all_of_commit(commit))) == 1


def test_entities_come_as_tables_and_as_networkx(graph: Graph, remote: RemoteGraph) -> None:
    assert remote.nodes("Person").equals(graph.nodes("Person"))
    assert remote.edges("Knows").equals(graph.edges("Knows"))
    for types in ((), ("Person",), ("Knows",)):
        here, there = graph.to_networkx(*types), remote.to_networkx(*types)
        assert dict(there.nodes(data=True)) == dict(here.nodes(data=True))
        assert list(there.edges(keys=True, data=True)) == list(here.edges(keys=True, data=True))
    first = graph.commits.list().commits[-1]
    assert remote.at(first).nodes("Person").num_rows == 0


def test_a_blob_has_the_bytes_and_the_commit_that_it_has_embedded(
    graph: Graph, remote: RemoteGraph
) -> None:
    graph.apply_schema(SCHEMA.replace("seen: DateTime?", "seen: DateTime?\n    photo: Blob?"))
    data = bytes(range(256)) * 10_000
    add = 'query q($p: Blob) { update Person set { photo: $p } where name = "Ada" }'
    graph.mutate(add, {"p": data})
    here, there = graph.blob("Person", "Ada", "photo"), remote.blob("Person", "Ada", "photo")
    assert (there.data, there.size, there.tag) == (here.data, len(data), here.tag)
    assert there.data == data
    assert there.commit_id == here.commit_id
    with pytest.raises(errors.NotFound) as missing:
        remote.blob("Person", "Charles", "photo")
    assert missing.value.code == "blob.missing"


def test_history_takes_what_the_graph_handed_out(graph: Graph, remote: RemoteGraph) -> None:
    graph.branches.create("side")
    graph.mutate(ADD, {"name": "Grace", "born": None}, branch="side")
    graph.tags.create("v1")
    assert remote.commits.graph().names == graph.commits.graph().names
    told = [commit.id for commit in graph.commits.graph(limit=2)]
    assert [commit.id for commit in remote.commits.graph(limit=2)] == told
    (newest, *_, oldest) = graph.commits.list().commits
    assert remote.commits.show(newest).id == newest.id
    assert remote.commits.is_ancestor(oldest, newest)
    assert remote.diff(oldest, newest).to_json() == graph.diff(oldest, newest).to_json()
    assert remote.branches.create("other", source=oldest).fork_commit == oldest.id
    assert remote.revert(newest, preview=True).preview


def test_branches_merge_and_revert(remote: RemoteGraph) -> None:
    created = remote.branches.create("fix/one")
    assert created.name == "fix/one"
    remote.mutate(ADD, {"name": "Grace", "born": None}, branch="fix/one")
    preview = remote.merge("fix/one", preview=True)
    assert preview.preview
    assert preview.types[0].inserted == 1
    merged = remote.merge("fix/one", delete_branch=True)
    assert merged.commit is not None
    assert merged.branch_deleted
    assert [each.ref.name for each in remote.branches.list()] == ["main"]
    undone = remote.revert(merged.commit.id)
    assert undone.commit is not None
    assert [row["p.name"] for row in remote.query(ALL)] == ["Ada", "Charles"]
    again = remote.cherry_pick(merged.commit.id)
    assert again.commit is not None
    assert len(remote.query(ALL)) == 3
    moved = remote.branches.reset("main", to=undone.commit.id)
    assert moved.snapshot.id == undone.commit.id
    assert len(remote.query(ALL)) == 2


def test_conflicts_come_back_as_conflicts(remote: RemoteGraph) -> None:
    remote.branches.create("dev")
    for branch, score in (("main", 1), ("dev", 2)):
        text = 'query u($s: I64) { update Person set { score: $s } where name = "Ada" }'
        remote.mutate(text, {"s": score}, branch=branch)
    with pytest.raises(errors.MergeConflict) as caught:
        remote.merge("dev")
    (told,) = caught.value.details["merge_conflicts"]
    (shown,) = remote.merge("dev", preview=True).conflicts
    assert shown.conflict_id == told["conflict_id"]
    choice = [{"conflict_id": shown.conflict_id, "take": "theirs"}]
    assert remote.merge("dev", resolutions=choice).commit is not None


@pytest.mark.parametrize("kind", ["path", "bytes", "file", "records", "mapping", "frame"])
def test_loads_take_what_the_facade_takes(remote: RemoteGraph, tmp_path: Path, kind: str) -> None:
    line = b'{"type": "Person", "data": {"name": "Grace", "born": "1906-12-09"}}\n'
    (tmp_path / "data.ndjson").write_bytes(line)
    row = {"name": "Grace", "born": dt.date(1906, 12, 9)}
    pa = pytest.importorskip("pyarrow")
    sources: dict[str, tuple[Any, dict[str, Any]]] = {
        "path": (tmp_path / "data.ndjson", {}),
        "bytes": (line, {}),
        "file": (io.BytesIO(line), {}),
        "records": ([{"type": "Person", "data": row}], {}),
        "mapping": ({"Person": pa.Table.from_pylist([row])}, {}),
        "frame": (pa.Table.from_pylist([row]).to_pandas(), {"type": "Person"}),
    }
    source, said = sources[kind]
    done = remote.load(source, mode="merge", branch="in", from_="main", **said)
    assert (done.branch_created, done.total_nodes) == (True, 1)
    assert remote.at("in").query(ALL).rows()[-1]["p.born"] == dt.date(1906, 12, 9)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (b"name,score\neve,3\n", {"type": "Person", "format": "csv"}),
        (io.BytesIO(b"name,score\neve,3\n"), {"type": "Person", "format": "csv"}),
        ({"Person": "people.csv"}, {}),
    ],
)
def test_a_load_that_is_no_json_is_refused(
    remote: RemoteGraph, source: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        remote.load(source, mode="append", **options)
    assert refused.value.code == "load.bad_source"


def test_a_list_of_byte_strings_is_a_list_of_files(graph: Graph, remote: RemoteGraph) -> None:
    files = [f'{{"type": "Person", "data": {{"name": "{name}"}}}}'.encode() for name in "xy"]
    here = graph.load(files, mode="append", dry_run=True)
    assert remote.load(files, mode="append", dry_run=True).total_entities == here.total_entities


def test_a_wrong_mode_has_the_error_of_the_embedded_graph(
    graph: Graph, remote: RemoteGraph
) -> None:
    for each in (graph, remote):
        with pytest.raises(errors.InvalidInput) as refused:
            each.load([], mode="upsert")
        assert refused.value.code == "load.bad_mode"


def test_an_export_streams_to_a_file_and_loads_again(
    graph: Graph, remote: RemoteGraph, tmp_path: Path
) -> None:
    told = remote.export(tmp_path / "there.ndjson")
    assert told.to_json() == graph.export(tmp_path / "here.ndjson").to_json()
    assert (tmp_path / "there.ndjson").read_bytes() == (tmp_path / "here.ndjson").read_bytes()
    with pytest.raises(errors.GraphError):
        remote.export(tmp_path / "there.ndjson", types=["Nobody"])
    assert (tmp_path / "there.ndjson").read_bytes() == (tmp_path / "here.ndjson").read_bytes()
    with pytest.raises(errors.InvalidInput, match="cannot be written"):
        remote.export(tmp_path / "nowhere" / "there.ndjson")
    out = io.BytesIO()
    assert remote.export(out, types=["Knows"]).total_edges == 1
    assert out.getvalue().count(b"\n") == 1


def test_a_baseline_has_its_cursor(graph: Graph, remote: RemoteGraph) -> None:
    here, there = graph.changes.baseline(), remote.changes.baseline()
    assert b"".join(there.lines()) == b"".join(here.lines())
    assert there.to_json() == here.to_json()
    remote.mutate(ADD, {"name": "Grace", "born": None})
    assert len(remote.changes.poll(cursor=there.cursor).blocks) == 1


def test_schema_changes_are_planned_and_applied(graph: Graph, remote: RemoteGraph) -> None:
    wider = SCHEMA.replace("score: I64?", "score: I64?\n    email: String?")
    planned = remote.plan_schema(wider)
    assert planned.to_json() == graph.plan_schema(wider).to_json()
    assert len(planned.steps) == 1
    done = remote.apply_schema(wider)
    assert done.applied
    assert done.commit is not None
    assert "email" in remote.catalog.node("Person").by_name  # type: ignore[union-attr]
    assert not remote.apply_schema(wider).applied


def test_stored_queries_are_listed_and_invoked(remote: RemoteGraph) -> None:
    assert [each["name"] for each in remote.stored_queries()] == ["add_person", "person"]
    found = remote.invoke_query("person", {"name": "Ada"})
    assert found.to_json()["rows"] == [{"p.name": "Ada", "p.born": "1815-12-10"}]
    assert remote.invoke_query("add_person", {"name": "Grace"}).to_json()["affected_nodes"] == 1
    with pytest.raises(errors.NotFound, match="does not exist"):
        remote.invoke_query("nothing")


def head_of(graph: Any) -> str:
    return str(graph.at("main").snapshot()["graph_commit_id"])


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.query("query q( {"),
        lambda g: g.query("query q() { match { $p: Ghost } return { $p } }"),
        lambda g: g.query("query q($x: I64) { match { $p: Person } return { $p.name } }", {}),
        lambda g: g.mutate(ADD, {"name": None}),
        lambda g: g.mutate('query q() { insert Knows { from: "Ada", to: "nobody" } }'),
        lambda g: g.mutate(ADD, {"name": "x", "born": None}, if_commit="0" * 26),
        lambda g: g.mutate(ADD, {"name": "x", "born": None}, branch="nowhere"),
        lambda g: g.branches.create("main"),
        lambda g: g.branches.create("a..b"),
        lambda g: g.branches.delete("main"),
        lambda g: g.tags.delete("none"),
        lambda g: g.commits.show("0" * 26),
        lambda g: g.load(b'{"type": "Person", "data": {"name": 1}}\n', mode="append"),
        lambda g: g.load(b'{"type": "Person", "data": {"name": "Ada"}}\n', mode="append"),
        lambda g: g.load(b"not json\n", mode="append"),
        lambda g: g.apply_schema("node {"),
        lambda g: g.apply_schema("node Other { name: String }\nedge E: Ghost -> Other"),
        lambda g: g.merge("nowhere"),
        lambda g: g.load(b"", mode="append", if_commit="0" * 26),
        lambda g: g.revert(head_of(g), if_commit="0" * 26),
        lambda g: g.cherry_pick(head_of(g), if_commit="0" * 26),
        lambda g: g.query(ALL, traversal="sideways"),
        lambda g: g.changes.poll(cursor="nonsense"),
        lambda g: g.diff("main", "nowhere"),
        lambda g: g.blame("Ghost", "x"),
        lambda g: g.nodes("Ghost"),
        lambda g: g.query(ALL, budget=Budget(rows=1)),
        lambda g: g.profile(ALL, budget=Budget(rows=1)),
        lambda g: g.edges("Person"),
        lambda g: g.to_networkx("Ghost"),
        lambda g: g.blob("Person", "Ada", "name"),
    ],
)
def test_an_error_is_the_same_error_on_both_sides(
    graph: Graph, remote: RemoteGraph, call: Any
) -> None:
    with pytest.raises(errors.GraphError) as here:
        call(graph)
    with pytest.raises(errors.GraphError) as there:
        call(remote)
    if there.value.code in {"request.invalid", "type.missing"}:
        # The server refuses earlier what does not even have the right shape.
        assert isinstance(there.value, errors.InvalidInput | errors.NotFound)
        return
    assert there.value.code == here.value.code
    assert type(there.value) is type(here.value)
    assert there.value.remedy == here.value.remedy


def test_a_wrong_token_and_no_token_are_refused(url: str) -> None:
    for token in ("wrong", None):
        with connect(url, token=token, graph="people") as stranger, pytest.raises(errors.Forbidden):
            stranger.query(ALL)


def test_open_takes_the_address_of_a_server(graph: Graph, url: str) -> None:
    with omnigraph.open(f"{url}/graphs/people", token=TOKEN) as found:
        assert found.query(ALL).rows() == graph.query(ALL).rows()
        assert found.uri == f"{url}/graphs/people"
    with pytest.raises(errors.InvalidInput, match="policy"):
        omnigraph.open(url, policy="preset:team")
    with pytest.raises(errors.InvalidInput, match="'token' applies to graphs behind a server"):
        omnigraph.open(graph.uri, token=TOKEN)


def test_an_address_without_a_graph_needs_the_list(url: str) -> None:
    with connect(url, token=TOKEN) as unnamed, pytest.raises(errors.InvalidInput) as caught:
        unnamed.query(ALL)
    assert caught.value.code == "client.which_graph"


def test_a_closed_connection_is_of_no_use(url: str) -> None:
    with connect(url, token=TOKEN, graph="people") as graph:
        graph.close()
        with pytest.raises(errors.InvalidInput) as caught:
            graph.query(ALL)
    assert caught.value.code == "client.closed"


def test_what_a_server_does_not_offer_is_said(remote: RemoteGraph) -> None:
    calls: list[Callable[[], object]] = [
        remote.refresh,
        remote.indexes,
        remote.recoveries.list,
        lambda: remote.mutate(ADD, {"name": "x", "born": None}, actor="bob"),
    ]
    for call in calls:
        with pytest.raises((errors.Unsupported, errors.InvalidInput)):
            call()


def test_the_same_verbs_can_be_awaited(graph: Graph, url: str) -> None:
    async def work() -> list[dict[str, Any]]:
        async with connect_async(url, token=TOKEN, graph="people") as remote:
            names = ["Grace", "Alan", "Edsger"]
            calls = [remote.mutate(ADD, {"name": name, "born": None}) for name in names]
            await asyncio.gather(*calls)
            await remote.branches.create("dev")
            await remote.at("dev").export(io.BytesIO())
            assert await remote.schema() == graph.schema
            commit = (await remote.commits.list()).commits[0].id
            assert len([change async for change in remote.changes.all_of_commit(commit)]) == 1
            with pytest.raises(errors.NotFound):
                await remote.at("nowhere").query(ALL)
            return (await remote.query(ALL)).rows()

    assert asyncio.run(work()) == graph.query(ALL).rows()


def _json(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "pending": tuple(body["pending"])}
