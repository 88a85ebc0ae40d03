"""Finding points of history: heads, targets, lineage. Guards INV-6 and INV-7."""

from __future__ import annotations

import datetime as dt
import shutil
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.refs import TagRef
from omnigraph.errors import InvalidInput, NotFound, StorageFault
from omnigraph.history.commits import list_commits
from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.ids import new_ulid
from omnigraph.testing.kit import FAST, Add, add, history, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption, Pause
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, list_branches
from omnigraph.versioning.tags import create_tag
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine


UNKNOWN = "01JABCDEFGHJKMNPQRSTVWXYZ0"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_engine(tmp_path / "graph")


def branch(engine: Engine, name: str, source: str = "main") -> None:
    create_branch(engine.root, engine.heads, name, engine.resolver.resolve(source))


# --- heads ---------------------------------------------------------------------------------------


def test_a_read_sees_what_any_other_opener_acknowledged_before(
    engine: Engine, tmp_path: Path
) -> None:
    other = open_engine(tmp_path / "graph")
    assert ids_of(other) == []
    for number in range(40):
        add(engine, [f"p{number}"])
        if number % 13 == 0:
            assert len(ids_of(other)) == number + 1
    assert len(ids_of(other)) == 40


def test_a_fresh_head_costs_one_probe_and_no_listing(engine: Engine, tmp_path: Path) -> None:
    add(engine, ["a"])
    reader = open_engine(tmp_path / "graph", wrap_tables=Between, wrap_objects=Between)
    reader.snapshot()
    tables, objects = reader.root.tables, reader.root.objects
    assert isinstance(tables, Between)
    assert isinstance(objects, Between)
    tables.calls.clear()
    objects.calls.clear()
    reader.snapshot()
    assert tables.calls == []
    assert [verb for verb, _ in objects.calls] == ["exists"]


def test_a_head_that_was_not_asked_for_in_a_long_time_is_listed_again(
    engine: Engine, tmp_path: Path
) -> None:
    """Cleanup may have removed the versions directly above it."""
    limits = replace(FAST, head_relist_seconds=0.0)
    reader = open_engine(tmp_path / "graph", limits=limits)
    assert ids_of(reader) == []
    first = engine.resolver.resolve("main")
    for name in "abc":
        add(engine, [name])
    for number in (1, 2):
        (tmp_path / "graph" / layout.manifest(first.incarnation, number)).unlink()
    assert ids_of(reader) == ["a", "b", "c"]
    (tmp_path / "graph" / layout.manifest_hint(first.incarnation)).unlink()
    assert ids_of(open_engine(tmp_path / "graph", limits=limits)) == ["a", "b", "c"]


def test_a_writer_that_reports_late_does_not_take_a_head_back(
    engine: Engine, tmp_path: Path
) -> None:
    """Of two threads the one that published first may be the last to remember its commit. Cleanup
    may have removed the version above it, so that a probe would find nothing newer."""
    heads = engine.heads
    manifests = [heads.of_branch("main")[1]]
    for name in "abc":
        add(engine, [name])
        manifests.append(heads.of_branch("main")[1])
    late, between = manifests[-3], manifests[-2]
    heads.learn(late)
    (tmp_path / "graph" / layout.manifest(between.incarnation, between.version)).unlink()
    assert heads.of_branch("main")[1] == manifests[-1]


def test_a_search_that_ends_late_does_not_take_a_head_back(engine: Engine, tmp_path: Path) -> None:
    """A slow search finds the newest version of the moment at which it began."""
    pause = Pause()
    lister = open_engine(
        tmp_path / "graph",
        wrap_objects=lambda objects: Between(
            objects, [Interruption("exists", pause, nth=2, after=True, prefix="__manifest")]
        ),
    )
    incarnation = engine.heads.of_branch("main")[1].incarnation
    thread = threading.Thread(target=lister.heads.of_incarnation, args=(incarnation,))
    thread.start()
    pause.await_reached()
    for name in "ab":
        add(engine, [name])
    newest = lister.heads.of_branch("main")[1]
    pause.resumed.set()
    thread.join()
    (tmp_path / "graph" / layout.manifest(incarnation, newest.version - 1)).unlink()
    assert lister.heads.of_branch("main")[1] == newest


def test_a_deleted_branch_is_gone_for_whoever_had_it_cached(engine: Engine, tmp_path: Path) -> None:
    branch(engine, "dev")
    other = open_engine(tmp_path / "graph")
    assert ids_of(other, "dev") == []
    delete_branch(engine.root, engine.heads, "dev")
    with pytest.raises(NotFound):
        ids_of(other, "dev")
    branch(engine, "dev")
    add(engine, ["new"], branch="dev")
    assert ids_of(other, "dev") == ["new"]


