"""Locks of threads: per branch, bounded."""

from __future__ import annotations

import threading

from omnigraph.coordination.locks import LockManager, lock_manager_of
from omnigraph.runtime.clock import SYSTEM_CLOCK


def test_every_opener_of_a_root_shares_its_locks() -> None:
    assert lock_manager_of("/a") is lock_manager_of("/a")
    assert lock_manager_of("/a") is not lock_manager_of("/b")


def test_writers_of_one_branch_wait_for_each_other() -> None:
    locks = LockManager()
    inside: list[int] = []
    most = 0

    def write() -> None:
        nonlocal most
        for _ in range(20):
            with locks.held("main", wait_seconds=10) as held:
                assert held
                inside.append(1)
                most = max(most, len(inside))
                SYSTEM_CLOCK.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_writers_of_two_branches_do_not_wait() -> None:
    locks = LockManager()
    with locks.held("a", wait_seconds=0) as first, locks.held("b", wait_seconds=0) as second:
        assert first
        assert second


def test_after_a_bounded_wait_a_writer_continues_without_the_lock() -> None:
    locks = LockManager()
    with locks.held("a", wait_seconds=1):
        started = SYSTEM_CLOCK.monotonic()
        with locks.held("a", wait_seconds=0.05) as held:
            assert not held
            assert 0.04 < SYSTEM_CLOCK.monotonic() - started < 1
    with locks.held("a", wait_seconds=0) as held:
        assert held


def test_locks_that_are_switched_off_hold_nobody() -> None:
    locks = LockManager()
    locks.enabled = False
    with locks.held("a", wait_seconds=10), locks.held("a", wait_seconds=10):
        pass
