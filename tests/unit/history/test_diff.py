"""The difference between two targets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.api.changes import ChangeOp
from omnigraph.api.commits import WriterKind
from omnigraph.changes.comparison import SnapshotComparison
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.history import diff as diff_module
from omnigraph.testing.histories import branch_off, state_of, write
from omnigraph.testing.kit import open_engine
from omnigraph.testing.kit_between import Between
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import WriteSnapshot


def told(found: Any) -> list[tuple[str, str, str]]:
    return [(change.op.name.lower(), change.entity.name, change.id) for change in found]


def test_changes_come_with_images_and_the_properties_that_changed(graph: EmbeddedGraph) -> None:
    body = graph.diff("dev", "main").to_json()
    by_id = {change["id"]: change for change in body["changes"]}
    assert by_id["ada"]["op"] == "update"
    assert by_id["ada"]["changed"] == ["age"]
    assert by_id["ada"]["before"] == {"properties": {"name": "ada", "age": 36}}
    assert by_id["ada"]["after"] == {"properties": {"name": "ada", "age": 37}}
    assert "before" not in by_id["cyd"]
    assert by_id["cyd"]["after"] == {"properties": {"name": "cyd", "age": None}}
    assert "after" not in by_id["bob"]
    assert by_id["k1"]["before"]["endpoints"] == {"from": "ada", "to": "bob"}
    assert body["from"]["target"] == "dev"
    assert {part["type"]["name"]: part["deleted"] for part in body["summary"]} == {
        "Person": 1,
        "Knows": 1,
    }


def test_what_is_told_fits_a_prompt(graph: EmbeddedGraph) -> None:
    found = [*graph.diff("main@v1", "main")]
    assert repr(found[0]).startswith("<EntityChange ")
    told = [*found, *graph.diff("main@v1", "main").summary(), graph.changes.poll()]
    told += [graph.blame("Person", "ada"), graph.changes.baseline()]
    assert max(len(repr(each)) for each in told) < 100


def test_nodes_come_before_edges_and_ids_are_sorted(graph: EmbeddedGraph) -> None:
    assert told(graph.diff("dev", "main")) == [
        ("update", "Person", "ada"),
        ("delete", "Person", "bob"),
        ("insert", "Person", "cyd"),
        ("delete", "Knows", "k1"),
    ]


def test_a_difference_of_any_size_is_told_piece_by_piece(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_module, "_CHANGES_PER_CHUNK", 3)
    found = graph.diff("dev", "main")
    pieces = list(found.json_chunks())
    assert json.loads(b"".join(pieces)) == json.loads(json.dumps(found.to_json()))
    # Four changes, and what stands before and behind them.
    assert len(pieces) == 4
    nothing = graph.diff("dev", "dev")
    assert json.loads(b"".join(nothing.json_chunks())) == nothing.to_json()


def test_the_other_direction_is_the_opposite(graph: EmbeddedGraph) -> None:
    opposite = {"insert": "delete", "delete": "insert", "update": "update"}
    there, back = told(graph.diff("dev", "main")), told(graph.diff("main", "dev"))
    assert [(opposite[op], kind, key) for op, kind, key in there] == back


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kinds": ["edge"]}, ["k1"]),
        ({"types": ["Person"]}, ["ada", "bob", "cyd"]),
        ({"types": ["Person", "Knows"], "ops": ["delete"]}, ["bob", "k1"]),
        ({"ops": ["insert", "update"]}, ["ada", "cyd"]),
        ({"kinds": ["node"], "ops": ["delete"]}, ["bob"]),
        ({"types": ["Place"]}, []),
    ],
)
def test_changes_are_chosen_by_kind_type_and_operation(
    graph: EmbeddedGraph, wanted: dict[str, list[str]], expected: list[str]
) -> None:
    found = graph.diff("dev", "main", **wanted)
    assert [change.id for change in found] == expected
    assert sum(part.total for part in found.summary()) == len(expected)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"kinds": ["vertex"]}, "changes.bad_kind"),
        ({"ops": ["upsert"]}, "changes.bad_op"),
        ({"types": ["Persn"]}, "changes.unknown_type"),
    ],
)
def test_what_is_not_known_is_refused(
    graph: EmbeddedGraph, wanted: dict[str, list[str]], code: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        graph.diff("dev", "main", **wanted)
    assert raised.value.code == code
    with pytest.raises(NotFound):
        graph.diff("dev", "nowhere")


def test_one_name_may_stand_by_itself(graph: EmbeddedGraph) -> None:
    everything = [*graph.diff("main@v1", "main", types=["Person"], ops=["insert"])]
    assert everything
    assert [*graph.diff("main@v1", "main", types="Person", ops="insert")] == everything


def test_equal_targets_read_nothing(engine: Engine) -> None:
    branch_off(engine, "same")
    seen = Between(engine.root.tables)
    other = open_engine(engine.root.objects.uri, wrap_tables=lambda _: seen)
    found = SnapshotComparison(other.snapshot("main"), other.snapshot("same"))
    assert list(found.changes()) == []
    assert found.summary() == []
    assert not [path for _, path in seen.calls if path.startswith(("nodes/", "edges/"))]


class _Rewrite:
    """Writes a table anew as it is, as a compaction would."""

    kind = WriterKind.MAINTENANCE
    reprepares = False

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        entity = view.snapshot.catalog.nodes[0]
        table = view.snapshot.table(entity.id)
        rows = table.scan()
        backwards = rows.take(pa.array(range(rows.num_rows - 1, -1, -1)))
        return PreparedWrite((TableEffect(entity.id, table.pin, table.stage_overwrite(backwards)),))


def test_rows_that_only_moved_have_not_changed(engine: Engine, graph: EmbeddedGraph) -> None:
    before = engine.snapshot().commit_id
    engine.transactions.run(WriteRequest("main"), _Rewrite())
    assert list(graph.diff(before, "main")) == []
    write(engine, {"Person": {"ada": {"name": "ada", "age": 38}}})
    (change,) = graph.diff(before, "main")
    assert (change.id, change.changed) == ("ada", ("age",))


def test_many_small_commits_leave_only_what_they_changed(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    """Small writes rewrite the tail of the table on the way, which moves rows of others."""
    commits = []
    for number in range(40):
        commit = write(engine, {"Person": {f"p{number:02d}": {"name": f"p{number:02d}"}}})
        assert commit is not None
        commits.append(commit.id)
    for number, commit_id in enumerate(commits[1:], 1):
        found = list(graph.diff(commits[number - 1], commit_id))
        assert told(found) == [("insert", "Person", f"p{number:02d}")]
    assert len(list(graph.diff(commits[0], commits[-1]))) == 39
    assert {change.op for change in graph.diff(commits[-1], commits[0])} == {ChangeOp.DELETE}


def test_any_two_branches_can_be_compared(engine: Engine, graph: EmbeddedGraph) -> None:
    write(engine, {"Person": {"ada": {"name": "ada", "age": 40}}}, branch="dev")
    write(engine, {"Person": {"eve": {"name": "eve"}}}, branch="dev")
    state = state_of(engine, "dev")
    for change in graph.diff("dev", "main"):
        if change.after is None:
            del state[change.entity.name][change.id]
        else:
            state[change.entity.name].setdefault(change.id, {})
    assert {kind: set(found) for kind, found in state.items()} == {
        kind: set(found) for kind, found in state_of(engine).items()
    }
