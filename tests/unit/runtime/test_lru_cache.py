"""The least recently used entry is evicted, whatever the bound; checked against an OrderedDict."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.runtime.lru_cache import LruCache


def test_the_least_recently_used_entry_is_evicted() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert ("a" in cache, "b" in cache, "c" in cache) == (True, False, True)
    assert cache.evictions == 1


def test_bytes_are_a_bound_of_their_own() -> None:
    cache: LruCache[str, str] = LruCache(max_bytes=5, size_of=len)
    cache.put("a", "xx")
    cache.put("b", "yyy")
    assert cache.used_bytes == 5
    cache.put("c", "z")
    assert cache.get("a") is None
    assert cache.used_bytes == 4
    cache.put("large", "123456")
    assert "large" not in cache
    assert len(cache) == 2


def test_a_value_that_grows_is_measured_again_unless_it_was_replaced() -> None:
    cache: LruCache[str, list[int]] = LruCache(max_bytes=4, size_of=len)
    old, new = [1], [2]
    cache.put("other", [0])
    cache.put("key", old)
    old += [1, 1, 1]
    cache.resize_entry("key", old)
    assert ("other" in cache, cache.used_bytes) == (False, 4)
    cache.put("key", new)
    old.clear()
    cache.resize_entry("key", old)
    assert cache.used_bytes == 1


def test_a_smaller_bound_evicts_at_once() -> None:
    cache: LruCache[str, str] = LruCache(max_bytes=9, size_of=len)
    for key in "abc":
        cache.put(key, "xxx")
    cache.resize(4)
    assert list(map(cache.get, "abc")) == [None, None, "xxx"]


def test_a_missing_value_is_made() -> None:
    cache: LruCache[str, int] = LruCache(2)
    assert cache.get_or_make("a", lambda: 1) == 1
    assert cache.get_or_make("a", lambda: 2) == 1
    assert cache.pop("a") == 1
    assert cache.pop("a") is None
    cache.put("a", 3)
    cache.clear()
    assert len(cache) == 0


def test_replaced_entries_do_not_pile_up() -> None:
    cache: LruCache[str, int] = LruCache(4)
    for number in range(10_000):
        cache.put("a", number)
    assert len(cache._heap) < 200


steps = st.lists(
    st.tuples(st.sampled_from(["get", "put", "pop"]), st.integers(0, 7), st.integers(1, 4)),
    max_size=60,
)


@pytest.mark.parametrize(("entries", "size"), [(3, None), (None, 6), (4, 8)])
@given(steps=steps)
def test_any_sequence_of_operations_is_that_of_the_model(
    entries: int | None, size: int | None, steps: list[tuple[str, int, int]]
) -> None:
    cache: LruCache[int, int] = LruCache(entries, max_bytes=size, size_of=lambda value: value)
    model: OrderedDict[int, int] = OrderedDict()
    for verb, key, value in steps:
        if verb == "get":
            assert cache.get(key) == model.get(key)
            if key in model:
                model.move_to_end(key)
        elif verb == "pop":
            assert cache.pop(key) == model.pop(key, None)
        else:
            cache.put(key, value)
            model.pop(key, None)
            model[key] = value
            while len(model) > (entries or 99) or sum(model.values()) > (size or 999):
                model.popitem(last=False)
        assert len(cache) == len(model)
        assert cache.used_bytes == sum(model.values())
    assert all(key in cache for key in model)


class Large:
    """A value whose memory matters."""

    size = 1


@pytest.mark.parametrize("verb", ["pop", "put", "clear", "resize_entry"])
def test_a_value_that_leaves_is_freed(verb: str) -> None:
    cache: LruCache[str, Large] = LruCache(max_bytes=9, size_of=lambda value: value.size)
    value = cache.put("a", Large())
    leaving = weakref.ref(value)
    match verb:
        case "pop":
            cache.pop("a")
        case "put":
            cache.put("a", Large())
        case "clear":
            cache.clear()
        case _:
            # It has grown beyond the bound.
            value.size = 10
            cache.resize_entry("a", value)
    del value
    assert leaving() is None


def test_threads_share_a_cache() -> None:
    cache: LruCache[int, int] = LruCache(50)

    def work(seed: int) -> bool:
        keys = ((step * seed) % 97 for step in range(3_000))
        return all(cache.get_or_make(key, partial(int, key)) == key for key in keys)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, (1, 3, 5, 7)))
    assert len(cache) == 50
