"""A file by the writer of single files is, to a table, like one by the writer of tables."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.staging.small_files import is_small, write_small

if TYPE_CHECKING:
    from collections.abc import Callable

lance = load_lance()
Op = lance.LanceOperation

MOMENT = pa.timestamp("us", "UTC")
ROWS = pa.table(
    {
        "id": pa.array(["a", "ß", ""], pa.string()),
        "whole": pa.array([1, None, -(2**63)], pa.int64()),
        "small": pa.array([1, None, 2**32 - 1], pa.uint32()),
        "real": pa.array([1.5, None, float("-inf")], pa.float64()),
        "single": pa.array([1.5, None, 0.0], pa.float32()),
        "yes": pa.array([True, None, False]),
        "bytes": pa.array([b"\0", None, b""], pa.large_binary()),
        "day": pa.array([1, None, -1], pa.date32()),
        "moment": pa.array(
            [datetime(2026, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "UTC")
        ),
        "exact": pa.array([Decimal("1.50"), None, None], pa.decimal128(10, 2)),
        "nothing": pa.array([None, None, None], pa.string()),
    },
    schema=pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata={"p": "1"}),
            ("whole", pa.int64()),
            ("small", pa.uint32()),
            ("real", pa.float64()),
            ("single", pa.float32()),
            ("yes", pa.bool_()),
            ("bytes", pa.large_binary()),
            ("day", pa.date32()),
            ("moment", MOMENT),
            ("exact", pa.decimal128(10, 2)),
            ("nothing", pa.string()),
        ]
    ),
)


def by_tables(dataset: Any, rows: pa.Table) -> Any:
    (fragment,) = lance.fragment.write_fragments(rows, dataset)
    return fragment


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    return lance.write_dataset(ROWS, tmp_path / "t", enable_stable_row_ids=True)


def appended(dataset: Any, fragment: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, Op.Append([fragment]), read_version=dataset.version, max_retries=0
    )


def test_the_same_is_said_of_both(dataset: Any) -> None:
    assert is_small(dataset, ROWS)
    one, other = write_small(dataset, ROWS).to_json(), by_tables(dataset, ROWS).to_json()
    for body in (one, other):
        for file in body["files"]:
            del file["path"]
    assert one == other


def test_the_same_is_in_both(dataset: Any) -> None:
    one, other = (
        Path(dataset.uri, "data", write(dataset, ROWS).files[0].path).read_bytes()
        for write in (write_small, by_tables)
    )
    assert one == other


@pytest.mark.parametrize("write", [write_small, by_tables])
def test_rows_are_read_looked_up_deleted_indexed_and_compacted(
    dataset: Any, write: Callable[[Any, pa.Table], Any]
) -> None:
    dataset = appended(dataset, write(dataset, ROWS))
    assert dataset.to_table() == pa.concat_tables([ROWS, ROWS])
    assert dataset.to_table(filter="id = 'ß'").num_rows == 2
    assert dataset.take([4]).to_pylist() == ROWS.slice(1, 1).to_pylist()
    dataset.create_scalar_index("id", "BTREE")
    dataset = lance.dataset(dataset.uri)
    assert dataset.to_table(filter="id = 'a'", columns=["whole"])["whole"].to_pylist() == [1, 1]
    dataset.delete("whole = 1")
    dataset.optimize.compact_files()
    dataset = lance.dataset(dataset.uri)
    assert len(dataset.get_fragments()) == 1
    kept = ROWS.slice(1)
    assert dataset.to_table() == pa.concat_tables([kept, kept])


@pytest.mark.parametrize("write", [write_small, by_tables])
def test_columns_that_were_dropped_and_added_have_other_numbers(
    dataset: Any, write: Callable[[Any, pa.Table], Any]
) -> None:
    dataset.drop_columns(["whole", "day"])
    dataset.add_columns({"day": "cast(7 as bigint)"})
    dataset = lance.dataset(dataset.uri)
    rows = dataset.to_table()
    dataset = appended(dataset, write(dataset, rows))
    assert dataset.to_table() == pa.concat_tables([rows, rows])
    assert dataset.to_table(filter="day = 7").num_rows == 6


@pytest.mark.parametrize("write", [write_small, by_tables])
def test_an_overwrite_numbers_its_columns_anew(dataset: Any, write: Callable[..., Any]) -> None:
    dataset.drop_columns(["whole"])
    dataset.add_columns({"whole": "cast(7 as bigint)"})
    dataset = lance.dataset(dataset.uri)
    rows = dataset.to_table()
    for _ in range(2):
        if write is write_small:
            fragment = write_small(dataset, rows, overwrite=True)
        else:
            (fragment,) = lance.fragment.write_fragments(rows, dataset, mode="overwrite")
        overwrite = Op.Overwrite(rows.schema, [fragment])
        dataset = lance.LanceDataset.commit(dataset, overwrite, read_version=dataset.version)
        assert dataset.to_table() == rows


@pytest.mark.parametrize("name", ["a b", "a%20b", "ü", "a#b", "a?b=c", "a:b", "a+b&c", "~", "[x]"])
def test_strange_names_of_directories_are_taken_as_they_are(name: str, tmp_path: Path) -> None:
    rows = pa.table({"id": ["a"]})
    home = tmp_path / name / "t"
    dataset: Any = lance.write_dataset(rows, str(home))
    dataset = appended(dataset, write_small(dataset, rows))
    assert dataset.to_table().num_rows == 2
    assert len(list((home / "data").iterdir())) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["a"], [], None]),
        pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2)),
        pa.array([{"x": 1}, None, {"x": 2}]),
    ],
)
def test_nested_columns_are_left_to_the_writer_of_tables(column: pa.Array, tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b", "c"], "nested": column})
    dataset = lance.write_dataset(rows, tmp_path / "nested")
    assert not is_small(dataset, rows)


def test_many_rows_large_rows_and_rows_of_another_shape_are_left_to_it(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a"]})
    dataset = lance.write_dataset(rows, tmp_path / "t")
    assert is_small(dataset, rows)
    assert not is_small(dataset, pa.table({"id": ["a"] * 1_025}))
    assert not is_small(dataset, pa.table({"id": ["a" * 2**21]}))
    assert not is_small(dataset, pa.table({"id": pa.array(["a"], pa.large_string())}))
