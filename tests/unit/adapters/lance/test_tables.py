"""What is particular to tables on Lance."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.handles import cache as handles
from omnigraph.adapters.lance.handles import fingerprint
from omnigraph.adapters.lance.handles.metadata import (
    field_names,
    fragments_of,
    plain_fields,
    schema_of,
)
from omnigraph.adapters.lance.handles.versions import (
    VersionNaming,
    manifest_name,
    parse_manifest_name,
)
from omnigraph.errors import StorageFault, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.ports.tables import Pin

PATH = "nodes/person-1"
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ("age", pa.int64())])


def people(*ids: str, age: int = 1) -> pa.Table:
    return pa.table({"id": list(ids), "age": [age] * len(ids)}, schema=SCHEMA)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "graph.omni"
    root.mkdir()
    return root


@pytest.fixture
def tables(root: Path) -> LanceTables:
    return LanceTables(str(root))


@pytest.fixture
def pin(tables: LanceTables) -> Pin:
    return append(tables, tables.create(PATH, SCHEMA, operation_id="create"), "a", "b")


def append(tables: LanceTables, pin: Pin, *ids: str, operation_id: str = "append") -> Pin:
    return tables.commit(
        pin, tables.open(pin).stage_append(people(*ids)), operation_id=operation_id
    )


def test_tables_are_not_kept_in_memory() -> None:
    with pytest.raises(Unsupported):
        LanceTables("memory://x")


# --- handles ---


def test_a_pin_is_opened_once(tables: LanceTables, pin: Pin) -> None:
    assert tables.open(pin).dataset is tables.open(pin).dataset


def test_the_most_recently_used_handles_are_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "_CACHED_HANDLES_MAX", 2)
    tables = LanceTables(str(root))
    first = tables.create(PATH, SCHEMA, operation_id="op")
    first_dataset = tables.open(first).dataset
    append(tables, first, "a")
    tables.open(first)
    tables.create("nodes/other-1", SCHEMA, operation_id="op")
    assert tables.open(first).dataset is first_dataset
    assert len(tables._handles._pinned) == 2


def test_a_version_whose_transaction_cannot_be_read_is_known_by_its_files(
    tables: LanceTables, pin: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, version: int) -> None:
        raise TypeError("the binding cannot")

    by_uuid = fingerprint.fingerprint_of(tables.open(pin).dataset)
    assert by_uuid == pin.fingerprint
    change = tables.open(pin).stage_change(delete=np.array([0], np.uint64))
    assert change is not None
    later = tables.commit(pin, change, operation_id="op")
    monkeypatch.setattr(lance.LanceDataset, "read_transaction", refuse)
    versions = (pin.version, pin.version, later.version)
    by_files = [fingerprint.fingerprint_of(tables._handles.at(PATH, v)) for v in versions]
    assert by_files[0].startswith("files-")
    assert by_files[0] == by_files[1]
    assert by_files[1] != by_files[2], "a deletion is another version"
    assert tables.operation_of(PATH, later.version) is None


# --- lost replies and races ---


@pytest.fixture
def after_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Run something once, right after the next commit has landed."""
    plain = lance.LanceDataset.commit

    def install(action: Callable[[], None]) -> None:
        pending = [action]

        def commit(*arguments: Any, **options: Any) -> Any:
            result = plain(*arguments, **options)
            if pending:
                pending.pop()()
            return result

        monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(commit))

    return install


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None], int], None]:
    """Run something once, right before the n-th next commit."""
    plain = lance.LanceDataset.commit

    def install(action: Callable[[], None], nth: int = 1) -> None:
        count = 0

        def commit(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == nth:
                monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(plain))
                action()
                monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(commit))
            return plain(*arguments, **options)

        monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(commit))

    return install


def lose_the_reply() -> None:
    raise OSError("connection reset")


def test_a_lost_reply_of_a_commit_leaves_a_version_that_nothing_refers_to(
    tables: LanceTables, root: Path, pin: Pin, after_commit: Callable[[Callable[[], None]], None]
) -> None:
    versions = len(list((root / PATH / "_versions").iterdir()))
    after_commit(lose_the_reply)
    after = append(tables, pin, "c", operation_id="mine")
    assert after.rows == 3
    assert len(list((root / PATH / "_versions").iterdir())) == versions + 2
    assert tables.operation_of(PATH, after.version) == "mine"
    found = LanceTables(str(root)).find_committed(pin, "mine")
    assert found is not None
    assert LanceTables(str(root)).open(found).scan(["id"])["id"].to_pylist() == ["a", "b", "c"]


def test_a_lost_reply_of_a_create_is_found_again(
    tables: LanceTables, after_commit: Callable[[Callable[[], None]], None]
) -> None:
    after_commit(lose_the_reply)
    assert tables.create(PATH, SCHEMA, operation_id="mine").version == 1


def test_an_error_that_committed_nothing_is_a_fault(
    tables: LanceTables, pin: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        lose_the_reply()

    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(fail))
    with pytest.raises(StorageFault) as caught:
        append(tables, pin, "c")
    assert caught.value.code == "table.unwritable"
    assert "connection reset" in caught.value.message


