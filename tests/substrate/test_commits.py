"""What Lance's commits are and are not: the ground that publishing stands on (INV-1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.adapters.lance.handles.failures import is_conflict
from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ("n", pa.int64())])


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "n": [0] * len(ids)}, schema=SCHEMA)


def fragments(dataset: Any, *ids: str) -> list[Any]:
    return list(lance.fragment.write_fragments(rows(*ids), dataset))


def commit(dataset: Any, operation: Any, *, at: int | None = None, **properties: str) -> Any:
    """Once, on ``at`` or on the handle's own version."""
    transaction = lance.Transaction(
        at or dataset.version, operation, transaction_properties=properties
    )
    return lance.LanceDataset.commit(dataset, transaction, max_retries=0)


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """Version 2, with the rows a, b, c."""
    empty = lance.LanceDataset.commit(
        str(tmp_path / "t"), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    return commit(empty, Op.Append(fragments(empty, "a", "b", "c")))


def ids(dataset: Any) -> list[str]:
    return list(dataset.to_table(columns=["id"])["id"].to_pylist())


def delete_first(dataset: Any) -> Any:
    return Op.Delete([dataset.get_fragment(0).delete_rows([0])], [], "")


def update_first(dataset: Any) -> Any:
    return Op.Update(
        updated_fragments=[dataset.get_fragment(0).delete_rows([0])],
        new_fragments=fragments(dataset, "a2"),
        update_mode="rewrite_rows",
    )


def index(dataset: Any) -> Any:
    segment = dataset.create_index_uncommitted(
        "n", "BTREE", name="n_idx", fragment_ids=[f.fragment_id for f in dataset.get_fragments()]
    )
    return Op.CreateIndex([segment], [])


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "Append": lambda ds: Op.Append(fragments(ds, "new")),
    "Delete": delete_first,
    "Update": update_first,
    "CreateIndex": index,
    "Merge": lambda ds: Op.Merge([f.metadata for f in ds.get_fragments()], ds.lance_schema),
    "Overwrite": lambda ds: Op.Overwrite(SCHEMA, fragments(ds, "only")),
    "Restore": lambda _: Op.Restore(1),
}
FIRST = ("Append", "Delete", "Update", "CreateIndex", "Merge", "Overwrite", "Restore")
# Of the second committer on the same base: C is told of the conflict, R is rebased silently.
MATRIX = {
    "Overwrite": "CCCCCCC",
    "Merge": "CCCRCCC",
    "Append": "RRRRCCC",
    "Delete": "RCCRCCC",
    "Update": "RCCRCCC",
    "CreateIndex": "RRRCRCC",
}
PAIRS = [
    (second, first, expected)
    for second, row in MATRIX.items()
    for first, expected in zip(FIRST, row, strict=True)
]


@pytest.mark.parametrize(("second", "first", "expected"), PAIRS)
def test_who_is_told_and_who_is_rebased(table: Any, second: str, first: str, expected: str) -> None:
    late = OPERATIONS[second](table)
    commit(table, OPERATIONS[first](table))
    if expected == "C":
        with pytest.raises(OSError) as caught:
            commit(table, late)
        assert is_conflict(caught.value)
    else:
        assert commit(table, late).version == table.version + 2, "never base + 1"


def test_a_silently_rebased_append_takes_the_rows_of_an_orphan_with_it(table: Any) -> None:
    commit(table, Op.Append(fragments(table, "orphan")))
    leaked = commit(table, Op.Append(fragments(table, "mine")))
    assert ids(leaked) == ["a", "b", "c", "orphan", "mine"]


def test_a_restoration_after_somebodys_append_is_not_strict_either(table: Any) -> None:
    commit(table, Op.Append(fragments(table, "theirs")))
    assert commit(table, Op.Restore(1)).version == table.version + 2


def test_with_retries_an_overwrite_wins_silently(table: Any) -> None:
    late = Op.Overwrite(SCHEMA, fragments(table, "only"))
    commit(table, Op.Append(fragments(table, "lost")))
    assert ids(lance.LanceDataset.commit(table, late, read_version=table.version)) == ["only"]


