"""What is particular to objects on a local disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from omnigraph.adapters.objects.keys import TEMPORARY
from omnigraph.adapters.objects.local import LocalObjects
from omnigraph.errors import StorageFault
from omnigraph.testing.power import PowerLossDisk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "graph.omni"


@pytest.fixture
def objects(root: Path) -> LocalObjects:
    store = LocalObjects(root)
    store.create_root()
    return store


def test_an_object_is_a_plain_file(objects: LocalObjects, root: Path) -> None:
    objects.put("a/b.json", b"1")
    assert (root / "a" / "b.json").read_bytes() == b"1"
    assert [path.name for path in (root / "a").iterdir()] == ["b.json"]


def test_a_replaced_object_keeps_its_old_bytes_for_whoever_has_it_open(
    objects: LocalObjects, root: Path
) -> None:
    objects.put("key", b"old")
    with (root / "key").open("rb") as reader:
        objects.put("key", b"new")
        assert reader.read() == b"old"
    assert (root / "key").read_bytes() == b"new"


def test_the_name_appears_only_when_the_object_is_whole(
    objects: LocalObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    plain_replace = os.replace

    def watched(source: str, target: str) -> None:
        seen.append(sorted(path.name for path in root.iterdir()))
        assert Path(source).read_bytes() == b"whole"
        plain_replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    objects.put("key", b"whole")
    assert len(seen) == 1
    assert "key" not in seen[0]


def test_what_a_killed_writer_left_behind_is_never_listed(
    objects: LocalObjects, root: Path
) -> None:
    (root / ".omnigraph-tmp-left0behin").write_bytes(b"half")
    assert objects.list("") == []


def test_an_empty_directory_lists_as_nothing(objects: LocalObjects, root: Path) -> None:
    (root / "made" / "by" / "mkdir").mkdir(parents=True)
    assert objects.list("") == []
    assert objects.list("made") == []
    objects.delete_prefix("made")
    assert not (root / "made").exists()


def test_a_write_does_not_bring_back_a_root_that_was_moved_away(
    objects: LocalObjects, root: Path
) -> None:
    objects.put("a/1", b"1")
    root.rename(root.with_name("elsewhere"))
    for write in (objects.put, objects.put_if_absent):
        with pytest.raises(StorageFault) as caught:
            write("a/2", b"2")
        assert caught.value.code == "storage.root_missing"
    assert not root.exists()


def test_create_root_makes_parents_and_accepts_what_exists(tmp_path: Path) -> None:
    store = LocalObjects(tmp_path / "a" / "b" / "c", durable=True)
    store.create_root()
    store.create_root()
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_file_where_a_directory_should_be_is_a_fault_not_an_absence(
    objects: LocalObjects, root: Path
) -> None:
    (root / "a").write_bytes(b"a file")
    for ask in (objects.get, objects.size, objects.exists, objects.delete):
        with pytest.raises(StorageFault):
            ask("a/b")
    with pytest.raises(StorageFault):
        objects.put("a/b", b"")
    with pytest.raises(StorageFault):
        objects.put_if_absent("a/b", b"")
    with pytest.raises(StorageFault):
        objects.list("a/b")


@pytest.mark.parametrize("key", ["top.json", "a/b", "a/b/c"])
@pytest.mark.parametrize("durable", [False, True])
def test_a_root_that_was_moved_away_is_never_made_anew(
    key: str, durable: bool, tmp_path: Path
) -> None:
    home = tmp_path / "above" / "graph"
    store = LocalObjects(home, durable=durable)
    store.create_root()
    for gone in (home, home.parent):
        gone.rename(tmp_path / f"moved-{gone.name}")
        for put in (store.put, store.put_if_absent):
            with pytest.raises(StorageFault) as caught:
                put(key, b"1")
            assert caught.value.code == "storage.root_missing"
        assert not gone.exists()


@pytest.mark.parametrize("key", ["a/x", "a/b/x", "a/b/c/x"])
def test_a_link_to_nowhere_is_a_fault(key: str, objects: LocalObjects, root: Path) -> None:
    (root / "a").symlink_to(root / "nowhere")
    for put in (objects.put, objects.put_if_absent):
        with pytest.raises(StorageFault) as caught:
            put(key, b"1")
        assert caught.value.code == "storage.failed"
    assert not (root / "nowhere").exists()


def test_a_loop_of_links_is_a_fault_not_an_absence(objects: LocalObjects, root: Path) -> None:
    (root / "loop").symlink_to(root / "loop")
    for ask in (objects.get, objects.size, objects.exists):
        with pytest.raises(StorageFault):
            ask("loop/key")
    with pytest.raises(StorageFault):
        objects.list("loop")


def test_a_name_that_is_too_long_is_a_fault_not_an_absence(objects: LocalObjects) -> None:
    for ask in (objects.get, objects.size, objects.exists):
        with pytest.raises(StorageFault) as caught:
            ask("x" * 300)
        assert caught.value.code == "storage.failed"


def test_a_permission_error_is_a_fault_not_an_absence(
    objects: LocalObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Permission bits do not bite root, who runs many test machines: the call itself is replaced.
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    objects.put("key", b"1")
    monkeypatch.setattr(os, "stat", denied)
    monkeypatch.setattr("builtins.open", denied)
    monkeypatch.setattr(os, "scandir", denied)
    for ask in (objects.get, objects.size, objects.exists, objects.list):
        with pytest.raises(StorageFault, match="Permission denied"):
            ask("key")


def test_a_refused_delete_is_a_fault(
    objects: LocalObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    objects.put("key", b"1")
    monkeypatch.setattr(os, "unlink", denied)
    with pytest.raises(StorageFault, match="Permission denied"):
        objects.delete("key")


def test_a_file_system_without_hard_links_is_named(
    objects: LocalObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(StorageFault) as caught:
        objects.put_if_absent("key", b"1")
    assert caught.value.code == "storage.no_hard_links"
    assert caught.value.remedy
    assert list(root.iterdir()) == []


def test_a_winner_that_is_gone_again_has_still_won(
    objects: LocalObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.put("key", b"theirs")
    plain_link = os.link

    def link_then_lose(source: Path, target: Path, **options: object) -> None:
        try:
            plain_link(source, target)
        finally:
            (root / "key").unlink()

    monkeypatch.setattr(os, "link", link_then_lose)
    assert not objects.put_if_absent("key", b"ours")


def test_durable_writes_survive_a_power_cut(root: Path, tmp_path: Path) -> None:
    with PowerLossDisk(root) as disk:
        objects = LocalObjects(root, durable=True)
        objects.create_root()
        objects.put("a/b/replaced", b"old")
        objects.put("a/b/replaced", b"new")
        assert objects.put_if_absent("c/d/created", b"once")
        disk.cut_to(tmp_path / "after")
    after = LocalObjects(tmp_path / "after")
    assert after.list("") == ["a/b/replaced", "c/d/created"]
    assert after.get("a/b/replaced") == b"new"
    assert after.get("c/d/created") == b"once"


def test_a_durable_write_is_synced_before_it_has_its_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no instant can a cut show a name with half of its contents."""
    with PowerLossDisk(root) as disk:
        objects = LocalObjects(root, durable=True)
        objects.create_root()
        objects.put("key", b"old")
        cuts: list[bytes] = []
        plain_fsync = os.fsync

        def cut_at_every_sync(descriptor: int) -> None:
            for number, done in enumerate((False, True)):
                if done:
                    plain_fsync(descriptor)
                target = tmp_path / f"cut{len(cuts)}-{number}"
                disk.cut_to(target)
                cuts.append((target / "key").read_bytes())

        monkeypatch.setattr(os, "fsync", cut_at_every_sync)
        objects.put("key", b"new")
        monkeypatch.setattr(os, "fsync", plain_fsync)
    assert cuts == [b"old", b"old", b"old", b"new"]


