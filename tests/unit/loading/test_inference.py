"""A schema drafted from data takes that data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.loading.inference import file_reader as read
from omnigraph.loading.inference import infer_schema

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["x", "", "2026-11-16", "2026-11-16T10:00:00Z", "2026-13-99", "00123", "true"]),
    st.lists(st.integers(0, 9), max_size=3),
)


def test_parquet_and_records_are_typed(tmp_path: Path) -> None:
    table = pa.table({"id": ["d1", "d2"], "n": pa.array([1, None], pa.int32()), "b": [b"x", b"y"]})
    pq.write_table(table, tmp_path / "docs.parquet")
    vector = [0.5] * 8
    records = [
        {"type": "Note", "data": {"code": "a", "vec": vector, "tags": ["x"], "meta": {"k": 1}}},
        {"edge": "About", "from": "a", "to": "d2", "data": {}},
        {"edge": "Lost", "from": "q", "to": "r"},
    ]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    draft = infer_schema([str(tmp_path / "docs.parquet"), str(tmp_path / "more.jsonl")])
    assert draft.counts == {"Docs": 2, "Note": 1, "About": 1, "Lost": 1}
    for line in (
        "    n: I64?\n    b: Blob\n",
        "    code: String @key\n    vec: Vector(8)\n    tags: [String]\n",
        "    // meta: its values are of several kinds, or nested",
        "edge About: Note -> Docs {",
        "edge Lost: Unknown -> Unknown {",
    ):
        assert line in draft.schema


@pytest.mark.parametrize("name", ["odd name", "é", "query", "_x", "id2", "from_"])
def test_names_that_the_language_does_not_allow_are_left_for_a_person(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({name: 1, "ok": 2}), encoding="utf-8")
    draft = infer_schema([str(tmp_path / "t.jsonl")])
    assert f"{name}: I64" in draft.schema
    assert "ok: I64" in draft.schema


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), min_size=1, max_size=6))
def test_a_draft_takes_its_own_data(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    file = tmp_path / "things.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    draft = infer_schema([str(file)])
    left_out = {name for name in ("a", "b") if f"// {name}:" in draft.schema}
    kept = [{key: row[key] for key in row if key not in left_out} for row in rows]
    place = tmp_path / f"g{len(list(tmp_path.iterdir()))}.omni"
    with omnigraph.init(place, draft.schema, durability="process") as graph:
        done = graph.load(kept, mode="append", type="Things", dry_run=True)
        assert done.total_nodes == len(rows)


@pytest.mark.parametrize("layout", ["csv", "jsonl", "json"])
def test_a_sample_is_read_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    monkeypatch.setattr(read, "ROWS_MAX", 50)
    records = [{"code": f"c{n}", "text": "long " * 40} for n in range(5_000)]
    lines = {
        "csv": "code,text\n" + "\n".join(",".join(row.values()) for row in records),
        "jsonl": "\n".join(map(json.dumps, records)),
        "json": json.dumps(records),
    }[layout]
    path = tmp_path / f"docs.{layout}"
    # Whoever reads on comes to what is no text at all.
    path.write_bytes(lines.encode() + b"\xff\xfe" * 1000)
    assert "code: String" in infer_schema([str(path)]).schema


def test_a_record_longer_than_what_is_read_at_once_is_found_whole(tmp_path: Path) -> None:
    path = tmp_path / "docs.json"
    records = [{"code": "x" * size} for size in (10, 500_000, 10, 70_000)]
    path.write_text(f"  {json.dumps(records, indent=1)} \n", encoding="utf-8")
    assert "code: String" in infer_schema([str(path)]).schema
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(omnigraph.errors.InvalidInput, match="line 11") as caught:
        infer_schema([str(path)])
    assert caught.value.code == "infer.bad_json"
