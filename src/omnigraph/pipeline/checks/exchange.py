"""Hash exchange: Spark shuffles rows by the hash of their key, Arrow computes on each bucket.

Rows go into buckets by the hash of their key. The rows of one task for one bucket travel as one
Arrow blob, and a function receives every bucket whole, as tables. For ten million keys against a
million this takes a third of the processor time of Spark's own join, which converts every row to a
row of the JVM; inside a bucket a rule runs the same few Arrow operations as in process.

A large table that few rows refer to is semi-joined before the shuffle: the tasks that read it
filter by the requested keys first, and only the matches travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import frozen
from omnigraph.pipeline.spark.batching import batched_by_weight
from omnigraph.pipeline.spark.tasks import map_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["KEY", "ExchangeInput", "Tables", "buckets_for", "exchange"]

# The column with the shuffle key: text, never null.
KEY = "key"
Tables = Mapping[str, pa.Table]

_ROWS_PER_BUCKET = 500_000
_BUCKETS_MAX = 1_024
# Small inputs share a task.
_ROWS_PER_TASK = 500_000
# Up to so many keys are sent to every task that reads a table that is so many times larger.
_FILTER_KEYS_MAX = 1_000_000
_TIMES_LARGER = 4
_BLOBS = "bucket int, name string, rows binary"


@frozen
class ExchangeInput:
    """Rows that enter an exchange. All inputs of one name have the same columns."""

    name: str
    rows: int
    # Runs on an executor; returns tables with a ``KEY`` column.
    read: Callable[[GraphLocation], Iterable[pa.Table]]
    # Rows matter only if their key occurs in an input without this flag (a semi-join).
    semi_join: bool = False


def buckets_for(inputs: Sequence[ExchangeInput]) -> int:
    """Return the number of buckets that keeps each at a size that one task holds easily."""
    filters = sum(item.rows for item in inputs if not item.semi_join)
    filtered_rows = sum(item.rows for item in inputs if item.semi_join)
    if _filter_inputs(inputs):
        filtered_rows = min(filtered_rows, _TIMES_LARGER * filters)
    rows = filters + filtered_rows
    return min(_BUCKETS_MAX, -(-max(rows, 1) // _ROWS_PER_BUCKET))


def exchange(
    spark: SparkSession,
    location: GraphLocation,
    inputs: Sequence[ExchangeInput],
    work: Callable[[GraphLocation, Tables], Iterable[pa.RecordBatch]],
    ddl: str,
) -> DataFrame:
    """Apply ``work`` to every bucket. An input without rows in a bucket is missing there."""
    count = buckets_for(inputs)
    tasks = list(batched_by_weight(inputs, lambda item: item.rows, _ROWS_PER_TASK))
    blobs = map_tasks(spark, tasks, partial(_emit, location, count, _filter_inputs(inputs)), _BLOBS)
    collected = blobs.repartitionById(count, "bucket")
    return collected.mapInArrow(partial(_collect, location, work), ddl)


def _filter_inputs(inputs: Sequence[ExchangeInput]) -> tuple[ExchangeInput, ...]:
    """Return the inputs whose keys filter the others before the shuffle; none if that does not
    pay."""
    filters = tuple(item for item in inputs if not item.semi_join)
    filter_rows = sum(item.rows for item in filters)
    filtered_rows = sum(item.rows for item in inputs if item.semi_join)
    return (
        filters
        if filter_rows <= _FILTER_KEYS_MAX and filter_rows * _TIMES_LARGER <= filtered_rows
        else ()
    )


# --- on executors ------------------------------------------------------------------------------


def _emit(
    location: GraphLocation,
    buckets: int,
    filters: tuple[ExchangeInput, ...],
    inputs: tuple[ExchangeInput, ...],
) -> Iterator[pa.RecordBatch]:
    indexed_columns = filters and any(item.semi_join for item in inputs)
    filter_rows = _keys(location, filters) if indexed_columns else None
    for item in inputs:
        for table in item.read(location):
            if item.semi_join and filter_rows is not None:
                table = table.filter(pc.is_in(table.column(KEY), value_set=filter_rows))  # noqa: PLW2901
            for bucket, rows in split(table, buckets):
                yield pa.record_batch(
                    {
                        "bucket": pa.array([bucket], pa.int32()),
                        "name": pa.array([item.name]),
                        "rows": pa.array([_pack(rows)], pa.binary()),
                    }
                )


def _keys(location: GraphLocation, inputs: Iterable[ExchangeInput]) -> pa.Array:
    found = [table.column(KEY) for item in inputs for table in item.read(location)]
    return pc.unique(
        pa.chunked_array([chunk for keys in found for chunk in keys.chunks], pa.string())
    )


def _collect(
    location: GraphLocation,
    work: Callable[[GraphLocation, Tables], Iterable[pa.RecordBatch]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Apply ``work`` to one partition, which is a bucket."""
    found: dict[str, list[pa.Table]] = {}
    for batch in batches:
        for name, rows in zip(batch.column("name").to_pylist(), batch.column("rows"), strict=True):
            found.setdefault(name, []).append(_unpack(rows))
    if found:
        yield from work(location, {name: pa.concat_tables(parts) for name, parts in found.items()})


def _pack(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def _unpack(blob: pa.BinaryScalar) -> pa.Table:
    return pa.ipc.open_stream(blob.as_buffer()).read_all()


def split(table: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Split a table into buckets; equal keys go to the same bucket."""
    if not table.num_rows:
        return
    if buckets == 1:
        yield 0, table
        return
    numbers = (hash_texts(table.column(KEY)) % np.uint64(buckets)).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(buckets + 1))
    table = table.take(pa.array(order))
    for bucket in range(buckets):
        start, end = int(bounds[bucket]), int(bounds[bucket + 1])
        if end > start:
            yield bucket, table.slice(start, end - start)


def hash_texts(texts: pa.ChunkedArray) -> np.ndarray:
    """Hash every text by its length and its first, middle and last eight bytes.

    The hash spreads ids and values evenly; nothing else relies on it.
    """
    text = pa.concat_arrays(texts.chunks)
    offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset :][: len(text) + 1]
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    # Eight bytes of padding on either side make a word readable at every position.
    data = np.zeros(int(ends[-1]) + 16, np.uint8)
    data[8:-8] = np.frombuffer(text.buffers()[2] or b"", np.uint8)[: int(ends[-1])]
    formatter = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    lengths = (ends - starts).astype(np.uint64)
    # A text shorter than a word shares it with its neighbours: shift their bytes out.
    excess = np.uint64(8) * (np.uint64(8) - np.minimum(lengths, np.uint64(8)))
    shift, is_empty = np.minimum(excess, np.uint64(63)), lengths == 0
    mixed = lengths * _ODD
    last = np.where(is_empty, np.uint64(0), formatter[ends] >> shift)
    first = np.where(is_empty, np.uint64(0), formatter[starts + 8] << shift)
    middle = formatter[np.where(lengths > 16, (starts + ends) // 2 + 4, starts + 8)]
    for word in (last, first, np.where(lengths > 16, middle, np.uint64(0))):
        mixed = (mixed ^ word) * _ODD
        mixed ^= mixed >> np.uint64(29)
    return mixed ^ (mixed >> np.uint64(32))


_ODD = np.uint64(0x9E3779B97F4A7C15)
