"""A commit is known only after all its ancestors: to every thread, and after every fault."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import NotFound, StorageFault
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.history.commits import list_commits
from omnigraph.testing.histories import branch_off
from omnigraph.testing.kit import add, history, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption, Pause, lose_reply
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.api.commits import CommitRef
    from omnigraph.session.engine import Engine

COMMITS = 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A graph of seven commits on main, none of them in the lineage table."""
    engine = new_engine(tmp_path / "graph")
    for number in range(COMMITS - 1):
        add(engine, [f"p{number}"])
    return tmp_path / "graph"


def manifests_of(path: Path) -> str:
    """How the keys of the manifests of main begin; the hint is another key."""
    main = open_engine(path, read_only=True).resolver.resolve("main")
    return f"{layout.manifest_path(main.incarnation)}/0"


def interrupted(path: Path, *interruptions: Interruption) -> Engine:
    """A handle of its own, whose objects meet interruptions."""
    return open_engine(path, wrap_objects=lambda objects: Between(objects, list(interruptions)))


@contextmanager
def paused(pause: Pause, run: Callable[[], Any]) -> Iterator[list[Any]]:
    """Runs beside the block, stopped at the pause; the list has its result afterwards."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(run()))
    thread.start()
    try:
        pause.await_reached()
        yield results
    finally:
        pause.resumed.set()
        thread.join()


@pytest.mark.parametrize("nth", range(1, COMMITS))
def test_a_reader_in_the_middle_of_its_walk_hides_nothing_from_another(
    path: Path, nth: int
) -> None:
    pause = Pause()
    engine = interrupted(path, Interruption("get", pause, nth=nth, prefix=manifests_of(path)))
    with paused(pause, lambda: list_commits(engine, CommitFilter()).commits) as results:
        beside = list_commits(engine, CommitFilter()).commits
    assert len(beside) == COMMITS
    assert results == [beside]


def test_a_reader_in_the_middle_of_its_walk_hides_no_merged_parent(path: Path) -> None:
    engine = open_engine(path)
    branch_off(engine, "dev")
    merged = [add(engine, [f"d{number}"], branch="dev") for number in range(3)]
    add(engine, ["m"])
    EmbeddedGraph(engine).merge("dev")
    expected = {commit.id for commit in history(engine)} | set(merged)
    for nth in range(1, len(history(engine))):
        pause = Pause()
        late = interrupted(path, Interruption("get", pause, nth=nth, prefix=layout.MANIFESTS))
        with paused(pause, partial(history, late)):
            newest = history(late)[0]
            assert late.lineage.is_ancestor(merged[0], newest)
            assert {commit.id for commit in reachable(late)} == expected


def reachable(engine: Engine) -> list[Any]:
    """Every commit that the head descends from, found by id alone."""
    waiting, found = [history(engine)[0]], {}
    while waiting:
        commit = waiting.pop()
        found[commit.id] = commit
        refs = (ref for ref in (commit.parent, commit.merged_parent) if ref is not None)
        waiting += [engine.lineage.get(ref.id) for ref in refs if ref.id not in found]
    return list(found.values())


@pytest.mark.parametrize("nth", range(1, COMMITS))
def test_a_walk_that_meets_a_fault_leaves_no_gap_behind(path: Path, nth: int) -> None:
    engine = interrupted(path, Interruption("get", lose_reply, nth=nth, prefix=manifests_of(path)))
    with pytest.raises(StorageFault):
        history(engine)
    assert len(history(engine)) == COMMITS


def test_a_table_that_is_being_completed_hides_nothing_from_another_reader(path: Path) -> None:
    """The table has the newest commits only: it was lost, and begun anew."""
    engine = open_engine(path)
    history(engine)
    engine.lineage.archive()
    shutil.rmtree(path / layout.LINEAGE_TABLE)
    add(engine, ["later"])
    engine.lineage.refresh()
    assert engine.lineage.archive() == 1
    for nth in range(1, COMMITS):
        pause = Pause()
        late = interrupted(path, Interruption("get", pause, nth=nth, prefix=manifests_of(path)))
        with paused(pause, partial(history, late)):
            assert len(history(late)) == COMMITS + 1


def test_a_table_that_could_not_be_read_once_is_read_later(path: Path) -> None:
    """It may be the only place that still has a commit: cleanup removes manifests."""
    engine = open_engine(path)
    told = history(engine)
    engine.lineage.archive()
    oldest = told[-1].ref
    (path / layout.manifest(oldest.incarnation, oldest.version)).unlink()
    lost = Interruption("latest", lose_reply, prefix=layout.LINEAGE_TABLE)
    late = open_engine(path, wrap_tables=lambda tables: Between(tables, [lost]))
    history(late)
    assert [commit.id for commit in history(late)] == [commit.id for commit in told]


class Damaged(Between):
    """A store that cannot read one version of one manifest."""

    def __init__(self, inner: Any, ref: CommitRef) -> None:
        super().__init__(inner)
        self._ref = ref

    def get(self, key: str) -> Any:
        if key == layout.manifest(self._ref.incarnation, self._ref.version):
            raise StorageFault("storage.injected", "the manifest cannot be read")
        return self.inner.get(key)


@pytest.mark.parametrize("archived", [False, True])
def test_damage_in_the_past_of_one_branch_hides_no_commit_of_another(
    path: Path, archived: bool
) -> None:
    engine = open_engine(path)
    branch_off(engine, "a")
    damaged = add(engine, ["d0"], branch="a")
    add(engine, ["d1"], branch="a")
    fine = add(engine, ["m"])
    ref = engine.lineage.get(damaged).ref
    if archived:
        engine.lineage.archive()
    late = open_engine(path, wrap_objects=lambda objects: Damaged(objects, ref))
    for _ in range(2):
        assert late.lineage.get(fine).id == fine
        if archived:
            assert late.lineage.get(damaged).id == damaged
        else:
            with pytest.raises(StorageFault):
                late.lineage.get(damaged)
        with pytest.raises((NotFound, StorageFault)):
            history(late, "a")
        assert len(history(late)) == COMMITS + 1


def test_many_threads_of_many_handles_see_whole_histories(path: Path) -> None:
    """Each reader sees at least the commits acknowledged before it began. New handles take part
    all the time: their first walk is the longest."""
    writer = open_engine(path)
    acknowledged = [COMMITS]
    stop = threading.Event()
    short: list[tuple[int, int]] = []

    def look(engine: Engine) -> None:
        before = acknowledged[0]
        found = list_commits(engine, CommitFilter()).commits
        if len(found) < before or found[-1].parent is not None:
            short.append((len(found), before))

    def read(engine: Engine) -> None:
        while not stop.is_set():
            look(engine)

    def reopen() -> None:
        while not stop.is_set():
            fresh = open_engine(path)
            run_all([threading.Thread(target=look, args=(fresh,)) for _ in range(2)])

    threads = [threading.Thread(target=read, args=(open_engine(path),)) for _ in range(2)]
    threads.append(threading.Thread(target=reopen))
    with running(threads, stop):
        for number in range(40):
            add(writer, [f"more{number}"])
            acknowledged[0] += 1
    assert short == []


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def running(threads: list[threading.Thread], stop: threading.Event) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
