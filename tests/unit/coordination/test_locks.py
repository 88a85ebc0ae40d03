"""Gates: one order, no deadlock, bounded."""

from __future__ import annotations

import threading

from omnigraph.coordination.locks import LockManager, lock_manager_of
from omnigraph.runtime.clock import SYSTEM_CLOCK


def test_every_opener_of_a_root_shares_its_gates() -> None:
    assert lock_manager_of("/a") is lock_manager_of("/a")
    assert lock_manager_of("/a") is not lock_manager_of("/b")


def test_two_writers_of_one_table_wait_for_each_other() -> None:
    gates = LockManager()
    inside: list[int] = []
    most = 0

    def write(branch: str) -> None:
        nonlocal most
        for _ in range(20):
            with gates.held(branch=branch, tables=["t"], wait_seconds=10):
                inside.append(1)
                most = max(most, len(inside))
                SYSTEM_CLOCK.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_writers_that_name_their_tables_in_any_order_do_not_deadlock() -> None:
    gates = LockManager()

    def write(branch: str, tables: list[str]) -> None:
        for turn in range(50):
            with gates.held(branch=branch, tables=tables, wait_seconds=10, schema=turn % 10 == 0):
                pass

    started = SYSTEM_CLOCK.monotonic()
    threads = [
        threading.Thread(target=write, args=args)
        for args in (("a", ["x", "y"]), ("b", ["y", "x"]), ("a", ["y"]), ("b", ["x", "z", "y"]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert SYSTEM_CLOCK.monotonic() - started < 5


def test_who_has_waited_long_enough_goes_on_without() -> None:
    gates = LockManager()
    with gates.held(branch="a", tables=["t"], wait_seconds=1):
        started = SYSTEM_CLOCK.monotonic()
        with gates.held(branch="b", tables=["t"], wait_seconds=0.05):
            assert 0.04 < SYSTEM_CLOCK.monotonic() - started < 1
    with gates.held(branch="c", tables=["t"], wait_seconds=0):
        pass


def test_switched_off_gates_hold_nobody() -> None:
    gates = LockManager()
    gates.enabled = False
    with (
        gates.held(branch="a", tables=["t"], wait_seconds=10),
        gates.held(branch="a", tables=["t"], wait_seconds=10),
    ):
        pass
