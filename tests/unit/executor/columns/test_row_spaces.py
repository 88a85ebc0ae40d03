"""Entities that are fetched by id."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import StorageFault
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.columns.row_spaces import IdSpace
from omnigraph.executor.context import Context
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.testing.memory_tables import MemoryTable
from omnigraph.testing.random_reads import CATALOG


def test_an_id_that_no_row_has_is_refused_and_gets_no_values_of_another() -> None:
    (city,) = (node for node in CATALOG.nodes if node.name == "City")
    rows = pa.Table.from_pylist([{"id": "here"}], schema=table_schema(city))
    table: Any = MemoryTable(rows)
    context = Context({}, micros_to_datetime(0), Budget().start(), ByteCache(10**6))
    prop = city.properties[0].id
    space = IdSpace(city, table, context, early=[prop], late=[])
    assert len(space.vector(prop, space.numbers_of(pa.array(["here"]))).cells()) == 1
    with pytest.raises(StorageFault, match="nowhere") as refused:
        space.vector(prop, space.numbers_of(pa.array(["here", "nowhere"])))
    assert refused.value.code == "table.row_missing"
    assert refused.value.details["ids"] == ["nowhere"]
