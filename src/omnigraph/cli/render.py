"""Format results as tables, key-value blocks, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, assert_never

from omnigraph.cli.terminal import (
    cell_width,
    escape_controls,
    shorten,
    supports_unicode,
    terminal_width,
)
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

__all__ = ["Format", "RenderedPage", "Rows", "block", "page_of", "plural", "render_rows", "table"]

# A single long cell must not take the whole screen.
COLUMN_WIDTH_MAX = 80
# Below this width, each row becomes a block.
COLUMN_WIDTH_MIN = 6
_GAP = "  "


class Format(StrEnum):
    """Output formats of rows."""

    TABLE = "table"
    KV = "kv"
    CSV = "csv"
    JSONL = "jsonl"
    JSON = "json"


@frozen
class RenderedPage:
    """The output area of lines; ``columns`` None is unlimited."""

    columns: int | None = None
    unicode: bool = True
    # Maximum width of a column; None is the default.
    cell_max: int | None = None
    # Whether long cells are wrapped or truncated.
    wraps: bool = False

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."


def page_of(stream: TextIO | None) -> RenderedPage:
    """Return the page of a stream."""
    return RenderedPage(terminal_width(stream), supports_unicode(stream))


@frozen
class Rows:
    """Rows of wire values (see ``to_wire``) with their metadata."""

    names: Sequence[str]
    values: Sequence[Sequence[Any]]
    # The other fields of the JSON output.
    about: dict[str, Any]


def render_rows(rows: Rows, layout: Format, page: RenderedPage) -> Iterator[str]:
    """Format rows."""
    match layout:
        case Format.TABLE:
            yield from table(rows.names, rows.values, page)
            yield f"({plural(len(rows.values), 'row')})"
        case Format.KV:
            yield from _records(rows.names, rows.values)
        case Format.CSV:
            yield from _csv(rows)
        case Format.JSONL:
            yield _compact({"kind": "metadata", **rows.about}, page)
            for row in rows.values:
                yield _compact(dict(zip(rows.names, row, strict=True)), page)
        case Format.JSON:
            listed = [dict(zip(rows.names, row, strict=True)) for row in rows.values]
            yield json.dumps(
                {**rows.about, "rows": listed}, indent=2, ensure_ascii=not page.unicode
            )
        case _:
            assert_never(layout)


def table(names: Sequence[str], rows: Sequence[Sequence[Any]], page: RenderedPage) -> Iterator[str]:
    """Format aligned columns that fit the page, or else one block per row."""
    cells = [[_cell(value) for value in row] for row in rows]
    heads = [escape_controls(name) for name in names]
    natural = [_widest(column) for column in zip(heads, *cells, strict=True)]
    widths = _fit(natural, page.columns, page.cell_max or COLUMN_WIDTH_MAX)
    if widths is None:
        yield from _records(names, rows)
        return
    numeric = [_is_numeric(column) for column in zip(*rows, strict=True)] or [False] * len(names)
    layout = [*zip(widths, numeric, strict=True)]
    yield _line(heads, layout, page)
    yield _GAP.join("-" * width for width in widths)
    for row in cells:
        yield from _wrapped(row, layout, page) if page.wraps else [_line(row, layout, page)]


def _records(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Format each row as a block of ``name: value`` lines."""
    for number, row in enumerate(rows, 1):
        yield f"-- {number}"
        for name, value in zip(names, row, strict=True):
            yield f"{escape_controls(name)}: {_cell(value)}"


def block(pairs: Iterable[tuple[str, Any]], page: RenderedPage) -> Iterator[str]:
    """Format named values line by line, without None.

    A value that does not fit beside its name follows below it in full, so that it can be copied.
    """
    shown = [(name, _cell(value)) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, text in shown:
        if page.columns is None or width + len(_GAP) + cell_width(text) <= page.columns:
            yield f"{name:<{width}}{_GAP}{text}"
            continue
        yield name
        for line in _wrap_cell(text, max(1, page.columns - len(_GAP))):
            yield _GAP + line


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _cell(value: Any) -> str:
    """Format a wire value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return escape_controls(value)
        case int() | float():
            return str(value)
        case _:
            return escape_controls(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _widest(cells: Iterable[str]) -> int:
    return max(map(cell_width, cells), default=0)


def _fit(natural: Sequence[int], columns: int | None, cell_max: int) -> list[int] | None:
    """Shrink the widest columns until all fit; None if they cannot."""
    widths = [min(width, cell_max) for width in natural]
    if columns is None:
        return widths
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - columns
    while excess > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= COLUMN_WIDTH_MIN:
            return None
        widths[widest] -= 1
        excess -= 1
    return widths


def _wrapped(
    cells: Sequence[str], layout: Sequence[tuple[int, bool]], page: RenderedPage
) -> Iterator[str]:
    """Format a row with wrapped cells."""
    wrapped = [[*_wrap_cell(cell, width)] for cell, (width, _) in zip(cells, layout, strict=True)]
    for line in zip_longest(*wrapped, fillvalue=""):
        yield _line(line, layout, page)


def _wrap_cell(cell: str, width: int) -> Iterator[str]:
    """Split a cell by width; a character wider than its column is a line."""
    while cell_width(cell) > width:
        head = shorten(cell, width, mark="") or cell[:1]
        yield head
        cell = cell[len(head) :]
    yield cell


def _line(cells: Sequence[str], layout: Sequence[tuple[int, bool]], page: RenderedPage) -> str:
    shown = []
    for cell, (width, numeric) in zip(cells, layout, strict=True):
        text = shorten(cell, width, mark=page.ellipsis)
        padding = " " * (width - cell_width(text))
        shown.append(padding + text if numeric else text + padding)
    return _GAP.join(shown).rstrip()


def _is_numeric(column: Sequence[Any]) -> bool:
    present = [value for value in column if value is not None]
    return bool(present) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in present
    )


def _csv(rows: Rows) -> Iterator[str]:
    for row in (rows.names, *rows.values):
        buffer = io.StringIO()
        # The writer quotes only the characters of its own line terminator, so it needs both.
        csv.writer(buffer, lineterminator="\r\n").writerow([_csv_cell(value) for value in row])
        yield buffer.getvalue().removesuffix("\r\n")


def _csv_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _compact(body: dict[str, Any], page: RenderedPage) -> str:
    return json.dumps(body, ensure_ascii=not page.unicode, separators=(",", ":"))
