"""Staging of a load: executors write data files and deletion vectors, the driver combines them.

New rows and replacement rows are written chunk by chunk. Deleted rows are identified by address,
all of one fragment in one task. Only descriptions of files reach the driver. A failed or duplicate
task leaves files behind that nothing refers to.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.frozen import frozen
from omnigraph.integrity.unnamed import UNNAMED
from omnigraph.pipeline.scratch.row_chunks import RECORD, read_column, read_scratch
from omnigraph.pipeline.spark.tasks import decode_result, encode_result, map_tasks, run_tasks
from omnigraph.ports.tables import Staged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from omnigraph.pipeline.scratch.job_context import StoredRows
    from omnigraph.pipeline.scratch.row_chunks import TypeChunk
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.ports.tables import Pin

__all__ = ["StagedBundle", "StagingSource", "bundle", "stage_bundles", "stage_deletion_vectors"]

# A fragment of this size is large enough to scan well and small enough to rewrite.
_BUNDLE_ROWS_MAX = 1_048_576
_BUNDLE_BYTES_MAX = 256 * 2**20
_FRAGMENT_MASK = -(1 << 32)
_DELETED_ROWS = pa.schema([("t", pa.int32()), ("address", pa.int64())])


@frozen
class StagingSource:
    """The rows of one chunk, with the files that list excluded records."""

    chunk: TypeChunk
    excluded: tuple[str, ...] = ()


@frozen
class StagedBundle:
    """The work of one staging task: some chunks of one type, in order."""

    pin: Pin
    sources: tuple[StagingSource, ...]
    overwrite: bool = False


def bundle(pin: Pin, sources: Iterable[StagingSource], *, overwrite: bool) -> list[StagedBundle]:
    """Combine chunks up to the size of a good fragment."""
    bundles: list[StagedBundle] = []
    waiting: list[StagingSource] = []
    rows = size = 0
    for source in sources:
        rows, size = rows + source.chunk.count, size + source.chunk.size
        if waiting and (rows > _BUNDLE_ROWS_MAX or size > _BUNDLE_BYTES_MAX):
            bundles.append(StagedBundle(pin, tuple(waiting), overwrite))
            waiting, rows, size = [], source.chunk.count, source.chunk.size
        waiting.append(source)
    if waiting:
        bundles.append(StagedBundle(pin, tuple(waiting), overwrite))
    return bundles


def stage_bundles(
    spark: SparkSession, location: GraphLocation, bundles: list[StagedBundle]
) -> dict[StagedBundle, Staged | None]:
    """Write the rows of bundles, one task each."""
    numbered = list(enumerate(bundles))
    results = run_tasks(spark, numbered, partial(_stage_bundle, location))
    found = {result["bundle"]: result["staged"] for result in results}
    return {
        item: None if found[number] is None else Staged.from_json(found[number])
        for number, item in numbered
    }


def stage_deletion_vectors(
    spark: SparkSession, location: GraphLocation, pins: Mapping[int, Pin], going: StoredRows
) -> dict[int, list[Staged]]:
    """Stage deletion vectors for rows of the branch, by type."""
    keys = [file.key for file in going.files]
    frame = map_tasks(spark, keys, partial(_read_addresses, location), "t int, address bigint")
    fragment = frame["address"].bitwiseAND(_FRAGMENT_MASK)
    frame = frame.repartition("t", fragment)
    staged: dict[int, list[Staged]] = {}
    for result in decode_result(
        frame.mapInArrow(partial(_stage_deletions, location, pins), "result string")
    ):
        staged.setdefault(result["t"], []).append(Staged.from_json(result["staged"]))
    return staged


# --- on executors ------------------------------------------------------------------------------


def _stage_bundle(location: GraphLocation, item: tuple[int, StagedBundle]) -> dict[str, Any]:
    number, wanted = item
    table = location.tables.open(wanted.pin)
    insert = pa.concat_tables([_read(location, source) for source in wanted.sources])
    staged: Staged | None
    if wanted.overwrite:
        staged = table.stage_overwrite(insert) if insert.num_rows else None
    else:
        staged = table.stage_partition(insert=insert)
    return {"bundle": number, "staged": None if staged is None else staged.to_json()}


def _read(location: GraphLocation, source: StagingSource) -> pa.Table:
    """Return the rows of a chunk; replacement rows are new rows as well."""
    rows = read_scratch(location, source.chunk.rows or "")
    if source.chunk.is_partial:
        # New rows: the defaults are in place of what they do not name.
        rows = rows.drop([UNNAMED])
    if not source.excluded:
        return rows
    records = read_scratch(location, source.chunk.keys).column(RECORD).to_numpy()
    keep = ~np.isin(records, read_column(location, source.excluded, RECORD))
    return rows.filter(pa.array(keep))


def _read_addresses(location: GraphLocation, key: str) -> Iterator[pa.RecordBatch]:
    yield from read_scratch(location, key).select(["t", "address"]).combine_chunks().to_batches()


def _stage_deletions(
    location: GraphLocation, pins: Mapping[int, Pin], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    rows = pa.Table.from_batches(batches, _DELETED_ROWS)
    types = rows.column("t").to_numpy()
    addresses = rows.column("address").to_numpy().astype(np.uint64)
    for t in np.unique(types).tolist():
        staged = location.tables.open(pins[t]).stage_partition(delete=addresses[types == t])
        if staged is not None:
            yield encode_result({"t": t, "staged": staged.to_json()})