def test_without_durability_nothing_is_synced(
    objects: LocalObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(descriptor: int) -> None:
        raise AssertionError("synced")

    monkeypatch.setattr(os, "fsync", forbidden)
    objects.put("a/b", b"1")
    assert objects.put_if_absent("c/d", b"1")


def test_a_file_is_no_place_for_a_graph(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFault, match="is a file, and a graph is a directory") as caught:
        LocalObjects(tmp_path / "file").get("_graph.json")
    assert caught.value.code == "storage.not_a_directory"


def test_a_relative_path_needs_a_directory_to_begin_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(StorageFault, match="which is not there any more"):
        LocalObjects("people.omni")
    assert LocalObjects(tmp_path / "people.omni").uri == str(tmp_path / "people.omni")


def test_unfinished_writes_of_killed_writers_are_removed_when_they_are_old(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    for key in ("top", "__recovery/a.json", "__locks/queue/b.json", "nodes/t/c"):
        objects.put(key, b"kept")
    places = [tmp_path, tmp_path / "__recovery", tmp_path / "__locks/queue", tmp_path / "nodes/t"]
    old = [place / f"{TEMPORARY}old" for place in places]
    young = [place / f"{TEMPORARY}young" for place in places]
    for file in (*old, *young):
        file.write_bytes(b"half")
    for file in (*old, tmp_path / "__recovery/a.json"):
        os.utime(file, (1_000, 1_000))
    removed = objects.remove_temporaries(["", "__recovery", "__locks"], before_micros=2_000_000_000)
    assert removed == 3
    assert [file.exists() for file in old] == [False, False, False, True]
    assert all(file.exists() for file in young)
    assert objects.list("") == ["__locks/queue/b.json", "__recovery/a.json", "nodes/t/c", "top"]
