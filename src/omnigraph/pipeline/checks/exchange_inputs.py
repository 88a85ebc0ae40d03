"""Inputs of an exchange: keys of the load, rows of a table, rows stored by an earlier step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.pipeline.checks.exchange import ExchangeInput
from omnigraph.pipeline.scratch.row_chunks import comparable_column, read_effective, read_scratch
from omnigraph.pipeline.spark.batching import batched_by_weight
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from omnigraph.pipeline.scratch.job_context import StoredRows
    from omnigraph.pipeline.scratch.row_chunks import TypeChunk
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.ports.tables import Pin, Table

__all__ = ["ADDRESS", "branch_inputs", "key_input", "key_text", "stored_inputs"]

# The column with the position of a row in its table.
ADDRESS = "address"

_ROWS_PER_FEED = 500_000
_PLACES = {ADDRESS: ROW_ADDRESS}

# The source of each column of an input. Several columns are encoded as one text; rows with a NULL
# among them are left out.
Columns = Mapping[str, str | tuple[str, ...]]


def key_input(
    name: str, part: TypeChunk, columns: Columns, excluded: tuple[str, ...]
) -> ExchangeInput:
    """Return the keys of one chunk, without the records that ``excluded`` files list."""
    return ExchangeInput(name, part.count, partial(_read_keys, part.keys, dict(columns), excluded))


def branch_inputs(
    name: str, table: Table, columns: Columns, *, semi_join: bool
) -> list[ExchangeInput]:
    """Return the rows of a table at its pin; ``ADDRESS`` may be among the columns."""
    parts = enumerate(table.fragments())
    inputs = []
    for group in batched_by_weight(parts, lambda part: part[1].rows, _ROWS_PER_FEED):
        read = partial(_read_branch, table.pin, dict(columns), tuple(place for place, _ in group))
        inputs.append(ExchangeInput(name, sum(part.rows for _, part in group), read, semi_join))
    return inputs


def stored_inputs(name: str, stored: StoredRows, columns: Columns) -> list[ExchangeInput]:
    """Return rows that an earlier step stored."""
    return [
        ExchangeInput(name, file.rows, partial(_read_stored, file.key, dict(columns)))
        for file in stored.files
    ]


# --- on executors ------------------------------------------------------------------------------


def _read_keys(
    key: str, columns: Columns, excluded: tuple[str, ...], location: GraphLocation
) -> Iterator[pa.Table]:
    yield _project(read_effective(location, key, excluded), columns)


def _read_branch(
    pin: Pin, columns: Columns, parts: tuple[int, ...], location: GraphLocation
) -> Iterator[pa.Table]:
    named = [(source,) if isinstance(source, str) else source for source in columns.values()]
    wanted = dict.fromkeys(column for group in named for column in group)
    places = [column for column in wanted if column in _PLACES]
    batches = location.tables.open(pin).batches(
        [column for column in wanted if column not in _PLACES],
        fragments=parts,
        row_addresses=ADDRESS in places,
    )
    # Tables stream small batches, and the operations below cost per batch, not per row.
    for some in batched_by_weight(batches, lambda batch: batch.num_rows, _ROWS_PER_FEED):
        batch = pa.concat_batches(some)
        rows = {
            name: batch.column(_PLACES[name]).cast(pa.int64())
            if name in places
            else comparable_column(batch.column(name))
            for name in wanted
        }
        yield _project(pa.table(rows), columns)


def _read_stored(key: str, columns: Columns, location: GraphLocation) -> Iterator[pa.Table]:
    yield _project(read_scratch(location, key), columns)


def _project(rows: pa.Table, columns: Columns) -> pa.Table:
    shaped = pa.table(
        {
            name: rows.column(source) if isinstance(source, str) else key_text(rows, source)
            for name, source in columns.items()
        }
    )
    for name, source in columns.items():
        if not isinstance(source, str):
            shaped = shaped.filter(pc.is_valid(shaped.column(name)))
    return shaped


def key_text(rows: pa.Table, columns: tuple[str, ...]) -> pa.ChunkedArray:
    """Encode several values as one text, injectively; NULL if one of them is NULL."""
    texts = [_text(rows.column(column)) for column in columns]
    if len(texts) == 1:
        return texts[0]
    # Lengths keep "a" and "bc" apart from "ab" and "c".
    parts = [part for text in texts for part in (pc.utf8_length(text).cast(pa.string()), text)]
    return pc.binary_join_element_wise(*parts, ":")


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.cast(pa.string())
