"""The simulated power cut keeps exactly what was synced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from omnigraph.testing.power import PowerLossDisk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "disk"
    root.mkdir()
    (root / "old").write_bytes(b"old")
    return root


@pytest.fixture
def disk(root: Path) -> Iterator[PowerLossDisk]:
    with PowerLossDisk(root) as disk:
        yield disk


def after_cut(disk: PowerLossDisk, root: Path) -> dict[str, bytes]:
    target = root.parent / "after"
    disk.cut_to(target)
    return {
        str(path.relative_to(target)): path.read_bytes()
        for path in target.rglob("*")
        if path.is_file()
    }


def test_what_was_there_before_survives(disk: PowerLossDisk, root: Path) -> None:
    assert after_cut(disk, root) == {"old": b"old"}


def test_an_unsynced_file_is_lost(disk: PowerLossDisk, root: Path) -> None:
    (root / "new").write_bytes(b"new")
    assert after_cut(disk, root) == {"old": b"old"}


def test_a_synced_file_without_a_synced_name_is_lost(disk: PowerLossDisk, root: Path) -> None:
    (root / "new").write_bytes(b"new")
    sync(root / "new")
    assert after_cut(disk, root) == {"old": b"old"}


def test_a_synced_name_of_an_unsynced_file_is_an_empty_file(
    disk: PowerLossDisk, root: Path
) -> None:
    (root / "new").write_bytes(b"new")
    sync(root)
    assert after_cut(disk, root) == {"old": b"old", "new": b""}


def test_a_synced_file_with_a_synced_name_survives(disk: PowerLossDisk, root: Path) -> None:
    (root / "new").write_bytes(b"new")
    sync(root / "new")
    sync(root)
    assert after_cut(disk, root) == {"old": b"old", "new": b"new"}


def test_later_writes_to_a_synced_file_are_lost(disk: PowerLossDisk, root: Path) -> None:
    with (root / "old").open("ab") as file:
        file.write(b" and more")
    assert after_cut(disk, root) == {"old": b"old"}


def test_an_unsynced_rename_is_undone(disk: PowerLossDisk, root: Path) -> None:
    (root / "new").write_bytes(b"new")
    sync(root / "new")
    (root / "new").replace(root / "old")
    assert after_cut(disk, root) == {"old": b"old"}
    sync(root)
    assert after_cut(disk, root) == {"old": b"new"}


def test_an_unsynced_removal_is_undone(disk: PowerLossDisk, root: Path) -> None:
    (root / "old").unlink()
    (root / "reuses the inode perhaps").write_bytes(b"other")
    sync(root / "reuses the inode perhaps")
    assert after_cut(disk, root) == {"old": b"old"}


def test_a_directory_needs_its_parent_synced(disk: PowerLossDisk, root: Path) -> None:
    (root / "a").mkdir()
    (root / "a" / "new").write_bytes(b"new")
    sync(root / "a" / "new")
    sync(root / "a")
    assert after_cut(disk, root) == {"old": b"old"}
    sync(root)
    assert after_cut(disk, root) == {"old": b"old", "a/new": b"new"}


def test_a_root_whose_own_name_was_not_synced_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "later"
    with PowerLossDisk(root) as disk:
        root.mkdir()
        sync(root)
        disk.cut_to(tmp_path / "first")
        assert not (tmp_path / "first").exists()
        sync(tmp_path)
        disk.cut_to(tmp_path / "second")
        assert (tmp_path / "second").is_dir()


def test_a_seed_may_keep_or_tear_what_was_not_synced(disk: PowerLossDisk, root: Path) -> None:
    for number in range(40):
        (root / f"new{number}").write_bytes(b"12345678")
    sync(root)
    target = root.parent / "torn"
    disk.cut_to(target, seed=7)
    found = {path.read_bytes() for path in target.glob("new*")}
    assert found == {b"", b"12345678", b"1234", bytes(8)}


def test_the_disk_cleans_up_after_itself(root: Path) -> None:
    with PowerLossDisk(root):
        pass
    assert [path.name for path in root.parent.iterdir()] == ["disk"]
