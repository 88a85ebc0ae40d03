"""How Lance takes another schema: what ``adapters.lance.staging.field_layout`` stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.staging.field_layout import FieldLayout, field_numbers, reshape

if TYPE_CHECKING:
    from pathlib import Path

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("n", pa.int32()),
        ("tags", pa.list_(pa.string())),
    ]
)


@pytest.fixture
def table(tmp_path: Path) -> Any:
    empty = lance.LanceDataset.commit(
        str(tmp_path / "t"), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    rows = pa.table({"id": ["a", "b"], "n": [1, None], "tags": [["x"], None]}, schema=SCHEMA)
    return commit(empty, Op.Append(lance.fragment.write_fragments(rows, empty)))


def commit(dataset: Any, operation: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=0
    )


def test_a_schema_comes_apart_and_together_again(table: Any) -> None:
    shape, numbers = reshape(table, table.schema, kept=table.schema.names, first=())
    again = FieldLayout.from_json(shape.to_json()).to_lance()
    assert again.to_pyarrow().equals(table.schema)
    assert field_numbers(again) == field_numbers(table.lance_schema)
    assert numbers == {}


def test_fields_are_numbered_depth_first_from_zero(table: Any) -> None:
    assert field_numbers(table.lance_schema) == {"id": (0,), "n": (1,), "tags": (2, 3)}
    assert table.max_field_id == 3


def test_new_fields_get_the_numbers_that_lance_would_give_them(table: Any) -> None:
    wanted = pa.schema([*SCHEMA, ("a", pa.list_(pa.int64())), ("b", pa.string())])
    _, numbers = reshape(table, wanted, kept=SCHEMA.names, first=("b", "a"))
    [fragment] = table.get_fragments()
    _, merged = fragment.merge_columns(
        lambda batch: pa.RecordBatch.from_arrays(
            [pa.nulls(batch.num_rows, pa.string()), pa.nulls(batch.num_rows, pa.list_(pa.int64()))],
            ["b", "a"],
        ),
        columns=["id"],
    )
    assert numbers == {"b": (4,), "a": (5, 6)}
    assert {name: field_numbers(merged)[name] for name in numbers} == numbers


def test_a_number_without_a_file_reads_as_null(table: Any) -> None:
    wanted = pa.schema([SCHEMA.field("id"), ("m", pa.int64()), SCHEMA.field("n")])
    shape, _ = reshape(table, wanted, kept=("id", "n"), first=())
    after = commit(table, Op.Project(shape.to_lance()))
    assert after.version == table.version + 1
    assert after.to_table().to_pylist() == [
        {"id": "a", "m": None, "n": 1},
        {"id": "b", "m": None, "n": None},
    ]
    after.validate()


def test_numbers_of_dropped_columns_are_not_given_again_while_files_hold_them(table: Any) -> None:
    shape, _ = reshape(table, pa.schema([SCHEMA.field("id")]), kept=("id",), first=())
    without = commit(table, Op.Project(shape.to_lance()))
    assert without.max_field_id == 3
    _, numbers = reshape(
        without, pa.schema([SCHEMA.field("id"), ("n", pa.int32())]), kept=("id",), first=()
    )
    assert numbers == {"n": (4,)}


def test_a_merge_marks_rows_as_updated_and_a_projection_does_not(table: Any) -> None:
    def updated(dataset: Any) -> set[int]:
        column = dataset.to_table(columns=["_row_last_updated_at_version"]).column(0)
        return set(column.to_pylist())

    wanted = pa.schema([*SCHEMA, ("m", pa.string())])
    shape, _ = reshape(table, wanted, kept=SCHEMA.names, first=("m",))
    projected = commit(table, Op.Project(shape.to_lance()))
    assert updated(projected) == updated(table)
    restored = commit(projected, Op.Restore(table.version))
    [fragment] = restored.get_fragments()
    filled, _ = fragment.merge_columns(
        lambda batch: batch.select(["id"]).rename_columns(["m"]), columns=["id"]
    )
    merged = commit(restored, Op.Merge([filled], shape.to_lance()))
    assert updated(merged) == {merged.version}
    assert merged.to_table(columns=["m"]).column(0).to_pylist() == ["a", "b"]
