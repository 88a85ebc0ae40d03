"""Compiled queries, kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from omnigraph.compiler import CompileCache
from omnigraph.errors import TypeFailure

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

TEXT = "query q() { match { $s: Sailor } return { $s.label } }"


def numbered(number: int) -> str:
    return TEXT.replace("q()", f"q{number}()")


def test_the_second_time_gives_the_same_object(harbour: Catalog) -> None:
    cache = CompileCache()
    assert cache.compile(harbour, "d", TEXT) is cache.compile(harbour, "d", TEXT)
    assert len(cache) == 1


def test_schema_text_and_name_are_told_apart(harbour: Catalog) -> None:
    cache = CompileCache()
    first = cache.compile(harbour, "d", TEXT)
    assert cache.compile(harbour, "e", TEXT) is not first
    assert cache.compile(harbour, "d", TEXT, name="q") is not first
    assert cache.compile(harbour, "d", TEXT + " ") is not first
    assert len(cache) == 4


def test_the_least_recently_used_entry_goes_first(harbour: Catalog) -> None:
    cache = CompileCache(capacity=2)
    first = cache.compile(harbour, "d", numbered(1))
    second = cache.compile(harbour, "d", numbered(2))
    assert cache.compile(harbour, "d", numbered(1)) is first
    cache.compile(harbour, "d", numbered(3))
    assert len(cache) == 2
    assert cache.compile(harbour, "d", numbered(1)) is first
    assert cache.compile(harbour, "d", numbered(2)) is not second


def test_failures_are_not_kept(harbour: Catalog) -> None:
    cache = CompileCache()
    for _ in range(2):
        with pytest.raises(TypeFailure):
            cache.compile(harbour, "d", TEXT.replace("Sailor", "Nobody"))
    assert len(cache) == 0


def test_clearing_forgets_everything(harbour: Catalog) -> None:
    cache = CompileCache()
    first = cache.compile(harbour, "d", TEXT)
    cache.clear()
    assert len(cache) == 0
    assert cache.compile(harbour, "d", TEXT) == first


def test_threads_share_it_within_its_capacity(harbour: Catalog) -> None:
    cache = CompileCache(capacity=8)

    def work(seed: int) -> int:
        names = [
            cache.compile(harbour, "d", numbered((seed * 7 + step) % 16)).name for step in range(64)
        ]
        return len(names)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 512
    assert len(cache) <= 8