# --- targets -------------------------------------------------------------------------------------


def test_every_spelling_of_a_point_finds_it(engine: Engine) -> None:
    commits = [add(engine, [name]) for name in "abc"]
    middle = engine.lineage.get(commits[1])
    create_tag(engine.root, "v1", engine.resolver.resolve(commits[1]))
    spelled = (
        commits[1],
        commits[1].lower(),
        "v1",
        "main@v3",
        f"main@{format_micros(middle.time_micros)}",
        f"main@{format_micros(middle.time_micros + 1)}",
    )
    for target in spelled:
        assert ids_of(engine, target) == ["a", "b"], target
    assert ids_of(engine, f"main@{format_micros(middle.time_micros - 1)}") == ["a"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("nope", "target.missing"),
        ("nope@v1", "branch.missing"),
        ("main@v0", "target.version_missing"),
        ("main@v99", "target.version_missing"),
        ("main@yesterday", "target.bad_time"),
        ("main@", "target.bad_time"),
        ("main@1999-01-01", "target.before_history"),
        (UNKNOWN, "commit.missing"),
    ],
)
def test_a_point_that_does_not_exist_is_told_apart(target: str, code: str, engine: Engine) -> None:
    with pytest.raises((NotFound, InvalidInput)) as told:
        engine.resolver.resolve(target)
    assert told.value.code == code


def test_a_time_without_a_zone_is_in_utc(engine: Engine) -> None:
    commit = engine.lineage.get(add(engine, ["a"]))
    moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=commit.time_micros)
    assert ids_of(engine, f"main@{moment.replace(tzinfo=None).isoformat()}") == ["a"]


def test_a_tag_whose_version_number_was_reused_reports_damage(engine: Engine) -> None:
    add(engine, ["a"])
    head = engine.resolver.resolve("main")
    engine.root.refs.add_tag(TagRef("v1", new_ulid(), head.incarnation, head.version, 1))
    with pytest.raises(StorageFault) as told:
        engine.resolver.resolve("v1")
    assert told.value.code == "commit.damaged"


# --- lineage -------------------------------------------------------------------------------------


def test_the_index_is_rebuilt_when_it_is_missing_or_behind(engine: Engine, tmp_path: Path) -> None:
    for number in range(5):
        add(engine, [f"p{number}"])
    told = [commit.id for commit in history(engine)]
    assert engine.lineage.archive() == 6
    assert engine.lineage.archive() == 0
    add(engine, ["later"])
    behind = open_engine(tmp_path / "graph")
    assert [commit.id for commit in history(behind)][1:] == told
    shutil.rmtree(tmp_path / "graph" / layout.LINEAGE_TABLE)
    missing = open_engine(tmp_path / "graph")
    assert [commit.id for commit in history(missing)][1:] == told


def test_an_index_that_was_lost_and_begun_anew_by_a_living_process_hides_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    """It appends only what it believes to be missing; the next reader finds the older ones."""
    for number in range(4):
        add(engine, [f"p{number}"])
    told = [commit.id for commit in history(engine)]
    engine.lineage.archive()
    shutil.rmtree(tmp_path / "graph" / layout.LINEAGE_TABLE)
    add(engine, ["later"])
    engine.lineage.refresh()
    engine.lineage.archive()
    assert [commit.id for commit in history(open_engine(tmp_path / "graph"))][1:] == told


def test_two_processes_that_append_at_once_lose_no_commit(engine: Engine, tmp_path: Path) -> None:
    branch(engine, "dev")
    mine, theirs = open_engine(tmp_path / "graph"), open_engine(tmp_path / "graph")
    add(mine, ["a"])
    add(theirs, ["b"], branch="dev")
    for one in (mine, theirs):
        one.lineage.refresh()
    mine.lineage.archive()
    theirs.lineage.archive()
    rows = engine.root.tables.open(engine.root.tables.latest(layout.LINEAGE_TABLE)).scan(["id"])
    known = set(rows.column("id").to_pylist())
    for name in ("main", "dev"):
        assert known >= {commit.id for commit in history(engine, name)}


def test_a_read_only_graph_never_writes_its_index(engine: Engine, tmp_path: Path) -> None:
    for number in range(40):
        add(engine, [f"p{number}"])
    reader = open_engine(tmp_path / "graph", read_only=True)
    assert len(history(reader)) == 41
    assert not (tmp_path / "graph" / layout.LINEAGE_TABLE).exists()


