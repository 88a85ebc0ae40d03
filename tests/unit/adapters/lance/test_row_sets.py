"""What two versions share is told by their files, and never wrongly."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.reading import deletion_vectors as deletions_module
from omnigraph.adapters.lance.reading.deletion_vectors import deleted_offsets, read_roaring
from omnigraph.adapters.objects import open_objects
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, RowSet

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.tables import Pin

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("value", pa.int64())])
ROWS = 300_000


# --- deletion vectors ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("numbers") / "t"
    lance.write_dataset(pa.table({"x": np.arange(ROWS)}), str(place), enable_stable_row_ids=True)
    return place


PATTERNS = {
    "one row": np.array([7]),
    "a few rows": np.array([0, 1, 65_535, 65_536, ROWS - 1]),
    "thousands here and there": np.arange(0, ROWS, 50),
    "more than half": np.flatnonzero(np.arange(ROWS) % 3),
    "every second row": np.arange(0, ROWS, 2),
    "one long run": np.arange(1_000, 200_000),
    "runs and single rows": np.r_[10:5_000, 70_000, 131_072:262_144],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_deleted_rows_of_a_fragment_are_read_from_its_file(numbers: Path, pattern: str) -> None:
    dataset: Any = lance.dataset(str(numbers))
    metadata = dataset.get_fragment(0).delete_rows(PATTERNS[pattern].tolist())
    operation = lance.LanceOperation.Delete([metadata], [], "")
    after: Any = lance.LanceDataset.commit(dataset, operation, read_version=1, detached=True)
    objects = open_objects(str(numbers.parent))
    found = deleted_offsets(objects, "t", after.get_fragment(0))
    assert np.array_equal(found, PATTERNS[pattern])


def test_a_file_of_an_unknown_form_is_left_to_lance(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset: Any = lance.dataset(str(numbers))
    metadata = dataset.get_fragment(0).delete_rows(list(range(0, ROWS, 50)))
    operation = lance.LanceOperation.Delete([metadata], [], "")
    after: Any = lance.LanceDataset.commit(dataset, operation, read_version=1, detached=True)

    def refuse(_: bytes) -> np.ndarray:
        raise ValueError

    monkeypatch.setattr(deletions_module, "read_roaring", refuse)
    found = deleted_offsets(open_objects(str(numbers.parent)), "t", after.get_fragment(0))
    assert np.array_equal(found, np.arange(0, ROWS, 50))


def test_what_is_no_bitmap_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Roaring bitmap"):
        read_roaring(b"\0\0\0\0\0\0\0\0")


# --- rows ----------------------------------------------------------------------------------------


def advance(tables: LanceTables, pin: Pin, step: tuple[str, list[int]], number: int) -> Pin:
    """One change on top of a pin; the pin itself when nothing changes."""
    verb, places = step
    table = tables.open(pin)
    rows = table.scan(row_ids=True, row_addresses=True)
    at = sorted({place % rows.num_rows for place in places}) if rows.num_rows else []
    chosen = rows.take(pa.array(at, pa.int64()))
    addresses = chosen.column(ROW_ADDRESS).to_numpy()
    match verb:
        case "insert":
            new = [{"id": f"{number}-{place}", "value": place} for place in places]
            staged = table.stage_append(pa.Table.from_pylist(new, SCHEMA)) if new else None
        case "delete":
            staged = table.stage_change(delete=addresses)
        case "rewrite":
            staged = table.stage_overwrite(table.scan())
        case _:
            changed = chosen.select(SCHEMA.names).set_column(
                1, SCHEMA.field(1), pc.add(chosen.column("value"), number)
            )
            staged = table.stage_change(replace=(addresses, changed)) if at else None
    return tables.commit(pin, staged, operation_id=str(number)) if staged else pin


steps = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.tuples(
            st.sampled_from(["insert", "insert", "update", "update", "delete", "rewrite"]),
            st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True),
        ),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_rows_that_two_versions_are_said_to_share_are_the_same(
    history: list[tuple[int, tuple[str, list[int]]]],
) -> None:
    """Each step builds on any earlier version, as branches do."""
    with tempfile.TemporaryDirectory() as place:
        tables = LanceTables(place)
        pins = [tables.create("nodes/t", SCHEMA, operation_id="0")]
        for number, (base, step) in enumerate(history, 1):
            pins.append(advance(tables, pins[base % len(pins)], step, number))
        for one in pins[:3] + pins[-4:]:
            for other in pins[:3] + pins[-4:]:
                check(tables, one, other)


def check(tables: LanceTables, one: Pin, other: Pin) -> None:
    left, right = tables.differing_rows(one, other)
    before, after = by_address(tables, one), by_address(tables, other)
    gone, come = addresses_of(tables, one, left), addresses_of(tables, other, right)
    assert (left.count, right.count) == (len(gone), len(come))
    assert gone <= before.keys()
    assert come <= after.keys()
    shared = before.keys() - gone
    assert shared == after.keys() - come
    assert all(before[address] == after[address] for address in shared)
    if one == other:
        assert not gone


def by_address(tables: LanceTables, pin: Pin) -> dict[int, tuple[Any, ...]]:
    rows = tables.open(pin).scan(row_ids=True, row_addresses=True).to_pylist()
    return {row[ROW_ADDRESS]: (row["id"], row["value"], row[ROW_ID]) for row in rows}


def addresses_of(tables: LanceTables, pin: Pin, rows: RowSet) -> set[int]:
    """The rows of a set, read; each must be what a scan gives at its address."""
    known = by_address(tables, pin)
    found: dict[int, tuple[Any, ...]] = {}
    for batch in tables.open(pin).read(rows, ["id", "value"], row_ids=True):
        for row in batch.to_pylist():
            assert row[ROW_ADDRESS] not in found
            found[row[ROW_ADDRESS]] = (row["id"], row["value"], row[ROW_ID])
    assert all(known[address] == values for address, values in found.items())
    return set(found)


def test_many_and_few_addresses_are_read_alike(tmp_path: Path) -> None:
    tables = LanceTables(str(tmp_path))
    pin = tables.create("nodes/t", SCHEMA, operation_id="0")
    rows = pa.table({"id": [f"r{n}" for n in range(30_000)], "value": range(30_000)}, SCHEMA)
    pin = tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="1")
    table = tables.open(pin)
    everything = table.scan(row_addresses=True).column(ROW_ADDRESS).to_numpy().astype(np.uint64)
    for wanted in (everything[:1], everything[::1_000], everything[::7], everything):
        found = pa.Table.from_batches(table.read(RowSet(len(wanted), (), wanted), ["id"]))
        assert sorted(found.column(ROW_ADDRESS).to_pylist()) == wanted.tolist()


def test_tables_at_different_paths_share_nothing(tmp_path: Path) -> None:
    tables = LanceTables(str(tmp_path))
    pins = []
    for name in ("nodes/a", "nodes/b"):
        pin = tables.create(name, SCHEMA, operation_id="0")
        rows = pa.table({"id": ["x", "y"], "value": [1, 2]}, SCHEMA)
        pins.append(tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="1"))
    left, right = tables.differing_rows(*pins)
    assert (left.count, right.count) == (2, 2)
