"""Small writes keep a table small: the tail of tiny fragments is rewritten on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.staging.small_fragments import FRAGMENTS_MIN
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.tables import Pin

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])


def _rows(*ids: str, n: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids)}, schema=SCHEMA)


def _located(tables: LanceTables, pin: Pin) -> dict[str, tuple[int, int]]:
    found = tables.open(pin).scan(["id"], row_ids=True, row_addresses=True).to_pydict()
    return {
        key: (address, row_id)
        for key, address, row_id in zip(found["id"], found[ROW_ADDRESS], found[ROW_ID], strict=True)
    }


def _insert(tables: LanceTables, pin: Pin, *ids: str) -> Pin:
    staged = tables.open(pin).stage_change(insert=_rows(*ids))
    assert staged is not None
    return tables.commit(pin, staged, operation_id="op")


def _fragments(tables: LanceTables, pin: Pin) -> int:
    return len(tables.open(pin).dataset.get_fragments())


def test_many_single_row_writes_leave_few_fragments(tmp_path: Path) -> None:
    tables = LanceTables(str(tmp_path))
    pin = tables.create("t", SCHEMA, operation_id="op")
    for number in range(5 * FRAGMENTS_MIN):
        pin = _insert(tables, pin, f"k{number}")
    assert _fragments(tables, pin) <= FRAGMENTS_MIN + 1
    found = tables.open(pin).scan(["id"], row_ids=True)
    assert sorted(found["id"].to_pylist()) == sorted(f"k{n}" for n in range(5 * FRAGMENTS_MIN))
    assert len(set(found[ROW_ID].to_pylist())) == found.num_rows


def test_a_change_inside_the_tail_is_kept_when_the_tail_is_rewritten(tmp_path: Path) -> None:
    tables = LanceTables(str(tmp_path))
    pin = tables.create("t", SCHEMA, operation_id="op")
    for number in range(FRAGMENTS_MIN):
        pin = _insert(tables, pin, f"k{number}")
    where = _located(tables, pin)
    gone, kept = where["k3"][0], where["k5"][0]
    staged = tables.open(pin).stage_change(
        delete=np.array([gone], np.uint64),
        replace=(np.array([kept], np.uint64), _rows("k5", n=7)),
        insert=_rows("new"),
    )
    assert staged is not None
    pin = tables.commit(pin, staged, operation_id="op")
    assert _fragments(tables, pin) <= 2
    rows = tables.open(pin).scan()
    assert sorted(rows["id"].to_pylist()) == sorted([*({*where} - {"k3"}), "new"])
    assert rows.filter(pc.field("id") == "k5")["n"].to_pylist() == [7]


def test_a_large_write_leaves_the_tail_alone(tmp_path: Path) -> None:
    tables = LanceTables(str(tmp_path))
    pin = tables.create("t", SCHEMA, operation_id="op")
    for number in range(FRAGMENTS_MIN):
        pin = _insert(tables, pin, f"k{number}")
    before = _fragments(tables, pin)
    pin = _insert(tables, pin, *(f"bulk{number}" for number in range(2_000)))
    assert _fragments(tables, pin) == before + 1


def test_everybody_who_appends_to_a_log_is_in_it(tmp_path: Path) -> None:
    first, second = LanceTables(str(tmp_path)), LanceTables(str(tmp_path))
    first.create("log", SCHEMA, operation_id="op")
    for number in range(4):
        first.append("log", _rows(f"a{number}"), operation_id="op")
        second.append("log", _rows(f"b{number}"), operation_id="op")
    found = first.open(first.latest("log")).scan(["id"])["id"].to_pylist()
    assert sorted(found) == [f"a{n}" for n in range(4)] + [f"b{n}" for n in range(4)]
