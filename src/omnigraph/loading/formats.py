"""Tabular inputs (CSV, Parquet, Arrow, data frames) as streams of batches."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.catalog.model import ENDPOINTS, ID
from omnigraph.frozen import frozen
from omnigraph.integrity.violations import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import EntityType
    from omnigraph.loading.byte_streams import Stream

__all__ = [
    "FORMATS",
    "CsvFile",
    "CsvPart",
    "arrow_batches",
    "format_of",
    "frame_batches",
    "is_frame",
    "is_lance",
    "is_pandas",
    "pandas_records",
    "pandas_table",
    "parquet_batches",
]

FORMATS = ("ndjson", "csv", "parquet", "arrow", "lance")

_BY_SUFFIX = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_BY_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}
_PACKED = (".gz", ".zst", ".zstd")
_BATCH_ROWS = 65_536
# A file with more bad rows than this is probably the wrong file.
_SKIPPED_MAX = 1_000
_TAIL_BYTES = 256


def format_of(name: str | None, first: bytes) -> str:
    """Detect the format of a file by its name, else by its first bytes; JSON otherwise."""
    if name is not None:
        suffixes = [end.lower() for end in PurePath(name).suffixes if end.lower() not in _PACKED]
        if suffixes and suffixes[-1] in _BY_SUFFIX:
            return _BY_SUFFIX[suffixes[-1]]
    return next((kind for magic, kind in _BY_MAGIC.items() if first.startswith(magic)), "ndjson")


def is_lance(source: Any, format: str | None) -> bool:  # noqa: A002 - the name of the option
    """Return whether an input is a Lance dataset or file, which the store opens."""
    if not isinstance(source, str | PurePath):
        return False
    return PurePath(source).suffix.lower() == ".lance" if format is None else format == "lance"


def parquet_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """Read the rows of a Parquet file."""
    with pq.ParquetFile(source) as file:
        yield from file.iter_batches(_BATCH_ROWS)


def arrow_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """Read the rows of an Arrow file in either layout."""
    # Not memory-mapped: loaded values must not change with the file.
    opened = pa.OSFile(source) if isinstance(source, str) else pa.PythonFile(source, mode="r")
    with opened:
        try:
            reader = pa.ipc.open_file(opened)
        except pa.ArrowInvalid:
            opened.seek(0)
            yield from pa.ipc.open_stream(opened)
            return
        for at in range(reader.num_record_batches):
            yield reader.get_batch(at)


def is_frame(source: Any) -> bool:
    """Return whether a value is a table in memory."""
    return isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or hasattr(
        source, "__arrow_c_stream__"
    )


def is_pandas(source: Any) -> bool:
    """Return whether a value is a pandas frame, without importing pandas."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "itertuples")


def pandas_table(source: Any) -> pa.Table | None:
    """Convert a pandas frame to a table; None if Arrow rejects a column."""
    try:
        # NaN is the missing value of pandas; the index is not a column.
        return pa.Table.from_pandas(source, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def pandas_records(source: Any) -> Iterator[dict[str, Any]]:
    """Read the rows of such a frame, one by one."""
    names = [str(name) for name in source.columns]
    for row in source.itertuples(index=False, name=None):
        yield {name: _given(value) for name, value in zip(names, row, strict=True)}


def _given(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    missing = type(value).__name__ in ("NAType", "NaTType")
    return None if missing or (isinstance(value, float) and math.isnan(value)) else value


def frame_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """Read the rows of an Arrow table, batch or reader, or of a polars frame."""
    if isinstance(source, pa.RecordBatch):
        yield source
    elif isinstance(source, pa.Table):
        yield from source.to_batches(_BATCH_ROWS)
    elif isinstance(source, pa.RecordBatchReader):
        yield from source
    else:
        yield from pa.RecordBatchReader.from_stream(source)


@frozen
class CsvPart:
    """Some rows of a CSV file; records count from 0 in the part."""

    rows: pa.RecordBatch
    records: np.ndarray
    count: int
    # The rows that were skipped.
    violations: tuple[Violation, ...]


class _QuoteCounter:
    """Counts the quotes of a stream, because the parser reads an unclosed quote as a long cell."""

    closed = False

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = 0
        self._tail = b""

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._count += data.count(b'"')
        self._tail = (self._tail + data[-_TAIL_BYTES:])[-_TAIL_BYTES:]
        return data

    def left_open(self, last_cell: bytes | None) -> bool:
        """Return whether the last cell extends to the end of the stream after an open quote."""
        if last_cell is None or self._count % 2 == 0:
            return False
        spelled = (b'"' + last_cell.replace(b'"', b'""'))[-_TAIL_BYTES:]
        return self._tail.endswith(spelled)


def _bytes(cell: Any) -> bytes | None:
    return cell if isinstance(cell, bytes) else None


class CsvFile:
    """The rows of a CSV file, with cells as bytes; an empty cell without quotes is NULL.

    A row with too many or too few cells is skipped and becomes a violation.
    """

    def __init__(self, stream: Stream, entity: EntityType, *, block_bytes: int) -> None:
        self._entity = entity
        # Skipped records, the number of them already reported, and the number of good records.
        self._skipped: list[int] = []
        self._texts: list[str] = []
        self._told = 0
        self._good = 0
        # The last cell of the last row.
        self._last: bytes | None = None
        names = (ID.name, *ENDPOINTS, *(prop.name for prop in entity.properties))
        self._quotes = _QuoteCounter(stream)
        self._reader = pcsv.open_csv(
            pa.PythonFile(self._quotes, mode="r"),
            # The multi-threaded parser does not number rows.
            pcsv.ReadOptions(use_threads=False, block_size=block_bytes),
            pcsv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._skip),
            pcsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
                check_utf8=False,
            ),
        )
        self.names: list[str] = self._reader.schema.names

    def chunks(self) -> Iterator[CsvPart]:
        """Return the rows in parts."""
        for batch in self._reader:
            if batch.num_rows and batch.num_columns:
                self._last = _bytes(batch.column(batch.num_columns - 1)[-1].as_py())
            yield self._rows_of(batch)
        if len(self._skipped) > self._told:
            yield self._rows_of(self._nothing())
        elif self._quotes.left_open(self._last):
            # Attributed to the row before: it contains everything after the quote.
            open_quote = Violation(
                "csv", "a quote is opened and never closed", type=self._entity.name, record=-1
            )
            yield replace(self._rows_of(self._nothing()), violations=(open_quote,))

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self._reader.schema)

    def _rows_of(self, batch: pa.RecordBatch) -> CsvPart:
        done = self._good + self._told
        records = np.arange(self._good, self._good + batch.num_rows)
        for skipped in self._skipped:
            records += records >= skipped
        fresh = self._skipped[self._told :]
        texts = self._texts[self._told :]
        self._good += batch.num_rows
        self._told += len(fresh)
        message = f"the number of cells differs from that of the header, {len(self.names)}"
        return CsvPart(
            batch,
            records - done,
            self._good + self._told - done,
            tuple(
                Violation("csv", message, type=self._entity.name, record=record - done, text=text)
                for record, text in zip(fresh, texts, strict=True)
            ),
        )

    def _skip(self, row: Any) -> str:
        # The parser counts the header as row 1.
        self._skipped.append(row.number - 2)
        self._texts.append(row.text)
        return "skip" if len(self._skipped) <= _SKIPPED_MAX else "error"
