"""Answers as lines."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cli.render import Format, RenderedPage, Rows, block, plural, render_rows, table
from omnigraph.cli.terminal import cell_width

ROWS = Rows(
    ("name", "age", "tags"),
    [("Ada", 36, ["a", "b"]), ("José 東京", None, []), ("two\nlines", 7, None)],
    {"query_name": "people", "row_count": 3},
)


def lines(layout: Format, page: RenderedPage | None = None) -> list[str]:
    return list(render_rows(ROWS, layout, page or RenderedPage()))


def test_a_table_aligns_numbers_right_and_text_left() -> None:
    assert lines(Format.TABLE) == [
        "name         age  tags",
        "----------  ----  ---------",
        'Ada           36  ["a","b"]',
        "José 東京   null  []",
        "two\\nlines     7  null",
        "(3 rows)",
    ]


def test_a_table_without_rows_shows_its_columns() -> None:
    empty = Rows(("a", "b"), [], {})
    assert list(render_rows(empty, Format.TABLE, RenderedPage())) == ["a  b", "-  -", "(0 rows)"]


def test_csv_quotes_every_kind_of_line_end() -> None:
    odd = Rows(("a", "b"), [("x\ry", "x\r\ny"), ('say "x"', "a,b")], {})
    shown = list(render_rows(odd, Format.CSV, RenderedPage()))
    read = list(csv.reader(io.StringIO("\n".join(shown) + "\n", newline="")))
    assert read[1:] == [["x\ry", "x\r\ny"], ['say "x"', "a,b"]]


def test_a_table_without_columns_is_no_accident() -> None:
    assert list(table((), [], RenderedPage(10))) == ["", ""]


def test_cells_are_cut_on_a_narrow_page() -> None:
    wide = Rows(("text", "n"), [("x" * 50, 1)], {})
    shown = list(render_rows(wide, Format.TABLE, RenderedPage(columns=20)))
    assert shown[2] == "x" * 16 + "…  1"
    ascii_only = list(render_rows(wide, Format.TABLE, RenderedPage(columns=20, unicode=False)))
    assert ascii_only[2] == "x" * 14 + "...  1"


def test_a_page_too_narrow_for_columns_shows_records() -> None:
    names = tuple(f"column_{number}" for number in range(9))
    wide = Rows(names, [tuple("y" * 20 for _ in names)], {})
    shown = list(render_rows(wide, Format.TABLE, RenderedPage(columns=40)))
    assert shown[0] == "-- 1"
    assert shown[1] == f"column_0: {'y' * 20}"


def test_a_long_cell_leaves_room_for_its_neighbours() -> None:
    wide = Rows(("text", "n"), [("x" * 500, 1)], {})
    assert len(list(render_rows(wide, Format.TABLE, RenderedPage()))[2]) < 100


cells = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=60))


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=4
        )
    ),
    st.integers(40, 120),
)
def test_a_table_never_exceeds_its_page(rows: list[list[Any]], columns: int) -> None:
    names = [f"c{number}" for number in range(len(rows[0]))]
    shown = list(table(names, rows, RenderedPage(columns)))
    assert all(cell_width(line) <= columns for line in shown)
    assert len(shown) == len(rows) + 2


def test_key_values_name_every_cell() -> None:
    assert lines(Format.KV)[:4] == ["-- 1", "name: Ada", "age: 36", 'tags: ["a","b"]']


def test_csv_reads_back() -> None:
    read = list(csv.reader(io.StringIO("\n".join(lines(Format.CSV)) + "\n")))
    assert read == [
        ["name", "age", "tags"],
        ["Ada", "36", '["a","b"]'],
        ["José 東京", "", "[]"],
        ["two\nlines", "7", ""],
    ]


def test_json_lines_begin_with_what_is_known_of_the_rows() -> None:
    first, *rows = [json.loads(line) for line in lines(Format.JSONL)]
    assert first == {"kind": "metadata", "query_name": "people", "row_count": 3}
    assert rows[1] == {"name": "José 東京", "age": None, "tags": []}


@pytest.mark.parametrize("layout", [Format.JSON, Format.JSONL])
def test_json_is_ascii_where_the_page_is(layout: Format) -> None:
    text = "\n".join(lines(layout, RenderedPage(unicode=False)))
    assert text.isascii()
    assert "Jos\\u00e9" in text


def test_a_block_leaves_out_what_is_not_there() -> None:
    said = block([("graph", "x"), ("id", None), ("format", 2)], RenderedPage())
    assert list(said) == ["graph   x", "format  2"]
    assert list(block([], RenderedPage())) == []


def test_what_a_narrow_block_cannot_hold_beside_its_name_stands_below_it_whole() -> None:
    said = [("format", 2), ("schema", "0123456789abcdef")]
    assert list(block(said, RenderedPage(columns=12))) == [
        "format  2",
        "schema",
        "  0123456789",
        "  abcdef",
    ]


def test_counts_agree_with_their_noun() -> None:
    told = [plural(count, "row") for count in (0, 1, 2, 2000)]
    assert told == ["0 rows", "1 row", "2 rows", "2,000 rows"]
