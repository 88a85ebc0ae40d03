"""``if_commit`` beside maintenance and recovery: commits that change no entity do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import WriterKind
from omnigraph.errors import GraphError, PreconditionFailed
from omnigraph.graph.open import open_graph
from omnigraph.recovery.fence import OperationStatus, fence
from omnigraph.runtime import faults
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning import chain
from omnigraph.versioning.publish import ManifestDraft, Publication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = "node Person { name: String @key\n age: I32? }"
WIDER = "node Person { name: String @key\n age: I32?\n mail: String? }"
ADD = "query add($n: String) { insert Person { name: $n } }"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[EmbeddedGraph]:
    yield omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process", actor="ada")
    faults.clear()


def add(graph: EmbeddedGraph, name: str, **how: Any) -> str:
    commit = graph.mutate(ADD, {"n": name}, **how).commit
    assert commit is not None
    return commit.id


def maintain(graph: EmbeddedGraph, branch: str = "main") -> None:
    assert graph.ensure_indices(branch=branch, force=True).commit is not None


def recover(graph: EmbeddedGraph, branch: str = "main") -> None:
    engine = graph.engine
    ref, head = engine.heads.of_branch(branch)
    failed = Publication(
        ManifestDraft(new_ulid(engine.root.clock), branch, WriterKind.MUTATION),
        ref.incarnation,
        head.commit.ref,
        head.commit.schema,
    )
    assert fence(engine.root, engine.heads, engine.lineage, failed) is OperationStatus.VOID


def update(graph: EmbeddedGraph, **how: Any) -> object:
    text = 'query q() { update Person set { age: 3 } where name = "a" }'
    return graph.mutate(text, **how).commit


WRITERS: dict[str, Callable[..., object]] = {
    "insert": lambda graph, **how: add(graph, "late", **how),
    "update": update,
    "dry mutation": lambda graph, **how: update(graph, dry_run=True, **how) or "counted",
    "load": lambda graph, **how: graph.load(
        b'{"type": "Person", "data": {"name": "z"}}', mode="append", **how
    ),
    "dry load": lambda graph, **how: graph.load(
        b'{"type": "Person", "data": {"name": "z"}}', mode="append", dry_run=True, **how
    ),
    "overwrite": lambda graph, **how: graph.load(
        b'{"type": "Person", "data": {"name": "z"}}', mode="overwrite", **how
    ),
    "schema": lambda graph, **how: graph.apply_schema(WIDER, **how),
    "dry schema": lambda graph, **how: graph.apply_schema(WIDER, dry_run=True, **how),
    "reset": lambda graph, **how: graph.branches.reset("main", to="start", **how),
    "merge": lambda graph, **how: graph.merge("dev", **how),
    "merge preview": lambda graph, **how: graph.merge("dev", preview=True, **how),
}


@pytest.fixture
def busy(graph: EmbeddedGraph) -> EmbeddedGraph:
    graph.tags.create("start")
    add(graph, "first")
    graph.branches.create("dev")
    add(graph, "of dev", branch="dev")
    return graph


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_looks_through_commits_that_change_no_entity(
    writer: str, busy: EmbeddedGraph
) -> None:
    head = add(busy, "a")
    maintain(busy)
    recover(busy)
    recover(busy)
    assert WRITERS[writer](busy, if_commit=head)


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_refuses_a_commit_that_entities_have_changed_since(
    writer: str, busy: EmbeddedGraph
) -> None:
    head = add(busy, "a")
    recover(busy)
    add(busy, "b")
    recover(busy)
    count = len(busy.commits.list())
    with pytest.raises(PreconditionFailed) as refused:
        WRITERS[writer](busy, if_commit=head)
    assert refused.value.details["expected"] == head
    assert refused.value.details["actual"] == busy.commits.list().commits[0].id
    assert len(busy.commits.list()) == count


def test_picks_look_through_maintenance(busy: EmbeddedGraph) -> None:
    head = add(busy, "a")
    maintain(busy)
    undone = busy.revert(head, if_commit=head).commit
    assert undone is not None
    recover(busy)
    assert busy.cherry_pick(head, if_commit=undone.id).commit is not None


def test_a_commit_of_another_line_is_refused(busy: EmbeddedGraph) -> None:
    elsewhere = add(busy, "b", branch="dev")
    maintain(busy)
    for wanted in (elsewhere, "01" + "Z" * 24):
        with pytest.raises(PreconditionFailed):
            add(busy, "a", if_commit=wanted)


def test_a_fork_is_at_the_commits_that_its_first_one_looks_through(busy: EmbeddedGraph) -> None:
    head = add(busy, "a")
    maintain(busy)
    busy.branches.create("side")
    recover(busy, "side")
    assert add(busy, "on side", branch="side", if_commit=head)


def test_the_maintenance_commit_itself_is_a_condition_too(graph: EmbeddedGraph) -> None:
    add(graph, "a")
    maintain(graph)
    newest = graph.commits.list().commits[0].id
    recover(graph)
    assert add(graph, "b", if_commit=newest)


@pytest.mark.parametrize("point", ["attempt.captured", "publish.head_read"])
@pytest.mark.parametrize(
    ("writer", "step"),
    [("insert", recover), ("update", maintain), ("overwrite", recover), ("merge", maintain)],
)
def test_maintenance_during_a_conditional_write_does_not_fail_it(
    writer: str, step: Callable[[Any], None], point: str, busy: EmbeddedGraph
) -> None:
    head = add(busy, "a")
    other = open_graph(busy.uri, actor="mel")
    faults.arm(point, lambda: step(other))
    assert WRITERS[writer](busy, if_commit=head)
    kinds = [commit.kind.value for commit in busy.commits.list().commits[:3]]
    assert kinds[1] in {"maintenance", "recovery"}


@pytest.mark.parametrize("point", ["attempt.captured", "publish.head_read"])
@pytest.mark.parametrize("writer", ["insert", "update", "merge"])
def test_a_write_during_a_conditional_write_fails_it_behind_maintenance(
    writer: str, point: str, busy: EmbeddedGraph
) -> None:
    head = add(busy, "a")
    other = open_graph(busy.uri, actor="mel")

    def intrude() -> None:
        add(other, "intruder")
        recover(other)

    faults.arm(point, intrude)
    with pytest.raises(PreconditionFailed):
        WRITERS[writer](busy, if_commit=head)
    newest = busy.commits.list(CommitFilter(hide_maintenance=True)).commits[0]
    assert newest.actor == "mel"


@pytest.mark.parametrize("point", ["attempt.captured", "attempt.prepared"])
def test_maintenance_during_an_update_without_a_condition_does_not_fail_it(
    point: str, graph: EmbeddedGraph
) -> None:
    add(graph, "a")
    other = open_graph(graph.uri)
    faults.arm(point, lambda: maintain(other))
    assert update(graph) is not None


def test_the_walk_back_is_bounded(graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    head = add(graph, "a")
    monkeypatch.setattr(chain, "UNCHANGED_COMMITS_MAX", 2)
    recover(graph)
    recover(graph)
    assert add(graph, "b", if_commit=head)
    head = graph.commits.list().commits[0].id
    for _ in range(3):
        recover(graph)
    with pytest.raises(PreconditionFailed):
        add(graph, "c", if_commit=head)


def test_commits_say_that_they_are_maintenance_or_recovery(graph: EmbeddedGraph) -> None:
    add(graph, "a")
    maintain(graph)
    recover(graph)
    listed = graph.commits.list().commits
    kinds = [commit.kind.value for commit in listed]
    assert kinds == ["recovery", "maintenance", "mutation", "init"]
    (only,) = graph.commits.list(CommitFilter(kind="maintenance")).commits
    assert only == listed[1]
    seen = graph.commits.list(CommitFilter(hide_maintenance=True, limit=1))
    assert seen.commits == listed[2:3]
    rest = graph.commits.list(CommitFilter(hide_maintenance=True, page_token=seen.next_page_token))
    assert rest.commits == listed[3:]


@pytest.mark.parametrize("kind", ["index", "optimize"])
def test_kinds_of_earlier_graphs_are_maintenance(kind: str) -> None:
    assert WriterKind(kind) is WriterKind.MAINTENANCE


def test_cursors_keys_blame_and_bases_look_through_maintenance(busy: EmbeddedGraph) -> None:
    head = add(busy, "a", idempotency_key="k")
    cursor = busy.changes.poll(start="now").cursor
    maintain(busy)
    recover(busy)
    feed = busy.changes.poll(cursor=cursor)
    assert [len(block.changes) for block in feed.blocks] == [0, 0]
    assert add(busy, "a", idempotency_key="k") == head
    assert [commit.id for commit, _ in busy.blame("Person", "a").entries] == [head]
    base = busy.commits.merge_base(head, busy.commits.list().commits[0])
    assert base is not None
    assert base.id == head
    assert add(busy, "b")
    feed = busy.changes.poll(cursor=feed.cursor)
    assert [change.id for block in feed.blocks for change in block.changes] == ["b"]


def test_a_deletion_after_a_merge_looks_through_maintenance(busy: EmbeddedGraph) -> None:
    faults.arm("attempt.settled", lambda: maintain(open_graph(busy.uri), "dev"))
    merged = busy.merge("dev", delete_branch=True)
    assert merged.branch_deleted, merged.branch_delete_error
    with pytest.raises(GraphError):
        busy.at("dev").snapshot()
