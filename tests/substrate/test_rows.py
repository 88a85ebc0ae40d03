"""What happens to the identity of rows: the ground that merges and change feeds stand on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance.optimize import Compaction, RewriteResult

from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from pathlib import Path

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ("n", pa.int64())])
IDENTITY = ["id", "_row_created_at_version", "_row_last_updated_at_version"]


def rows(*ids: str, n: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids)}, schema=SCHEMA)


def commit(dataset: Any, operation: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=0
    )


def append(dataset: Any, *ids: str) -> Any:
    return commit(dataset, Op.Append(lance.fragment.write_fragments(rows(*ids), dataset)))


@pytest.fixture
def table(tmp_path: Path) -> Any:
    empty = lance.LanceDataset.commit(
        str(tmp_path / "t"), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    return append(empty, "a", "b", "c")


def identities(dataset: Any) -> dict[str, tuple[int, int, int]]:
    """Row id, version of birth, version of the last update, by key."""
    found = dataset.to_table(columns=IDENTITY, with_row_id=True).to_pylist()
    return {
        row["id"]: (
            row["_rowid"],
            row["_row_created_at_version"],
            row["_row_last_updated_at_version"],
        )
        for row in found
    }


def replace_b(dataset: Any, *, keep_row_id: bool) -> Any:
    new = lance.fragment.write_fragments(rows("b", n=9), dataset)
    if keep_row_id:
        row_id = identities(dataset)["b"][0]
        sequence = lance.fragment.RowIdSequence(pa.array([row_id], pa.uint64()))
        new[0].row_id_meta = sequence.to_inline_metadata()
    hidden = dataset.get_fragment(0).delete_rows([1])
    return commit(
        dataset,
        Op.Update(updated_fragments=[hidden], new_fragments=new, update_mode="rewrite_rows"),
    )


def test_a_replaced_row_keeps_its_id_and_birth_when_told_so(table: Any) -> None:
    before = identities(table)
    after = identities(replace_b(table, keep_row_id=True))
    assert after["b"] == (before["b"][0], before["b"][1], 3)
    assert after["a"] == before["a"]
    assert after["c"] == before["c"]


def test_a_replaced_row_is_a_new_row_otherwise(table: Any) -> None:
    after = identities(replace_b(table, keep_row_id=False))
    assert after["b"][0] not in {row_id for row_id, _, _ in identities(table).values()}


def test_row_ids_survive_compaction(table: Any) -> None:
    grown = append(append(table, "d"), "e")
    before = identities(grown)
    compact(grown)
    compacted = lance.dataset(table.uri)
    assert len(compacted.get_fragments()) == 1
    assert identities(compacted) == before


def test_row_ids_survive_restoration(table: Any) -> None:
    later = append(table, "d")
    assert identities(commit(later, Op.Restore(2))) == identities(table)


def test_an_overwrite_gives_new_row_ids(table: Any) -> None:
    new = lance.fragment.write_fragments(rows("a"), table, mode="overwrite")
    after = commit(table, Op.Overwrite(SCHEMA, new))
    assert identities(after)["a"][0] == 3


def test_adding_columns_touches_the_last_update_of_every_row(table: Any) -> None:
    """Why the change feed cannot trust it alone across a schema change."""
    merged, schema = [], None
    for fragment in table.get_fragments():
        metadata, schema = fragment.merge_columns(
            lambda batch: pa.record_batch({"m": pa.array([1] * batch.num_rows)}), columns=["id"]
        )
        merged.append(metadata)
    after = commit(table, Op.Merge(merged, schema))
    assert {last for _, _, last in identities(after).values()} == {3}
    assert after.to_table(columns=["id", "m"])["m"].to_pylist() == [1, 1, 1]


def test_an_append_staged_before_a_column_was_added_reads_as_null(table: Any) -> None:
    staged = lance.fragment.write_fragments(rows("late"), table)
    table.add_columns(pa.schema([("m", pa.int64())]))
    newest = lance.dataset(table.uri)
    after = commit(newest, Op.Append(staged))
    assert after.to_table(filter="id = 'late'").to_pylist() == [{"id": "late", "n": 0, "m": None}]


def test_delete_rows_says_when_nothing_is_left(table: Any) -> None:
    fragment = table.get_fragment(0)
    assert fragment.delete_rows([0]).num_deletions == 1
    assert fragment.delete_rows([0, 1, 2]) is None


def test_delete_rows_keeps_earlier_deletions(table: Any) -> None:
    once = commit(table, Op.Delete([table.get_fragment(0).delete_rows([0])], [], ""))
    twice = commit(once, Op.Delete([once.get_fragment(0).delete_rows([1])], [], ""))
    assert twice.to_table(columns=["id"])["id"].to_pylist() == ["c"]


def test_deletions_staged_on_an_older_version_would_bring_rows_back(table: Any) -> None:
    """Why deletions are only committed on the version that they were staged on."""
    stale = table.get_fragment(0).delete_rows([1])
    once = commit(table, Op.Delete([table.get_fragment(0).delete_rows([0])], [], ""))
    undeleted = commit(once, Op.Delete([stale], [], ""))
    assert undeleted.to_table(columns=["id"])["id"].to_pylist() == ["a", "c"]


def staged_compaction(dataset: Any) -> list[Any]:
    return [task.execute(dataset) for task in Compaction.plan(dataset, {}).tasks]


def test_a_compaction_makes_two_versions(table: Any) -> None:
    grown = append(table, "d")
    base = grown.version
    Compaction.commit(grown, staged_compaction(grown))
    assert lance.dataset(table.uri).version == base + 2


def test_a_compaction_conflicts_with_a_restoration_until_it_is_reheaded(table: Any) -> None:
    grown = append(table, "d")
    results = staged_compaction(grown)
    append(grown, "orphan")
    restored = commit(lance.dataset(table.uri), Op.Restore(grown.version))
    with pytest.raises(OSError, match="incompatible"):
        Compaction.commit(lance.dataset(table.uri), results)
    restored = commit(lance.dataset(table.uri), Op.Restore(grown.version))
    base = restored.version
    Compaction.commit(restored, [rehead(result, base) for result in results])
    after = lance.dataset(table.uri)
    assert after.version == base + 2
    assert after.to_table(columns=["id"])["id"].to_pylist() == ["a", "b", "c", "d"]


def rehead(result: Any, version: int) -> Any:
    body = json.loads(result.json())
    body["read_version"] = version
    return RewriteResult.from_json(json.dumps(body))


def compact(dataset: Any) -> None:
    plan = Compaction.plan(dataset, {})
    Compaction.commit(dataset, [task.execute(dataset) for task in plan.tasks])


def test_blobs_survive_compaction_and_replacement_beside_them(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), lance.blob_field("b")])
    values = [b"small", None, b"m" * 100_000, b"l" * 5_000_000]
    dataset = lance.LanceDataset.commit(
        str(tmp_path / "blobs"),
        Op.Overwrite(schema, []),
        read_version=0,
        enable_stable_row_ids=True,
    )
    for name, value in zip("abcd", values, strict=True):
        part = pa.table([pa.array([name]), lance.blob_array([value])], schema=schema)
        dataset = commit(dataset, Op.Append(lance.fragment.write_fragments(part, dataset)))
    compact(dataset)
    after = lance.dataset(dataset.uri)
    assert len(after.get_fragments()) == 1
    assert after.to_table(blob_handling="all_binary")["b"].to_pylist() == values
    after.cleanup_old_versions(versions=list(range(1, after.version)))
    assert (
        lance.dataset(dataset.uri).to_table(blob_handling="all_binary")["b"].to_pylist() == values
    )


def test_blobs_need_the_file_format_that_new_tables_get(table: Any) -> None:
    assert table.data_storage_version == "2.2"


def test_a_delta_tells_inserted_updated_and_deleted_rows(table: Any) -> None:
    changed = append(replace_b(table, keep_row_id=True), "d")
    gone = commit(changed, Op.Delete([changed.get_fragment(0).delete_rows([0])], [], ""))
    delta = gone.delta(compared_against=2)

    def keys(reader: Any) -> list[str]:
        return [row["id"] for batch in reader for row in batch.to_pylist()]

    assert keys(delta.get_inserted_rows()) == ["d"]
    assert keys(delta.get_updated_rows()) == ["b"]
