"""Files of tables (CSV, Parquet, Arrow) and data frames as streams of batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.catalog.model import ENDPOINTS, ID
from omnigraph.integrity.violations import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import EntityType
    from omnigraph.operations.load.streams import Stream

__all__ = [
    "FORMATS",
    "CsvFile",
    "CsvPart",
    "arrow_batches",
    "format_of",
    "frame_batches",
    "is_frame",
    "parquet_batches",
]

FORMATS = ("ndjson", "csv", "parquet", "arrow")

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
# A file with more wrong rows than this is not the file that was meant.
_SKIPPED_MAX = 1_000


def format_of(name: str | None, first: bytes) -> str:
    """What a file is, by its name, else by its first bytes; JSON if nothing speaks against it."""
    if name is not None:
        suffixes = [end.lower() for end in PurePath(name).suffixes if end.lower() not in _PACKED]
        if suffixes and suffixes[-1] in _BY_SUFFIX:
            return _BY_SUFFIX[suffixes[-1]]
    return next((kind for magic, kind in _BY_MAGIC.items() if first.startswith(magic)), "ndjson")


def parquet_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file."""
    with pq.ParquetFile(source) as file:
        yield from file.iter_batches(_BATCH_ROWS)


def arrow_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """The rows of an Arrow file, of either layout."""
    # Not mapped: what is loaded must not change with the file.
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
    """Whether something is a table in memory."""
    return isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or hasattr(
        source, "__arrow_c_stream__"
    )


def frame_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """The rows of an Arrow table, batch or reader, or of a pandas or polars frame."""
    if isinstance(source, pa.RecordBatch):
        yield source
    elif isinstance(source, pa.Table):
        yield from source.to_batches(_BATCH_ROWS)
    elif type(source).__module__.partition(".")[0] == "pandas":
        # In pandas NaN is how a value is missing; the index is not a column.
        yield from pa.Table.from_pandas(source, preserve_index=False).to_batches(_BATCH_ROWS)
    elif isinstance(source, pa.RecordBatchReader):
        yield from source
    else:
        yield from pa.RecordBatchReader.from_stream(source)


@dataclass(frozen=True, slots=True)
class CsvPart:
    """Some rows of a CSV file; their records are counted from 0 in the part."""

    rows: pa.RecordBatch
    records: np.ndarray
    count: int
    # The rows that were left out.
    violations: tuple[Violation, ...]


class CsvFile:
    """The rows of a CSV file, every cell as bytes; an empty cell without quotes is NULL.

    A row with too many or too few cells is left out, and told.
    """

    def __init__(self, stream: Stream, entity: EntityType, *, block_bytes: int) -> None:
        self._entity = entity
        # Records that were left out, how many of them were told, and how many were good.
        self._skipped: list[int] = []
        self._told = 0
        self._good = 0
        names = (ID.name, *ENDPOINTS, *(prop.name for prop in entity.properties))
        self._reader = pcsv.open_csv(
            pa.PythonFile(stream, mode="r"),
            # With threads rows have no numbers.
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

    def parts(self) -> Iterator[CsvPart]:
        """The rows, some at a time."""
        for batch in self._reader:
            yield self._part(batch)
        if len(self._skipped) > self._told:
            yield self._part(pa.RecordBatch.from_pylist([], schema=self._reader.schema))

    def _part(self, batch: pa.RecordBatch) -> CsvPart:
        done = self._good + self._told
        records = np.arange(self._good, self._good + batch.num_rows)
        for skipped in self._skipped:
            records += records >= skipped
        fresh = self._skipped[self._told :]
        self._good += batch.num_rows
        self._told += len(fresh)
        message = f"the row has not as many cells as the header, {len(self.names)}"
        return CsvPart(
            batch,
            records - done,
            self._good + self._told - done,
            tuple(
                Violation("csv", message, type=self._entity.name, record=record - done)
                for record in fresh
            ),
        )

    def _skip(self, row: Any) -> str:
        # The first row is the header.
        self._skipped.append(row.number - 2)
        return "skip" if len(self._skipped) <= _SKIPPED_MAX else "error"