def test_an_overwrite_needs_its_base_named(table: Any) -> None:
    with pytest.raises(OSError, match=r"0\.manifest"):
        lance.LanceDataset.commit(table, Op.Overwrite(SCHEMA, []), max_retries=0)


def test_of_many_overwrites_of_one_base_exactly_one_wins(table: Any) -> None:
    won: list[int] = []
    barrier = threading.Barrier(4)

    def race() -> None:
        handle = lance.dataset(table.uri, version=2)
        staged = Op.Overwrite(SCHEMA, fragments(handle, "x"))
        barrier.wait()
        try:
            won.append(commit(handle, staged).version)
        except OSError as error:
            assert is_conflict(error)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [3]


def test_a_restoration_is_a_new_version_with_the_old_contents(table: Any) -> None:
    later = commit(table, Op.Append(fragments(table, "d")))
    restored = commit(later, Op.Restore(2))
    assert restored.version == 4
    assert ids(restored) == ["a", "b", "c"]
    assert ids(lance.dataset(table.uri, version=3)) == ["a", "b", "c", "d"]


def test_row_ids_are_not_given_twice_after_a_restoration(table: Any) -> None:
    branch = commit(table, Op.Append(fragments(table, "d")))
    other = commit(commit(branch, Op.Restore(2)), Op.Append(fragments(table, "e")))

    def row_id(dataset: Any, name: str) -> int:
        found = dataset.to_table(columns=[], filter=f"id = '{name}'", with_row_id=True)
        return int(found["_rowid"][0].as_py())

    assert row_id(branch, "d") != row_id(other, "e")


def test_a_commit_that_returns_the_next_version_made_it(table: Any) -> None:
    """However many race for it: nobody is handed a version that another one made."""
    staged = [fragments(table, f"r{n}") for n in range(8)]
    start = threading.Barrier(len(staged))
    won: list[str] = []

    def race(new: list[Any]) -> None:
        transaction = lance.Transaction(table.version, Op.Append(new), transaction_properties={})
        start.wait()
        try:
            made = lance.LanceDataset.commit(table, transaction, max_retries=0)
        except OSError:
            return
        if made.version == table.version + 1:
            won.append(transaction.uuid)

    threads = [threading.Thread(target=race, args=(new,)) for new in staged]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [lance.dataset(table.uri).read_transaction(table.version + 1).uuid]


def test_properties_and_uuid_of_a_transaction_stay_with_its_version(table: Any) -> None:
    transaction = lance.Transaction(
        2, Op.Append(fragments(table, "d")), transaction_properties={"omnigraph.operation": "01J"}
    )
    lance.LanceDataset.commit(table, transaction, max_retries=0)
    fresh = lance.dataset(table.uri)
    assert fresh.read_transaction(3).uuid == transaction.uuid
    assert fresh.read_transaction(3).transaction_properties == {"omnigraph.operation": "01J"}
    restored = commit(fresh, Op.Restore(2), by="me")
    assert restored.read_transaction(4).transaction_properties == {"by": "me"}
    assert restored.read_transaction(2).transaction_properties == {}


def test_a_change_without_effect_makes_a_version_all_the_same(table: Any) -> None:
    assert commit(table, Op.Append([])).version == 3
    assert commit(lance.dataset(table.uri), Op.Delete([], [], "")).version == 4


def test_a_stale_overwrite_wins_a_number_that_was_cleaned_away(table: Any) -> None:
    """Why publishing reads the head immediately before, and follows the parent chain after."""
    head = table
    for _ in range(3):
        head = commit(head, Op.Overwrite(SCHEMA, fragments(head, "x")))
    assert head.version == 5
    head.cleanup_old_versions(versions=[3])
    stale = lance.dataset(table.uri, version=2)
    invisible = commit(stale, Op.Overwrite(SCHEMA, fragments(stale, "stale")))
    assert invisible.version == 3, "base + 1 holds"
    assert lance.dataset(table.uri).version == 5, "and nobody will see it"
    assert ids(lance.dataset(table.uri, version=3)) == ["stale"]


