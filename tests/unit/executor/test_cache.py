"""The one cache: bounded by bytes, least recently used first out, made once."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from omnigraph.executor.cache import ByteCache, pin_key, shared_cache
from omnigraph.ports.tables import Pin


@dataclass
class Thing:
    nbytes: int


def test_what_was_used_least_recently_makes_room() -> None:
    cache = ByteCache(100)
    old, new = Thing(40), Thing(40)
    cache.put("old", old)
    cache.put("new", new)
    assert cache.get("old") is old
    cache.put("third", Thing(40))
    assert "new" not in cache
    assert cache.get("old") is old
    assert cache.use().used_bytes == 80
    assert cache.use().evictions == 1


def test_what_is_larger_than_the_budget_is_not_kept() -> None:
    cache = ByteCache(100)
    cache.put("small", Thing(60))
    cache.put("large", Thing(101))
    assert "large" not in cache
    assert "small" in cache


def test_a_value_that_grows_is_weighed_again() -> None:
    cache = ByteCache(100)
    cache.put("other", Thing(40))
    growing = Thing(40)
    cache.put("growing", growing)
    growing.nbytes = 90
    cache.weigh("growing", growing)
    assert "other" not in cache
    assert cache.use().used_bytes == 90


def test_a_value_that_was_replaced_does_not_weigh_for_its_successor() -> None:
    cache = ByteCache(100)
    earlier, later = Thing(10), Thing(20)
    cache.put("key", earlier)
    cache.put("key", later)
    earlier.nbytes = 90
    cache.weigh("key", earlier)
    assert cache.use().used_bytes == 20


def test_a_smaller_budget_holds_at_once() -> None:
    cache = ByteCache(100)
    cache.put("a", Thing(50))
    cache.put("b", Thing(50))
    cache.resize(60)
    assert cache.use().entries == 1
    assert "b" in cache


def test_threads_that_want_the_same_value_wait_for_the_one_that_makes_it() -> None:
    cache = ByteCache(1_000)
    made, started = [], threading.Barrier(4)

    def make() -> Thing:
        made.append(1)
        return Thing(10)

    found = []

    def want() -> None:
        started.wait()
        found.append(cache.get_or_make("key", make))

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(thing) for thing in found}) == 1


def test_a_value_that_could_not_be_made_is_tried_again() -> None:
    cache = ByteCache(1_000)

    def fail() -> Thing:
        raise OSError

    with pytest.raises(OSError):
        cache.get_or_make("key", fail)
    assert cache.get_or_make("key", lambda: Thing(1)).nbytes == 1


def test_time_spent_without_a_value_adds_up() -> None:
    cache = ByteCache(1_000)
    cache.spend("pin", 0.5)
    cache.spend("pin", 0.25)
    assert cache.spent("pin") == 0.75
    assert cache.spent("other") == 0.0


def test_a_version_number_alone_is_no_identity() -> None:
    assert pin_key(Pin("t", 3, "a", 1)) != pin_key(Pin("t", 3, "b", 1))


def test_all_graphs_of_a_process_share_one_cache() -> None:
    assert shared_cache() is shared_cache()
