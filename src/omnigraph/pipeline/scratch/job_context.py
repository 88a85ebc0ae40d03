"""The context of a job, and intermediate rows in scratch files that live until the job ends."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.frozen import frozen
from omnigraph.pipeline.scratch.row_chunks import RECORD, SCRATCH, write_scratch
from omnigraph.pipeline.spark.tasks import decode_result, encode_result
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["JobContext", "ScratchFile", "StoredRows"]

_CHUNK_MASK = -(1 << 32)


@frozen
class ScratchFile:
    """A scratch file: the kind of its rows, their type, and their chunk, if they share one."""

    key: str
    rows: int
    what: str
    t: int
    chunk: int | None = None


@frozen
class StoredRows:
    """Rows of one kind in scratch files, by type and chunk."""

    files: tuple[ScratchFile, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def of(self, t: int) -> StoredRows:
        """Return the rows of one type."""
        return StoredRows(tuple(file for file in self.files if file.t == t))

    def keys_of(self, t: int, chunk: int) -> tuple[str, ...]:
        """Return the files with the rows of one type and one chunk."""
        return tuple(file.key for file in self.files if (file.t, file.chunk) == (t, chunk))


@frozen
class JobContext:
    """The session, the graph and the id of one job."""

    spark: SparkSession
    location: GraphLocation
    job: str

    def scratch(self) -> str:
        """Return a new prefix for scratch files of this job."""
        return f"{SCRATCH}/{self.job}/{new_short_id()}"

    def store(self, frame: DataFrame, *, parts: int) -> dict[str, StoredRows]:
        """Compute a frame with the columns ``what``, ``t`` and ``record`` and store its rows.

        Unlike ``persist``, a file takes no memory of Spark and survives the loss of an executor. A
        frame of many ``parts`` is sorted by chunk first, so that there are no more files than
        chunks.
        """
        if parts > _PARTS_APART_MAX:
            frame = frame.repartition("what", "t", frame[RECORD].bitwiseAND(_CHUNK_MASK))
        results = decode_result(
            frame.mapInArrow(partial(_write, self.location, self.scratch()), "result string")
        )
        files = [ScratchFile(*file) for result in results for file in result["files"]]
        kinds = dict.fromkeys(file.what for file in files)
        return {what: StoredRows(tuple(f for f in files if f.what == what)) for what in kinds}


# Up to so many tasks may each write files about every chunk.
_PARTS_APART_MAX = 8


def _write(
    location: GraphLocation, prefix: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    found = [batch for batch in batches if batch.num_rows]
    files = []
    if found:
        for what, t, chunk, rows in _grouped(pa.Table.from_batches(found)):
            key = f"{prefix}.{new_short_id()}"
            write_scratch(location, key, rows)
            files.append((key, rows.num_rows, what, t, chunk))
    yield encode_result({"files": files})


def _grouped(rows: pa.Table) -> Iterator[tuple[str, int, int | None, pa.Table]]:
    """Group rows by kind, type, and the chunk of their record."""
    rows = rows.sort_by([(name, "ascending") for name in ("what", "t", RECORD)])
    kinds = rows.column("what").combine_chunks().dictionary_encode()
    what, t = kinds.indices.to_numpy(), rows.column("t").to_numpy()
    chunks = rows.column(RECORD).fill_null(-1).to_numpy() >> 32
    changes = (np.diff(what) != 0) | (np.diff(t) != 0) | (np.diff(chunks) != 0)
    for start, end in pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), rows.num_rows]):
        chunk = int(chunks[start]) if chunks[start] >= 0 else None
        kind = kinds.dictionary[int(what[start])].as_py()
        yield kind, int(t[start]), chunk, rows.slice(start, end - start)