def test_a_stale_append_after_a_cleanup_is_caught_by_its_number(table: Any) -> None:
    head = table
    for name in "def":
        head = commit(head, Op.Append(fragments(head, name)))
    head.cleanup_old_versions(versions=[3])
    stale = lance.dataset(table.uri, version=2)
    assert commit(stale, Op.Append(fragments(stale, "stale"))).version == 6


STALE_APPEND_WITH_HINT = """
import sys, lance, pyarrow as pa
stale = lance.dataset(sys.argv[1], version=2)
rows = pa.table({"id": ["stale"], "n": [0]}, schema=stale.schema)
operation = lance.LanceOperation.Append(lance.fragment.write_fragments(rows, stale))
print(lance.LanceDataset.commit(stale, operation, read_version=2, max_retries=0).version)
"""


@pytest.mark.parametrize(("hint", "version"), [("true", 3), ("false", 6)])
def test_with_the_version_hint_it_would_not_be_caught(
    table: Any, tmp_path: Path, hint: str, version: int
) -> None:
    """Why the door switches the hint off: it is written after the commit, so it may lag."""
    head = table
    for name in "def":
        head = commit(head, Op.Append(fragments(head, name)))
    head.cleanup_old_versions(versions=[3])
    file = tmp_path / "t" / "_versions" / "latest_version_hint.json"
    assert not file.exists(), "the door has switched it off"
    file.write_text('{"version":2}')
    printed = subprocess.run(
        [sys.executable, "-c", STALE_APPEND_WITH_HINT, table.uri],
        env={**os.environ, "LANCE_USE_VERSION_HINT": hint},
        capture_output=True,
        check=True,
    ).stdout
    assert int(printed) == version


def test_creating_is_a_race_with_one_winner(tmp_path: Path) -> None:
    url = str(tmp_path / "new")
    create = {"max_retries": 0, "enable_stable_row_ids": True}
    made = lance.LanceDataset.commit(url, lance.Transaction(0, Op.Overwrite(SCHEMA, [])), **create)
    assert (made.version, made.count_rows(), made.has_stable_row_ids) == (1, 0, True)
    with pytest.raises(OSError):
        lance.LanceDataset.commit(url, lance.Transaction(0, Op.Overwrite(SCHEMA, [])), **create)
    assert lance.dataset(url).version == 1


def test_a_commit_of_a_missing_file_succeeds_and_cannot_be_read(table: Any, tmp_path: Path) -> None:
    """Why staged files are checked before a commit."""
    staged = fragments(table, "gone")
    (tmp_path / "t" / "data" / staged[0].files[0].path).unlink()
    broken = commit(table, Op.Append(staged))
    with pytest.raises((OSError, ValueError)):
        lance.dataset(table.uri, version=broken.version).to_table()


def test_a_bare_address_writes_with_the_newest_schema(table: Any) -> None:
    """Why staging goes through a handle opened at the pin."""
    other = pa.schema([("n", pa.int64()), ("id", pa.string())])
    commit(table, Op.Overwrite(other, []))
    at_pin = lance.fragment.write_fragments(rows("x"), table)[0].files[0]
    by_address = lance.fragment.write_fragments(rows("x"), table.uri, mode="append")[0].files[0]
    assert (at_pin.fields, by_address.fields) == ([0, 1], [1, 0])


def test_field_numbers_are_reused_for_other_columns(table: Any) -> None:
    """Why staged fields are compared by name and type as well."""
    other = pa.schema([("id", pa.string()), ("name", pa.string())])
    after = commit(table, Op.Overwrite(other, []))
    assert [field.id() for field in after.lance_schema.fields()] == [0, 1]


def test_fragments_and_row_ids_cross_processes_as_json(table: Any) -> None:
    metadata = lance.fragment.FragmentMetadata
    appended, deleted = fragments(table, "x")[0], table.get_fragment(0).delete_rows([1])
    appended.row_id_meta = lance.fragment.RowIdSequence(
        pa.array([7], pa.uint64())
    ).to_inline_metadata()
    for fragment in (appended, deleted):
        assert metadata.from_json(json.dumps(fragment.to_json())) == fragment


def test_handles_are_immutable_and_commits_return_new_ones(table: Any) -> None:
    commit(table, Op.Append(fragments(table, "d")))
    assert table.version == 2
    assert ids(table) == ["a", "b", "c"]
