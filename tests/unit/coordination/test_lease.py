"""The write lease: in turn, bounded, and never in the way."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.coordination.lease import LeaseManager
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.faulty import Fault, FaultyObjects, ObjectVerb, When
from omnigraph.testing.kit import FAST, new_engine, open_engine
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine

DEAD = Owner(current_owner().host, 2**22 + 1, "0", "nobody")
ELSEWHERE = Owner("another-machine", 1, "0", "somebody")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_engine(tmp_path / "graph")


def body(owner: Owner) -> bytes:
    return json.dumps(owner.to_json()).encode()


def test_a_lease_is_there_while_it_is_held_and_gone_afterwards(engine: Engine) -> None:
    with LeaseManager(engine.root).held("main") as held:
        assert held
        assert engine.root.objects.exists(layout.write_lease("main"))
    assert not engine.root.objects.exists(layout.write_lease("main"))


def test_who_waits_gets_it_in_the_order_of_the_queue(tmp_path: Path) -> None:
    # On a busy machine a thread may stand still for longer than a short term.
    engine = new_engine(
        tmp_path / "graph", limits=replace(FAST, lease_term_seconds=60, lease_wait_seconds=60)
    )
    order: list[int] = []
    holding = threading.Event()

    def wait_and_take(number: int) -> None:
        with LeaseManager(engine.root).held("main") as held:
            assert held
            order.append(number)

    def hold() -> None:
        with LeaseManager(engine.root).held("main"):
            holding.set()
            while len(engine.root.objects.list(layout.lease_queue("main"))) < 4:
                SYSTEM_CLOCK.sleep(0.002)

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    waiters = []
    for number in range(4):
        waiters.append(threading.Thread(target=wait_and_take, args=(number,)))
        waiters[-1].start()
        while (
            len(engine.root.objects.list(layout.lease_queue("main"))) <= number
            and holder.is_alive()
        ):
            SYSTEM_CLOCK.sleep(0.002)
        SYSTEM_CLOCK.sleep(0.002)  # Tickets of one millisecond have no order.
    for thread in (holder, *waiters):
        thread.join()
    assert order == [0, 1, 2, 3]
    assert engine.root.objects.list("__locks") == []


@pytest.mark.parametrize("left", [body(DEAD), b"", b"{", b'{"pid": "x"}'])
def test_a_dead_or_unreadable_holder_is_pushed_aside_at_once(left: bytes, engine: Engine) -> None:
    engine.root.objects.put(layout.write_lease("main"), left)
    started = SYSTEM_CLOCK.monotonic()
    with LeaseManager(engine.root).held("main") as held:
        assert held
    assert SYSTEM_CLOCK.monotonic() - started < FAST.lease_term_seconds


def test_a_holder_that_stands_still_is_pushed_aside_after_its_term(engine: Engine) -> None:
    engine.root.objects.put(layout.write_lease("main"), body(ELSEWHERE))
    started = SYSTEM_CLOCK.monotonic()
    with LeaseManager(engine.root).held("main") as held:
        assert held
        waited = SYSTEM_CLOCK.monotonic() - started
        assert FAST.lease_term_seconds <= waited < FAST.lease_wait_seconds


def test_who_cannot_have_it_in_time_goes_on_without(tmp_path: Path, engine: Engine) -> None:
    limits = replace(FAST, lease_wait_seconds=0.2, lease_term_seconds=60.0)
    engine = open_engine(tmp_path / "graph", limits=limits)
    engine.root.objects.put(layout.write_lease("main"), body(ELSEWHERE))
    with LeaseManager(engine.root).held("main") as held:
        assert not held
    assert engine.root.objects.get(layout.write_lease("main")) == body(ELSEWHERE)
    assert engine.root.objects.list(layout.lease_queue("main")) == []


def test_the_tickets_of_the_dead_are_passed_over(engine: Engine) -> None:
    objects = engine.root.objects
    with LeaseManager(engine.root).held("main"):
        objects.put(layout.lease_ticket("main", "00000000000000000000000000"), body(DEAD))
        objects.put(layout.lease_ticket("main", "00000000000000000000000001"), body(ELSEWHERE))
    assert objects.get(layout.write_lease("main")) == body(ELSEWHERE)
    assert objects.list(layout.lease_queue("main")) == [layout.lease_ticket("main", "0" * 25 + "1")]


def test_a_lease_that_was_pushed_aside_is_not_taken_from_its_new_holder(
    tmp_path: Path, engine: Engine
) -> None:
    engine = open_engine(tmp_path / "graph", limits=replace(FAST, lease_term_seconds=0.05))
    with LeaseManager(engine.root).held("main"):
        SYSTEM_CLOCK.sleep(0.1)
        engine.root.objects.put(layout.write_lease("main"), body(ELSEWHERE))
    assert engine.root.objects.get(layout.write_lease("main")) == body(ELSEWHERE)


@pytest.mark.parametrize("verb", list(ObjectVerb))
@pytest.mark.parametrize("nth", [1, 2])
def test_storage_that_fails_costs_the_lease_and_nothing_else(
    nth: int, verb: ObjectVerb, tmp_path: Path, engine: Engine
) -> None:
    limits = replace(FAST, lease_wait_seconds=0.2, lease_term_seconds=0.05)
    broken = Fault(verb, nth, When.BEFORE, "__locks", lasting=True)
    engine = open_engine(
        tmp_path / "graph", limits=limits, wrap_objects=lambda inner: FaultyObjects(inner, broken)
    )
    for _ in range(2):
        with LeaseManager(engine.root).held("main"):
            pass


def test_a_switched_off_lease_asks_nobody(engine: Engine) -> None:
    lease = LeaseManager(engine.root)
    lease.enabled = False
    with lease.held("main") as held:
        assert not held
        assert engine.root.objects.list("__locks") == []