def test_ancestors_and_merge_bases_follow_the_links(engine: Engine) -> None:
    first = add(engine, ["a"])
    branch(engine, "left")
    branch(engine, "right")
    left = add(engine, ["l"], branch="left")
    right = add(engine, ["r"], branch="right")
    branch(engine, "leaf", "left")
    leaf = add(engine, ["x"], branch="leaf")
    lineage = engine.lineage
    assert lineage.is_ancestor(first, leaf)
    assert lineage.is_ancestor(left, leaf)
    assert lineage.is_ancestor(leaf, leaf)
    assert not lineage.is_ancestor(right, leaf)
    assert not lineage.is_ancestor(leaf, left)
    for mine, theirs, base in ((left, right, first), (leaf, right, first), (leaf, left, left)):
        for pair in ((mine, theirs), (theirs, mine)):
            found = lineage.merge_base(*pair)
            assert found is not None
            assert found.id == base


def test_a_walk_reads_a_commit_once_however_few_manifests_are_kept(
    engine: Engine, tmp_path: Path
) -> None:
    branch(engine, "dev")
    for number in range(6):
        for name in ("main", "dev"):
            add(engine, [f"{name}{number}"], branch=name)
    objects = Between(engine.root.objects)
    few = replace(FAST, manifest_cache=2)
    late = open_engine(tmp_path / "graph", limits=few, wrap_objects=lambda _: objects)
    mine, other = (late.heads.of_branch(name)[1].commit for name in ("main", "dev"))
    reads = []
    for _ in range(2):
        objects.calls.clear()
        assert late.lineage.merge_bases(mine, other)
        reads.append([call for call in objects.calls if call[0] == "get"])
    assert len(reads[0]) >= 10
    assert reads[1] == []


def test_a_branch_keeps_its_past_when_the_branch_that_it_came_from_is_deleted(
    engine: Engine, tmp_path: Path
) -> None:
    branch(engine, "parent")
    middle = add(engine, ["m"], branch="parent")
    branch(engine, "child", "parent")
    add(engine, ["c"], branch="child")
    delete_branch(engine.root, engine.heads, "parent", force=True)
    later = open_engine(tmp_path / "graph")
    assert middle in [commit.id for commit in history(later, "child")]
    assert ids_of(later, middle) == ["m"]
    assert [info.ref.name for info in list_branches(later.root, later.heads)] == ["child", "main"]


def test_commits_are_listed_newest_first_filtered_and_in_pages(engine: Engine) -> None:
    for number, actor in enumerate(("ada", "bob", "ada", "bob", "ada")):
        engine.transactions.run(WriteRequest("main", actor=actor), Add({"Person": [f"p{number}"]}))
    everything = list_commits(engine, CommitFilter()).commits
    assert len(everything) == 6
    assert list(everything) == sorted(everything, key=lambda commit: -commit.time_micros)
    of_ada = list_commits(engine, CommitFilter(actor="ada")).commits
    assert [commit.actor for commit in of_ada] == ["ada"] * 3
    assert len(list_commits(engine, CommitFilter(kind="init")).commits) == 1
    window = CommitFilter(
        since_micros=everything[3].time_micros, until_micros=everything[1].time_micros
    )
    assert list_commits(engine, window).commits == everything[1:4]
    paged: list[Commit] = []
    token = None
    while True:
        page = list_commits(engine, CommitFilter(limit=2, page_token=token))
        paged += page.commits
        token = page.next_page_token
        if token is None:
            break
    assert tuple(paged) == everything


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (CommitFilter(kind="nonsense"), "commits.bad_kind"),
        (CommitFilter(limit=0), "commits.bad_limit"),
        (CommitFilter(page_token="x" * 3), "commits.bad_page_token"),
        (CommitFilter(page_token=UNKNOWN), "commits.bad_page_token"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    wanted: CommitFilter, code: str, engine: Engine
) -> None:
    with pytest.raises(InvalidInput) as told:
        list_commits(engine, wanted)
    assert told.value.code == code


def test_times_move_forward_even_when_the_clock_does_not(engine: Engine) -> None:
    class Stopped:
        now_micros = staticmethod(lambda: 1_000)
        monotonic = staticmethod(engine.root.clock.monotonic)
        sleep = staticmethod(engine.root.clock.sleep)

    first = engine.resolver.resolve("main").commit.time_micros
    engine.root.clock = Stopped()
    engine.root.limits = replace(FAST, void_memory_seconds=1e12)
    for name in "abc":
        add(engine, [name])
    times = [commit.time_micros for commit in reversed(history(engine))]
    assert times == [first, first + 1, first + 2, first + 3]
