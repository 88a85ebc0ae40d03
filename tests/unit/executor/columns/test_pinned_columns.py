"""The provider of columns: what it reads, when, and what it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.errors import LimitExceeded
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.columns.pinned_columns import PinnedColumns
from omnigraph.executor.context import Context
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.testing.memory_tables import MemoryTable


def pinned(table: Any, cache: ByteCache, budget: Budget | None = None) -> PinnedColumns:
    context = Context({}, micros_to_datetime(0), (budget or Budget()).start(), cache)
    return PinnedColumns(table.pin, lambda: table, context)


def large() -> Any:
    count = 20_000
    return MemoryTable(
        pa.table(
            {
                "id": [f"n{place:05d}" for place in range(count)],
                "n": pa.array(range(count), pa.int64()),
                "s": [f"text {place % 7}" for place in range(count)],
            }
        )
    )


def test_a_whole_column_is_read_once_and_then_kept_for_every_query() -> None:
    table, cache = large(), ByteCache(10**8)
    assert pinned(table, cache).column("n").numbers[5] == 5
    assert pinned(table, cache).column("n").numbers[6] == 6
    assert len(table.requests) == 1


def test_a_few_rows_of_a_large_table_are_taken() -> None:
    table, cache = large(), ByteCache(10**8)
    found = pinned(table, cache).vector("n", np.array([3, 1]))
    assert found.cells() == [3, 1]
    assert table.requests == ["take 2 of n"]


def test_several_columns_of_a_few_rows_are_taken_at_once() -> None:
    table, cache = large(), ByteCache(10**8)
    found = pinned(table, cache).vectors(["n", "s"], np.array([7]))
    assert {name: vector.cells() for name, vector in found.items()} == {"n": [7], "s": ["text 0"]}
    assert table.requests == ["take 1 of n,s"]


def test_many_rows_are_a_reason_to_load_the_column() -> None:
    table, cache = large(), ByteCache(10**8)
    pinned(table, cache).vector("n", np.arange(10_000))
    assert [request.split()[0] for request in table.requests] == ["scan"]


def test_a_column_that_is_taken_from_again_and_again_is_loaded() -> None:
    table, cache = large(), ByteCache(10**8)
    for place in range(2_000):
        pinned(table, cache).vector("n", np.array([place]))
    assert table.requests[-1].startswith("scan n")


def test_what_the_cache_cannot_keep_serves_the_query_that_loaded_it() -> None:
    table, cache = large(), ByteCache(0)
    columns = pinned(table, cache)
    assert columns.column("n") is columns.column("n")
    assert len(table.requests) == 1
    assert cache.use().entries == 0


def test_loading_counts_against_the_memory_of_the_query() -> None:
    columns = pinned(large(), ByteCache(10**8), Budget(memory_bytes=10_000))
    with pytest.raises(LimitExceeded) as caught:
        columns.column("s")
    assert caught.value.code == "query.memory_limit"


def test_codes_are_ordered_as_texts_are_and_null_is_below_them() -> None:
    column = Column(pa.array(["b", None, "a", "b", "ä"]))
    assert column.codes.codes.tolist() == [1, -1, 0, 1, 2]
    assert column.codes.find("b") == 1
    assert column.codes.find("c") == -2
    assert Vector(column, np.array([4, 1])).ordered().codes.tolist() == [2, -1]


def test_a_column_of_nulls_has_codes_too() -> None:
    assert Column(pa.array([None, None], pa.string())).codes.codes.tolist() == [-1, -1]
    assert Column(pa.array([], pa.string())).codes.find("x") == -2


def test_a_column_that_grows_new_forms_tells_the_cache() -> None:
    table, cache = large(), ByteCache(10**8)
    column = pinned(table, cache).column("s")
    before = cache.use().used_bytes
    assert column.codes.find("text 3") >= 0
    assert cache.use().used_bytes > before
