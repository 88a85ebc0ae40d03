"""Two things at once, neither of which is lost sight of."""

from __future__ import annotations

import multiprocessing
import threading
from collections import deque
from contextlib import ExitStack

import pytest

from omnigraph.runtime.concurrency import concurrently


def test_the_block_runs_while_the_action_waits() -> None:
    go = threading.Event()
    with concurrently(lambda: go.wait(10)) as wait:
        go.set()
        wait()


def test_what_the_action_raised_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError), concurrently(lambda: 1 // 0) as wait:
        wait()


def test_a_block_that_fails_ends_after_its_action() -> None:
    done: list[str] = []
    go = threading.Event()

    def act() -> None:
        go.wait(10)
        done.append("acted")

    def fail() -> None:
        with concurrently(act):
            go.set()
            raise ValueError("the block's own failure")

    with pytest.raises(ValueError, match="own failure"):
        fail()
    assert done == ["acted"]


def test_not_apart_the_action_comes_first() -> None:
    done: list[str] = []
    with concurrently(lambda: done.append("acted"), apart=False) as wait:
        assert done == ["acted"]
        wait()
    assert done == ["acted"]


def test_without_a_thread_the_action_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("omnigraph.runtime.concurrency._idle", deque())
    done: list[int] = []
    with concurrently(lambda: done.append(1)) as finished:
        finished()
        assert done == [1]


def test_many_actions_at_once_each_have_a_thread() -> None:
    meeting = threading.Barrier(20, timeout=10)
    with ExitStack() as stack:
        waits = [stack.enter_context(concurrently(meeting.wait)) for _ in range(20)]
        assert sorted(wait() for wait in waits) == list(range(20))


def test_one_thread_acts_again_and_again() -> None:
    acting = []
    for _ in range(50):
        with concurrently(threading.current_thread) as wait:
            acting.append(wait())
    # Who has just finished may not be idle yet.
    assert len(set(acting)) <= 8


def test_a_forked_child_has_threads_of_its_own() -> None:
    with concurrently(int) as wait:
        wait()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_act)
    child.start()
    child.join(20)
    assert child.exitcode == 0


def _act() -> None:
    with concurrently(int) as wait:
        wait()
