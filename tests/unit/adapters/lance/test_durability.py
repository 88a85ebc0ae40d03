"""With ``durable``, what was acknowledged survives a power cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects.local import LocalObjects
from omnigraph.datatypes.arrow import BLOB
from omnigraph.testing.power import PowerLossDisk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.ports.tables import Pin

PATH = "nodes/person-1"
MANIFEST = "__manifest/main-1"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("photo", pa.large_binary(), metadata={BLOB: b"true"}),
    ]
)


def people(*ids: str) -> pa.Table:
    # Large enough to be stored in a file of its own.
    photos = [name.encode() * 100_000 for name in ids]
    return pa.table({"id": list(ids), "photo": photos}, schema=SCHEMA)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "graph.omni"


@pytest.fixture
def disk(root: Path) -> Iterator[PowerLossDisk]:
    with PowerLossDisk(root) as disk:
        LocalObjects(root, durable=True).create_root()
        yield disk


def append(tables: LanceTables, pin: Pin, *ids: str, sync: bool = True) -> Pin:
    staged = tables.open(pin).stage_append(people(*ids))
    after = tables.commit(pin, staged, operation_id="op")
    if sync:
        tables.sync([after], [staged])
    return after


def test_a_created_table_survives(disk: PowerLossDisk, root: Path, tmp_path: Path) -> None:
    pin = LanceTables(str(root), durable=True).create(PATH, SCHEMA, operation_id="op")
    disk.cut_to(tmp_path / "after")
    assert LanceTables(str(tmp_path / "after")).open(pin).scan().num_rows == 0


def test_synced_rows_survive_with_their_blobs(
    disk: PowerLossDisk, root: Path, tmp_path: Path
) -> None:
    tables = LanceTables(str(root), durable=True)
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a", "b")
    disk.cut_to(tmp_path / "after")
    after = LanceTables(str(tmp_path / "after"))
    assert after.open(pin).scan().equals(people("a", "b"))


def test_synced_deletions_survive(disk: PowerLossDisk, root: Path, tmp_path: Path) -> None:
    tables = LanceTables(str(root), durable=True)
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a", "b", "c")
    staged = tables.open(pin).stage_change(delete=np.array([1], np.uint64))
    assert staged is not None
    pin = tables.commit(pin, staged, operation_id="op")
    tables.sync([pin], [staged])
    disk.cut_to(tmp_path / "after")
    after = LanceTables(str(tmp_path / "after"))
    assert after.open(pin).scan(["id"])["id"].to_pylist() == ["a", "c"]


def test_rows_beside_another_branch_survive(
    disk: PowerLossDisk, root: Path, tmp_path: Path
) -> None:
    tables = LanceTables(str(root), durable=True)
    base = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a")
    append(tables, base, "other branch")
    pin = append(tables, base, "b")
    disk.cut_to(tmp_path / "after")
    after = LanceTables(str(tmp_path / "after"))
    assert after.open(pin).scan(["id"])["id"].to_pylist() == ["a", "b"]
    assert after.open(append(after, pin, "c")).count() == 3, "and can be written to"


def test_rows_that_were_not_synced_are_lost_alone(
    disk: PowerLossDisk, root: Path, tmp_path: Path
) -> None:
    tables = LanceTables(str(root), durable=True)
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a")
    append(tables, pin, "lost", sync=False)
    disk.cut_to(tmp_path / "after")
    after = LanceTables(str(tmp_path / "after"))
    assert after.open(append(after, pin, "b")).scan(["id"])["id"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_disk_kept_of_unsynced_rows_harms_nobody(
    disk: PowerLossDisk, root: Path, tmp_path: Path, seed: int
) -> None:
    tables = LanceTables(str(root), durable=True)
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a")
    for number in range(3):
        append(tables, pin, f"lost{number}", sync=False)
    disk.cut_to(tmp_path / "after", seed=seed)
    after = LanceTables(str(tmp_path / "after"))
    assert after.open(pin).scan().equals(people("a"))
    later = append(after, pin, "b")
    assert after.open(later).scan(["id"])["id"].to_pylist() == ["a", "b"]


def test_syncing_a_pin_alone_syncs_all_that_it_consists_of(
    disk: PowerLossDisk, root: Path, tmp_path: Path
) -> None:
    careless = LanceTables(str(root), durable=False)
    pin = append(careless, careless.create(PATH, SCHEMA, operation_id="op"), "a")
    pin = append(careless, pin, "b")
    staged = careless.open(pin).stage_change(delete=np.array([0], np.uint64))
    assert staged is not None
    pin = careless.commit(pin, staged, operation_id="op")
    LanceTables(str(root), durable=True).sync([pin])
    disk.cut_to(tmp_path / "after")
    assert LanceTables(str(tmp_path / "after")).open(pin).scan().equals(people("b"))
