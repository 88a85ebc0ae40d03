"""Results in every form that they can be handed over in."""

import datetime as dt
import json
import sys
from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omnigraph.api.results import QueryResult, ReadTarget
from omnigraph.api.wire_values import to_wire
from omnigraph.errors import Unsupported
from omnigraph.ir.queries import ResultColumn
from omnigraph.runtime.ids import CommitId

NOON = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


def small_result() -> QueryResult:
    table = pa.table(
        {
            "name": pa.array(["Ada", "Bo"]),
            "age": pa.array([36, None], pa.int64()),
            "born": pa.array([dt.date(1990, 1, 31), None]),
            "seen": pa.array([NOON, None], pa.timestamp("us", tz="UTC")),
            "p": pa.array([{"id": "ada", "big": 2**60}, {"id": "bo", "big": 1}]),
        }
    )
    kinds = {"name": "string", "age": "bigint", "born": "date", "seen": "datetime", "p": "object"}
    columns = tuple(ResultColumn(name, kind, nullable=True) for name, kind in kinds.items())
    return QueryResult("people", columns, table)


def test_rows_are_python_values() -> None:
    result = small_result()
    assert len(result) == 2
    assert result.rows() == list(result)
    assert result.rows()[0] == {
        "name": "Ada",
        "age": 36,
        "born": dt.date(1990, 1, 31),
        "seen": NOON,
        "p": {"id": "ada", "big": 2**60},
    }
    assert result.rows()[1]["age"] is None


def test_an_empty_result_keeps_its_columns() -> None:
    empty = QueryResult("none", small_result().columns, small_result().table.slice(0, 0))
    assert (len(empty), empty.rows(), empty.to_ndjson()) == (0, [], "")
    assert empty.to_pandas().columns.tolist() == ["name", "age", "born", "seen", "p"]


def test_the_snapshot_is_attached_without_touching_the_rows() -> None:
    commit = CommitId("01JC00000000000000000000AA")
    result = small_result().read_from(commit, ReadTarget(branch="main"))
    assert (result.commit_id, result.target) == (commit, ReadTarget(branch="main"))
    assert result.to_arrow() is not None
    assert result.rows() == small_result().rows()


def test_the_envelope_has_the_fields_of_the_wire_contract() -> None:
    body = small_result().to_json()
    assert list(body) == ["query_name", "target", "row_count", "columns", "rows"]
    assert (body["row_count"], body["target"]) == (2, {})
    commit = CommitId("01JC00000000000000000000AA")
    read = small_result().read_from(commit, ReadTarget(snapshot=str(commit))).to_json()
    assert read["graph_commit_id"] == commit
    assert read["target"] == {"snapshot": commit}
    json.dumps(read)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (True, True),
        (7, 7),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (2**64 - 1, "18446744073709551615"),
        (0.5, 0.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (dt.date(2026, 1, 31), "2026-01-31"),
        (NOON, "2026-11-01T12:00:00Z"),
        (NOON.replace(microsecond=250_000), "2026-11-01T12:00:00.25Z"),
        (NOON.astimezone(dt.timezone(dt.timedelta(hours=2))), "2026-11-01T12:00:00Z"),
        (b"hello", "base64:aGVsbG8="),
        ([1, None, 2**60], [1, None, "1152921504606846976"]),
        ({"a": {"b": 2**60}}, {"a": {"b": "1152921504606846976"}}),
        (None, None),
    ],
)
def test_the_wire_form_is_exact_for_every_json_reader(value: object, wire: object) -> None:
    assert to_wire(value) == wire


def test_ndjson_has_one_object_per_line_and_keeps_nulls_and_unicode() -> None:
    table = pa.table({"name": ["Zoë\n", None]})
    result = QueryResult("q", (ResultColumn("name", "string", nullable=True),), table)
    assert result.to_ndjson() == '{"name":"Zoë\\n"}\n{"name":null}\n'


def test_pandas_integers_stay_integers_beside_nulls() -> None:
    frame = small_result().to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert str(frame["age"].dtype) == "Int64"
    assert frame["age"].tolist() == [36, pd.NA]


def test_pandas_columns_without_nulls_are_plain() -> None:
    table = pa.table({"n": pa.array([1, 2], pa.int64())})
    frame = QueryResult("q", (ResultColumn("n", "bigint", nullable=False),), table).to_pandas()
    assert str(frame["n"].dtype) == "int64"


def test_polars_has_the_same_rows() -> None:
    frame = small_result().to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dicts() == small_result().rows()


@pytest.fixture
def without_polars() -> Iterator[None]:
    kept = {name: module for name, module in sys.modules.items() if name.startswith("polars")}
    for name in kept:
        del sys.modules[name]
    sys.modules["polars"] = None  # type: ignore[assignment]  # how Python spells "not importable"
    yield
    del sys.modules["polars"]
    sys.modules.update(kept)


@pytest.mark.usefixtures("without_polars")
def test_a_missing_library_is_named_with_its_remedy() -> None:
    with pytest.raises(Unsupported) as caught:
        small_result().to_polars()
    assert caught.value.code == "result.polars_missing"
    assert "pip install polars" in (caught.value.remedy or "")


def test_the_representation_is_short() -> None:
    assert repr(small_result()) == (
        "<QueryResult people (name: string, age: bigint, born: date, seen: datetime, p: object),"
        " 2 rows>"
    )
