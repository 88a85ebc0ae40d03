"""Commits are found by id, time and position without reading the history. Guards INV-15."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.change_pages import PollRequest
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import NotFound
from omnigraph.history.commits import list_commits
from omnigraph.history.feed import poll
from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.ids import new_ulid
from omnigraph.testing.histories import branch_off
from omnigraph.testing.kit import add, history, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between
from omnigraph.versioning import layout
from omnigraph.versioning.branches import delete_branch
from omnigraph.versioning.publish import ManifestDraft, Publication, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine

COMMITS = 200


def publish_many(engine: Engine, count: int, branch: str = "main") -> None:
    """Commits without a change of tables."""
    for _ in range(count):
        ref, head = engine.heads.of_branch(branch)
        draft = ManifestDraft(new_ulid(), branch, head.commit.kind)
        wanted = Publication(draft, ref.incarnation, head.commit.ref, head.commit.schema)
        publish(engine.root, engine.heads, wanted)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Main, ``dev`` forked in its middle, ``leaf`` forked from dev at its first manifest."""
    path = tmp_path_factory.mktemp("line") / "graph"
    engine = new_engine(path)
    add(engine, ["a"])
    publish_many(engine, COMMITS // 2)
    branch_off(engine, "dev")
    publish_many(engine, COMMITS // 2)
    branch_off(engine, "leaf", "dev")
    publish_many(engine, 5, "dev")
    publish_many(engine, 5, "leaf")
    return path


def line_of(engine: Engine, branch: str) -> list[Commit]:
    """The commits of a branch by their parents, oldest first."""
    return history(engine, branch)[::-1]


@pytest.mark.parametrize("branch", ["main", "dev", "leaf"])
def test_positions_agree_with_the_walk_along_parents(path: Path, branch: str) -> None:
    engine = open_engine(path, read_only=True)
    expected = line_of(engine, branch)
    line = engine.lineage.positions(expected[-1])
    assert list(line.after(None)) == expected
    assert line.oldest_parent() is None
    for at in (0, 1, len(expected) // 2, len(expected) - 2, len(expected) - 1):
        commit = expected[at]
        assert line.holds(commit)
        assert list(line.after(commit)) == expected[at + 1 :]
        assert line.newest_at(commit.time_micros)[0] == commit
        before = expected[at - 1] if at else None
        assert line.newest_at(commit.time_micros - 1)[0] == before


def test_a_line_does_not_hold_commits_of_other_branches(path: Path) -> None:
    engine = open_engine(path, read_only=True)
    main, dev = line_of(engine, "main"), line_of(engine, "dev")
    assert not engine.lineage.positions(main[-1]).holds(dev[-1])
    assert not engine.lineage.positions(dev[-1]).holds(main[-1])
    assert engine.lineage.positions(main[-2]).holds(main[-2])
    assert not engine.lineage.positions(main[-2]).holds(main[-1])


def test_every_commit_is_found_by_its_id_and_by_its_time(path: Path) -> None:
    known = open_engine(path, read_only=True)
    expected = line_of(known, "main")
    for commit in expected[:: COMMITS // 10]:
        fresh = open_engine(path, read_only=True)
        assert fresh.lineage.get(commit.id) == commit
        at = format_micros(commit.time_micros)
        assert fresh.resolver.resolve(f"main@{at}").commit == commit
    for name in ("dev", "leaf"):
        newest = line_of(known, name)[-1]
        assert open_engine(path, read_only=True).lineage.get(newest.id) == newest


def test_an_id_that_no_commit_has_is_missing(path: Path) -> None:
    engine = open_engine(path, read_only=True)
    newest = line_of(engine, "main")[-1].id
    for unknown in (new_ulid(), newest[:10] + "Z" * 16, "0" * 26, "not an id"):
        with pytest.raises(NotFound) as raised:
            engine.lineage.get(unknown)
        assert raised.value.code == "commit.missing"


READS: dict[str, Callable[[Engine, list[Commit]], object]] = {
    "log": lambda engine, _: list_commits(engine, CommitFilter(limit=3)),
    "second page": lambda engine, line: list_commits(
        engine, CommitFilter(limit=3, page_token=line[10].id)
    ),
    "until": lambda engine, line: list_commits(
        engine, CommitFilter(limit=3, until_micros=line[10].time_micros)
    ),
    "at first": lambda engine, line: engine.snapshot(line[0].id),
    "at middle": lambda engine, line: engine.snapshot(line[len(line) // 2].id),
    "at time": lambda engine, line: engine.snapshot(f"main@{format_micros(line[7].time_micros)}"),
    "at version": lambda engine, _: engine.snapshot("main@v5"),
    "feed from the beginning": lambda engine, _: poll(
        engine, PollRequest("main", start="beginning", commits=3)
    ),
    "feed after": lambda engine, line: poll(
        engine, PollRequest("main", start=f"after:{line[20].id}", commits=3)
    ),
    "feed now": lambda engine, _: poll(engine, PollRequest("main", start="now")),
}


@pytest.mark.parametrize("read", READS)
def test_a_cold_read_of_history_costs_what_it_returns(path: Path, read: str) -> None:
    line = line_of(open_engine(path, read_only=True), "main")
    engine = open_engine(path, read_only=True, wrap_objects=Between)
    objects = engine.root.objects
    assert isinstance(objects, Between)
    READS[read](engine, line)
    verbs = [verb for verb, _ in objects.calls]
    manifests = [key for verb, key in objects.calls if verb == "get" and "__manifest" in key]
    # Bisections: a few digits of the length for each of three branches.
    assert len(manifests) <= 40, (read, len(manifests))
    assert len(verbs) <= 80, (read, len(verbs))
    listings = [key for verb, key in objects.calls if verb == "list"]
    assert not [key for key in listings if key.startswith(layout.MANIFESTS)], listings


def test_a_cold_head_costs_a_few_probes_with_and_without_a_hint(path: Path) -> None:
    counts = []
    for hinted in (True, False):
        engine = open_engine(path, read_only=True, wrap_objects=Between)
        if not hinted:
            incarnation = engine.resolver.resolve("main").incarnation
            (path / layout.manifest_hint(incarnation)).unlink()
            engine = open_engine(path, read_only=True, wrap_objects=Between)
        objects = engine.root.objects
        assert isinstance(objects, Between)
        engine.snapshot()
        counts.append(len([verb for verb, _ in objects.calls if verb == "exists"]))
        assert [key for verb, key in objects.calls if verb == "list"] == ["_refs/branches/main"]
    assert counts[0] == 2
    assert counts[1] <= 20


def test_history_behind_removed_manifests_ends_where_they_begin(tmp_path: Path) -> None:
    """As after cleanup, which removes from the lowest number up."""
    path = tmp_path / "graph"
    engine = new_engine(path)
    for number in range(6):
        add(engine, [f"p{number}"])
    line = line_of(engine, "main")
    incarnation = line[0].ref.incarnation
    for number in (1, 2, 3):
        (path / layout.manifest(incarnation, number)).unlink()
    fresh = open_engine(path)
    assert line_of(fresh, "main") == line[3:]
    assert fresh.lineage.positions(line[-1]).oldest_parent() == line[2].id
    assert list(fresh.lineage.positions(line[-1]).after(line[4])) == line[5:]
    with pytest.raises(NotFound) as raised:
        fresh.snapshot(f"main@{format_micros(line[1].time_micros)}")
    assert raised.value.code == "target.before_history"
    with pytest.raises(NotFound) as raised:
        fresh.snapshot("main@v2")
    assert raised.value.code == "snapshot.reclaimed"
    with pytest.raises(NotFound):
        fresh.lineage.get(line[1].id)
    with pytest.raises(NotFound) as raised:
        poll(fresh, PollRequest("main", start="beginning"))
    assert raised.value.details["change_feed_gap"]["first_unreadable_commit_id"] == line[2].id
    assert ids_of(fresh, line[3].id) == ["p0", "p1", "p2"]


def test_archived_commits_are_found_when_their_manifests_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    engine = new_engine(path)
    for number in range(4):
        add(engine, [f"p{number}"])
    line = line_of(engine, "main")
    reader = open_engine(path)
    with pytest.raises(NotFound):
        reader.lineage.get(new_ulid())
    assert engine.lineage.archive() == len(line)
    for number in (1, 2):
        (path / layout.manifest(line[0].ref.incarnation, number)).unlink()
    # A reader that had read the archive before it was written reads it again.
    for each in (reader, open_engine(path)):
        assert each.lineage.get(line[0].id) == line[0]
        assert line_of(each, "main") == line
        at = each.lineage.newest_at(line[-1], line[1].time_micros)
        assert at == line[1]


def test_commits_of_a_deleted_branch_are_found_by_id(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "graph")
    branch_off(engine, "dev")
    commit = add(engine, ["x"], branch="dev")
    delete_branch(engine.root, engine.heads, "dev")
    fresh = open_engine(tmp_path / "graph")
    assert fresh.lineage.get(commit).id == commit
    assert ids_of(fresh, commit) == ["x"]
