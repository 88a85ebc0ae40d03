"""Render rows as an HTML table."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.notebook.markup import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["html_table"]

ROWS_MAX = 50
CELL_CHARS_MAX = 200
# Wrap long texts to keep space for the other columns.
_FIT = "max-width:40em;overflow-wrap:anywhere"


def html_table(names: Sequence[str], rows: Iterable[Sequence[Any]], *, note: str) -> str:
    """Render the first rows of JSON values, with ``note`` below."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, ROWS_MAX))
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<small>{escape(note)}</small>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "<td><em>null</em></td>"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = text if len(text) <= CELL_CHARS_MAX else f"{text[:CELL_CHARS_MAX]}…"
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<td style="text-align:{side};{_FIT}">{escape(cut)}</td>'