def test_commits_of_others_in_between_change_nothing(
    tables: LanceTables,
    root: Path,
    pin: Pin,
    before_commit: Callable[[Callable[[], None], int], None],
) -> None:
    before_commit(lambda: void(append(LanceTables(str(root)), pin, "theirs")), 1)
    ours = append(tables, pin, "ours")
    assert tables.open(ours).scan(["id"])["id"].to_pylist() == ["a", "b", "ours"]


def test_a_version_with_another_fingerprint_never_passes_for_the_pin(
    tables: LanceTables, root: Path, pin: Pin
) -> None:
    """The manifest of a pin was replaced by that of another version."""
    other = append(tables, pin, "x", "y")
    versions = root / PATH / "_versions"
    (versions / manifest_name(other.version)).replace(versions / manifest_name(pin.version))
    fresh = LanceTables(str(root))
    for attempt in (
        lambda: fresh.open(pin),
        lambda: fresh.commit(pin, tables.open(pin).stage_append(people("c")), operation_id="op"),
    ):
        with pytest.raises(StorageFault) as caught:
            attempt()
        assert caught.value.code in {"table.pin_mismatch", "table.torn"}


def test_reads_and_commits_list_nothing(
    tables: LanceTables, root: Path, pin: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their cost does not depend on the number of versions."""
    fresh = LanceTables(str(root))
    for verb in ("list", "list_starting", "list_modified"):
        monkeypatch.setattr(type(fresh._objects), verb, refuse)
    after = append(fresh, pin, "c")
    fresh.sync([after])
    assert fresh.open(after).count() == 3
    assert LanceTables(str(root)).open(after).count() == 3


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("a listing")


# --- moved away ---


def test_nothing_is_written_where_the_graph_was(tables: LanceTables, root: Path, pin: Pin) -> None:
    staged = tables.open(pin).stage_append(people("c"))
    root.rename(root.with_name("moved"))
    attempts: list[Callable[[], Pin]] = [
        lambda: tables.commit(pin, staged, operation_id="op"),
        lambda: tables.create("nodes/other-1", SCHEMA, operation_id="op"),
    ]
    for attempt in attempts:
        with pytest.raises(StorageFault) as caught:
            attempt()
        assert caught.value.code == "storage.root_missing"
    assert not root.exists()


def test_staging_where_the_graph_was_is_refused(tables: LanceTables, root: Path, pin: Pin) -> None:
    table = tables.open(pin)
    root.rename(root.with_name("moved"))
    with pytest.raises(StorageFault) as caught:
        table.stage_append(people("c"))
    assert caught.value.code == "storage.root_missing"
    with pytest.raises(StorageFault):
        table.stage_change(delete=np.array([0], np.uint64))
    assert not root.exists()


def test_a_graph_moved_in_the_middle_of_a_commit_is_not_acknowledged(
    tables: LanceTables,
    root: Path,
    pin: Pin,
    before_commit: Callable[[Callable[[], None], int], None],
) -> None:
    """Lance makes the old path again and reports success there."""
    before_commit(lambda: void(root.rename(root.with_name("moved"))), 1)
    with pytest.raises(StorageFault):
        append(tables, pin, "c")
    moved = LanceTables(str(root.with_name("moved")))
    assert moved.open(pin).count() == 2


def test_a_moved_or_copied_graph_opens_with_all_its_pins(
    tables: LanceTables, root: Path, pin: Pin
) -> None:
    later = append(tables, pin, "c")
    shutil.copytree(root, root.with_name("copy"))
    root.rename(root.with_name("moved"))
    for name in ("copy", "moved"):
        there = LanceTables(str(root.with_name(name)))
        assert there.open(pin).count() == 2
        assert there.open(append(there, later, "d")).count() == 4


# --- names of versions ---


def test_names_of_versions() -> None:
    assert manifest_name(1) == "18446744073709551614.manifest"
    assert manifest_name(7, VersionNaming.PLAIN) == "7.manifest"
    assert parse_manifest_name("18446744073709551614.manifest") == (1, VersionNaming.INVERTED)
    assert parse_manifest_name("7.manifest") == (7, VersionNaming.PLAIN)
    for other in (
        "18446744073709551614.manifest.torn-1",
        "18446744073709551614.manifest#1",
        "latest_version_hint.json",
        "d9223372036854775809.manifest",
        ".manifest",
    ):
        assert parse_manifest_name(other) is None


def test_names_of_detached_versions() -> None:
    assert manifest_name(2**63) == "d9223372036854775808.manifest"
    assert manifest_name(2**64 - 1, VersionNaming.PLAIN) == "d18446744073709551615.manifest"


def test_a_table_of_an_old_writer_is_probed_by_its_own_names(root: Path) -> None:
    operation = lance.LanceOperation.Overwrite(SCHEMA, [])
    lance.LanceDataset.commit(
        str(root / PATH), operation, enable_v2_manifest_paths=False, enable_stable_row_ids=True
    )
    assert (root / PATH / "_versions" / "1.manifest").exists()
    tables = LanceTables(str(root))
    assert tables.latest_version(PATH) == 1
    tables.append(PATH, people("b"), operation_id="log")
    assert (root / PATH / "_versions" / "2.manifest").exists()
    assert LanceTables(str(root)).latest(PATH).version == 2


def test_a_version_of_a_newer_lance_is_not_read(tables: LanceTables, root: Path, pin: Pin) -> None:
    manifest = root / PATH / "_versions" / manifest_name(pin.version)
    manifest.write_bytes(with_unknown_feature(manifest.read_bytes()))
    fresh = LanceTables(str(root))
    with pytest.raises(Unsupported) as caught:
        fresh.open(pin)
    assert caught.value.code == "table.newer_format"
    assert manifest.exists()


def with_unknown_feature(manifest: bytes) -> bytes:
    """The manifest with a feature flag that no Lance of today knows.

    A manifest ends with the position of its message (8 bytes), versions (4) and the magic (4); the
    message is preceded by its length. Protobuf takes the last value of a field that occurs twice,
    so the flags for readers (field 9) are appended.
    """
    start = int.from_bytes(manifest[-16:-8], "little")
    length = int.from_bytes(manifest[start : start + 4], "little")
    message = manifest[start + 4 : start + 4 + length]
    flags = bytes([9 << 3]) + b"\x80\x80\x80\x80\x80\x80\x80\x80\x40"
    longer = message + flags
    return manifest[:start] + len(longer).to_bytes(4, "little") + longer + manifest[-16:]


# --- reading ---


def test_a_data_file_that_is_gone_is_a_fault_not_an_absence(
    tables: LanceTables, root: Path, pin: Pin
) -> None:
    for file in (root / PATH / "data").iterdir():
        file.unlink()
    with pytest.raises(StorageFault) as caught:
        LanceTables(str(root)).open(pin).scan()
    assert caught.value.code == "table.damaged"


@pytest.mark.parametrize("size", [0, 100, 300])
def test_a_data_file_that_is_overwritten_is_damage_and_no_bad_request(
    size: int, tables: LanceTables, root: Path, pin: Pin
) -> None:
    """Lance reports it as invalid user input."""
    for file in (root / PATH / "data").iterdir():
        file.write_bytes(bytes(size))
    with pytest.raises(StorageFault) as caught:
        LanceTables(str(root)).open(pin).scan()
    assert caught.value.code == "table.damaged"
    assert caught.value.remedy is not None


def test_an_index_answers_rightly_for_replaced_rows(tables: LanceTables, root: Path) -> None:
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    pin = append(tables, pin, *(f"n{number}" for number in range(100)))
    dataset = tables.open(pin).dataset
    for column in ("id", "age"):
        fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
        segment = dataset.create_index_uncommitted(
            column, "BTREE", name=f"{column}_idx", fragment_ids=fragments
        )
        dataset = lance.LanceDataset.commit(
            dataset,
            lance.Transaction(dataset.version, lance.LanceOperation.CreateIndex([segment], [])),
            detached=True,
            max_retries=5,
        )
    pin = tables._handles.pin(PATH, dataset)
    table = tables.open(pin)
    rows = table.scan(filter="id in ('n5', 'n6')", row_addresses=True)
    staged = table.stage_change(
        replace=(rows["_rowaddr"].to_numpy(), people(*rows["id"].to_pylist(), age=7))
    )
    assert staged is not None
    after = tables.open(tables.commit(pin, staged, operation_id="op"))
    assert after.count("age = 7") == 2
    assert after.count("age = 1") == 98
    assert after.scan(filter="id = 'n5'").to_pylist() == [{"id": "n5", "age": 7}]
    assert {index.name for index in after.dataset.describe_indices()} == {"id_idx", "age_idx"}
    assert "ScalarIndexQuery" in after.dataset.scanner(filter="age = 7").explain_plan(verbose=True)


def void(_: object) -> None:
    """Make an expression an action."""


def test_what_is_known_of_a_version_is_what_lance_says_of_it(tables: LanceTables) -> None:
    """Handed on from version to version, and never asked for: it must stay true."""
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    for turn in range(40):
        table = tables.open(pin)
        what_is_known(table.dataset)
        match turn % 5:
            case 3:
                places = table.scan(row_addresses=True)["_rowaddr"].to_numpy()[:2]
                staged = table.stage_change(delete=places)
            case 4:
                places = table.scan(row_addresses=True)["_rowaddr"].to_numpy()[:1]
                staged = table.stage_change(replace=(places, people("z")))
            case _:
                staged = table.stage_change(insert=people(f"a{turn}", f"b{turn}"))
        assert staged is not None
        pin = tables.commit(pin, staged, operation_id="op")
        dataset = tables.open(pin).dataset
        assert what_is_known(dataset) == what_is_known(dataset.checkout_version(dataset.version))


def what_is_known(dataset: Any) -> tuple[object, ...]:
    return tuple(ask(dataset) for ask in (schema_of, field_names, plain_fields, fragments_of))
