"""What is wrong with a row of a CSV file is told with the line on which it begins."""

from __future__ import annotations

import gzip
import io
import os
from typing import TYPE_CHECKING, Any

import pyarrow.csv as pcsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.loading import csv_lines
from omnigraph.loading.csv_lines import CsvLines
from omnigraph.runtime.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.graph import Graph

ODD = b'name,age\r\n\r\n"a\r\nb",1\r\n\r\nc,x\r\n"d\n\ne",y\r\nf"g,z\r\nh\r\n'


def lines_told(error: Any) -> list[tuple[int, int | None]]:
    return [(found["record"], found.get("line")) for found in error.details["violations"]]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_newlines_in_cells_and_blank_lines_are_counted(
    graph: Graph, tools: Any, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(pack(ODD))
    for source in (path, str(path), pack(ODD)):
        error = tools.refused(graph, source, type="Person", format="csv")
        assert lines_told(error) == [(2, 6), (3, 7), (4, 10), (5, 11)]


def test_rows_of_several_files_have_the_lines_of_their_own(
    graph: Graph, tools: Any, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"name,age\n{name},1\n\n{name}2,x\n")
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    error = tools.refused(graph, files, type="Person")
    assert lines_told(error) == [(2, 4), (4, 4)]
    assert [found["file"] for found in error.details["violations"]] == [str(file) for file in files]


def test_what_cannot_be_read_again_has_records_and_no_lines(
    graph: Graph, tools: Any, tmp_path: Path
) -> None:
    error = tools.refused(graph, io.BytesIO(ODD), type="Person", format="csv")
    assert lines_told(error) == [(2, None), (3, None), (4, None), (5, None)]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert CsvLines(pipe).line(0) is None, "and nobody waits for a pipe"


def test_a_file_that_changed_meanwhile_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")
    lines = CsvLines(path)
    assert lines.line(0) == 2
    path.write_bytes(b"a\n\n\n1\n")
    assert lines.line(0) is None


def test_a_row_that_is_too_long_has_its_line(
    make_graph: Callable[..., Graph], tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(
        "node Person {\n name: String @key\n}", limits=Limits(load_record_bytes_max=100)
    )
    error = tools.refused(graph, b"name\n\na\n" + b"b" * 150 + b"\n", type="Person", format="csv")
    assert (error.code, error.details["record"], error.details["line"]) == (
        "load.record_too_large",
        2,
        4,
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([b"1", b'"', b'""', b",", b"\n", b"\r", b"\r\n", b'"\n"', b"x"])))
def test_rows_are_those_of_the_parser(pieces: list[bytes]) -> None:
    data = b"a,b\n" + b"".join(pieces)
    skipped: list[Any] = []
    parsed = pcsv.open_csv(
        io.BytesIO(data),
        pcsv.ReadOptions(use_threads=False),
        pcsv.ParseOptions(newlines_in_values=True, invalid_row_handler=_skip_into(skipped)),
    ).read_all()
    expected = parsed.num_rows + len(skipped)
    for block_bytes in (2**22, 1, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_lines, "_BLOCK_BYTES", block_bytes)
            lines = CsvLines(data)
            found = [line for row in range(expected + 1) if (line := lines.line(row)) is not None]
        assert len(found) == expected
        assert all(line > 1 for line in found)
        assert sorted(set(found)) == found


def _skip_into(skipped: list[Any]) -> Callable[[Any], str]:
    def skip(row: Any) -> str:
        skipped.append(row)
        return "skip"

    return skip
