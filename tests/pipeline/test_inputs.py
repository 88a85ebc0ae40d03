"""Which files there are to read, and how they are cut."""

from __future__ import annotations

import gzip
import json
import tempfile
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.adapters.lance import LanceTables
from omnigraph.errors import InvalidInput
from omnigraph.pipeline.inputs.splits import SPLIT_BYTES, list_files, open_section, plan_splits

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.pipeline.inputs.splits import Split

# Opens what is outside of its graph, wherever that is.
TABLES = LanceTables(tempfile.gettempdir())


def _plan(
    files: list[tuple[str, str | None]],
    *,
    format: str | None = None,  # noqa: A002 - the name of the option
    split_bytes: int = SPLIT_BYTES,
) -> list[Split]:
    return plan_splits(files, format=format, tables=TABLES, split_bytes=split_bytes)


def _read(path: Path, split_bytes: int) -> list[bytes]:
    splits = _plan([(str(path), None)], split_bytes=split_bytes)
    found = []
    for split in splits:
        for section in split.sections:
            source = open_section(section, TABLES)
            found.append(path.read_bytes() if isinstance(source, str) else source.read())
    return found


def test_paths_patterns_and_directories_become_files_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b.ndjson", "a.ndjson", "c.csv", "parts/part-1", "parts/_SUCCESS", "parts/.x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = list_files([tmp_path / "c.csv", f"{tmp_path}/*.ndjson", tmp_path / "parts"])
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == [
        "c.csv",
        "a.ndjson",
        "b.ndjson",
        "parts/part-1",
    ]
    assert list_files([f"{tmp_path}/**/part-*"]) == [f"{tmp_path}/parts/part-1"]


def test_a_path_without_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no file"):
        list_files([f"{tmp_path}/*.ndjson"])


def test_large_files_are_cut_between_records_and_small_ones_share_a_task(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in range(100)))
    parts = _read(path, 200)
    assert len(parts) > 3
    assert b"".join(parts) == path.read_bytes()
    assert all(part.startswith(b"{") and part.endswith(b"}\n") for part in parts)
    names = [tmp_path / f"{n}.ndjson" for n in range(10)]
    for name in names:
        name.write_text('{"n": 1}\n')
    splits = _plan([(str(name), None) for name in names], split_bytes=30)
    assert [len(split.sections) for split in splits] == [3, 3, 3, 1]
    assert [split.number for split in splits] == [0, 1, 2, 3]


@given(
    records=st.lists(
        st.dictionaries(st.text(max_size=3), st.text(max_size=5) | st.none(), max_size=3),
        min_size=1,
        max_size=12,
    ),
    indent=st.sampled_from([None, 1]),
    gap=st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
    split_bytes=st.integers(1, 60),
)
def test_however_records_are_printed_every_stretch_holds_whole_ones(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, str | None]],
    indent: int | None,
    gap: str,
    split_bytes: int,
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.ndjson"
    text = gap.join(json.dumps(record, indent=indent, ensure_ascii=False) for record in records)
    path.write_bytes(text.encode())
    found = []
    for part in _read(path, split_bytes):
        rest = part.decode().strip()
        while rest:
            value, end = json.JSONDecoder().raw_decode(rest)
            found.append(value)
            rest = rest[end:].lstrip()
    assert found == records


@pytest.mark.parametrize("name", ["a.ndjson.gz", "a.csv", "array.json"])
def test_what_cannot_be_cut_is_read_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = b'{"n": 1}\n' * 50
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else b"[" + text)
    splits = _plan([(str(path), None)], split_bytes=10)
    assert len(splits) == 1
    assert splits[0].sections[0].end is None


def test_parquet_is_cut_by_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = pa.table({"name": [f"n{n}" for n in range(1_000)]})
    pq.write_table(rows, path, row_group_size=100)
    splits = _plan([(str(path), "Person")], split_bytes=2_000)
    assert len(splits) > 2
    found = [
        open_section(section, TABLES).read_all() for split in splits for section in split.sections
    ]
    assert pa.concat_tables(found).equals(rows)


def test_a_lance_dataset_is_one_input_and_is_cut_by_fragments(tmp_path: Path) -> None:
    path = tmp_path / "a.lance"
    rows = pa.table({"name": [f"n{n}" for n in range(1_000)]})
    lance.write_dataset(rows, path, max_rows_per_file=100)
    assert list_files([tmp_path]) == list_files([path]) == [str(path)]
    splits = _plan([(str(path), "Person")], split_bytes=2_000)
    assert len(splits) > 2
    found = [
        open_section(section, TABLES).read_all() for split in splits for section in split.sections
    ]
    assert pa.concat_tables(found).equals(rows)


def test_a_file_that_became_shorter_is_not_read_as_if_it_were_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b'{"n": 1}\n' * 50)
    section = _plan([(str(path), None)], split_bytes=100)[-1].sections[0]
    path.write_bytes(b'{"n": 1}\n')
    with pytest.raises(InvalidInput, match="became shorter"):
        open_section(section, TABLES).read()
    path.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        open_section(section, TABLES)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a format"):
        _plan([], format="xml")
