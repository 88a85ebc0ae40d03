"""Parts of a change: staged apart, as Spark executors do, and committed as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.errors import Conflict, InvalidInput
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, Staged

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.tables import Pin

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])


@pytest.fixture
def tables(tmp_path: Path) -> LanceTables:
    return LanceTables(str(tmp_path))


@pytest.fixture
def pin(tables: LanceTables) -> Pin:
    """A table of two fragments: a to d, and e to h."""
    made = tables.create("t", SCHEMA, operation_id="create")
    for ids in ("abcd", "efgh"):
        made = tables.commit(made, tables.open(made).stage_append(_rows(*ids)), operation_id="fill")
    return made


def _rows(*ids: str, n: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids)}, schema=SCHEMA)


def _located(tables: LanceTables, pin: Pin) -> dict[str, tuple[int, int]]:
    found = tables.open(pin).scan(["id"], row_ids=True, row_addresses=True).to_pydict()
    places = zip(found[ROW_ADDRESS], found[ROW_ID], strict=True)
    return dict(zip(found["id"], places, strict=True))


def _addresses(tables: LanceTables, pin: Pin, *ids: str) -> np.ndarray:
    located = _located(tables, pin)
    return np.array([located[key][0] for key in ids], np.uint64)


def _row_ids(tables: LanceTables, pin: Pin, *ids: str) -> np.ndarray:
    located = _located(tables, pin)
    return np.array([located[key][1] for key in ids], np.uint64)


def _staged(staged: Staged | None) -> Staged:
    assert staged is not None
    # What executors stage reaches the driver as JSON.
    return Staged.from_json(staged.to_json())


def _combined(tables: LanceTables, pin: Pin, *parts: Staged | None) -> Staged:
    return _staged(tables.open(pin).combine(part for part in parts if part is not None))


def _contents(tables: LanceTables, pin: Pin) -> dict[str, int]:
    found = tables.open(pin).scan(["id", "n"]).to_pydict()
    return dict(zip(found["id"], found["n"], strict=True))


def test_parts_from_several_processes_become_one_version(
    tables: LanceTables, pin: Pin, tmp_path: Path
) -> None:
    apart = [LanceTables(str(tmp_path)) for _ in range(4)]
    staged = [
        apart[0].open(pin).stage_partition(insert=_rows("i", "j", n=1)),
        apart[1].open(pin).stage_partition(insert=_rows("a", "f", n=2)),
        apart[2].open(pin).stage_partition(delete=_addresses(tables, pin, "a", "b")),
        apart[3].open(pin).stage_partition(delete=_addresses(tables, pin, "f")),
    ]
    moved = tables.commit(pin, _combined(tables, pin, *staged), operation_id="op")
    assert _contents(tables, moved) == {
        **dict.fromkeys("cdegh", 0),
        **dict.fromkeys("ij", 1),
        **dict.fromkeys("af", 2),
    }


def test_parts_of_inserts_fit_a_later_version(tables: LanceTables, pin: Pin) -> None:
    parts = [tables.open(pin).stage_partition(insert=_rows(key, n=1)) for key in "ij"]
    moved = tables.commit(pin, tables.open(pin).stage_append(_rows("k")), operation_id="other")
    landed = tables.commit(moved, _combined(tables, moved, *parts), operation_id="op")
    assert sorted(_contents(tables, landed)) == list("abcdefghijk")


def test_replacements_fit_a_later_version_when_the_old_rows_are_hidden_there(
    tables: LanceTables, pin: Pin
) -> None:
    replacement = tables.open(pin).stage_partition(insert=_rows("a", n=7))
    deleted = tables.open(pin).stage_partition(delete=_addresses(tables, pin, "b"))
    moved = tables.commit(pin, _combined(tables, pin, deleted), operation_id="other")
    hiding = tables.open(moved).stage_partition(delete=_addresses(tables, moved, "a"))
    landed = tables.commit(moved, _combined(tables, moved, replacement, hiding), operation_id="op")
    assert _contents(tables, landed) == {**dict.fromkeys("cdefgh", 0), "a": 7}


def test_overwrites_of_several_processes_become_one(tables: LanceTables, pin: Pin) -> None:
    parts = [tables.open(pin).stage_overwrite(_rows(*ids, n=3)) for ids in ("xy", "z")]
    landed = tables.commit(pin, _combined(tables, pin, *parts), operation_id="op")
    assert _contents(tables, landed) == dict.fromkeys("xyz", 3)


def test_a_fragment_whose_last_row_is_hidden_goes_whole(tables: LanceTables, pin: Pin) -> None:
    hiding = tables.open(pin).stage_partition(delete=_addresses(tables, pin, *"abcd"))
    landed = tables.commit(pin, _combined(tables, pin, hiding), operation_id="op")
    assert sorted(_contents(tables, landed)) == list("efgh")
    assert len(tables.open(landed).fragments()) == 1


def test_nothing_is_no_part_and_no_change(tables: LanceTables, pin: Pin) -> None:
    table = tables.open(pin)
    assert table.stage_partition() is None
    assert table.stage_partition(insert=_rows(), delete=np.empty(0, np.uint64)) is None
    assert table.combine([]) is None


def test_two_parts_may_not_hide_rows_of_the_same_fragment(tables: LanceTables, pin: Pin) -> None:
    parts = [tables.open(pin).stage_partition(delete=_addresses(tables, pin, key)) for key in "ab"]
    with pytest.raises(InvalidInput, match="two partitions delete"):
        _combined(tables, pin, *parts)


def test_a_part_that_hides_rows_of_another_version_is_refused(
    tables: LanceTables, pin: Pin
) -> None:
    hiding = tables.open(pin).stage_partition(delete=_addresses(tables, pin, "a"))
    moved = tables.commit(pin, tables.open(pin).stage_append(_rows("k")), operation_id="other")
    with pytest.raises(InvalidInput, match="another version"):
        _combined(tables, moved, hiding)


def test_an_overwrite_is_no_part_of_another_change(tables: LanceTables, pin: Pin) -> None:
    table = tables.open(pin)
    with pytest.raises(InvalidInput, match="cannot be combined"):
        _combined(
            tables, pin, table.stage_overwrite(_rows("x")), table.stage_partition(insert=_rows("y"))
        )


def test_a_part_whose_file_is_gone_is_not_committed(
    tables: LanceTables, pin: Pin, tmp_path: Path
) -> None:
    part = _staged(tables.open(pin).stage_partition(insert=_rows("i")))
    (tmp_path / part.files[0].path).unlink()
    with pytest.raises(Conflict, match="is gone"):
        tables.commit(pin, _combined(tables, pin, part), operation_id="op")


def test_batches_can_be_read_part_by_part_with_their_addresses(
    tables: LanceTables, pin: Pin
) -> None:
    table = tables.open(pin)
    found = [
        pa.Table.from_batches(table.batches(["id"], fragments=[place], row_addresses=True))
        for place in range(len(table.fragments()))
    ]
    assert [part.column("id").to_pylist() for part in found] == [list("abcd"), list("efgh")]
    assert found[1].column(ROW_ADDRESS).to_pylist() == [(1 << 32) + n for n in range(4)]
