"""Writes through the data source: the rows of a frame become one commit of one type.

Tasks type their rows and store them as chunks; the commit of the job reads those back and publishes
them like a load in process. It runs in a process without a Spark session, so the rows of one write
must fit its memory. ``pipeline.load`` has no such limit and accepts many types at once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.api.names import MAIN
from omnigraph.api.writes import LoadRequest, Mode, parse_mode
from omnigraph.errors import GraphError, InvalidInput
from omnigraph.graph.open import open_graph
from omnigraph.integrity.unnamed import UNNAMED
from omnigraph.integrity.violations import Report
from omnigraph.loading.batches import Batch, CollectedInput, Parsed
from omnigraph.loading.load import commit_load, find_base
from omnigraph.loading.tables import check_columns
from omnigraph.loading.writer import LoadWriter
from omnigraph.pipeline.inputs.chunk_reader import ReadParameters, read_rows
from omnigraph.pipeline.inputs.read_input import assemble
from omnigraph.pipeline.scratch.row_chunks import RECORD, SCRATCH, positions_of, read_scratch
from omnigraph.pipeline.scratch.violation_rows import to_violation
from omnigraph.pipeline.spark.columns import find_entity
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import pyarrow as pa

    from omnigraph.catalog.model import EntityType
    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.pipeline.inputs.read_input import ReadInput
    from omnigraph.pipeline.scratch.row_chunks import TypeChunk
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["GraphWriter"]


@dataclass
class TaskResult(WriterCommitMessage):
    """The result of one task."""

    result: dict[str, Any]


class GraphWriter(DataSourceArrowWriter):
    """Writes the rows of one type. ``mode`` is append, merge or overwrite."""

    def __init__(
        self,
        location: GraphLocation,
        options: dict[str, str],
        names: Sequence[str],
        *,
        overwrite: bool,
    ) -> None:
        self._location = location
        self._options = options
        self._mode = _mode_of(options.get("mode"), overwrite=overwrite)
        graph = self._open(read_only=True)
        graph.authorizer.load(self._branch, None, self._mode.value, whole=True)
        snapshot = graph.engine.snapshot(self._branch)
        self._schema = snapshot.manifest.commit.schema
        self._entity = find_entity(snapshot.catalog, options.get("type"))
        graph.authorizer.change(self._branch, types=[self._entity.name])
        limits = graph.engine.root.limits
        self._reading = ReadParameters(
            location, new_ulid(), snapshot.catalog, self._mode, limits, checks=False
        )
        _require_columns(self._entity, names)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        return TaskResult(read_rows(self._reading, self._entity, task, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Validate and publish all rows, once."""
        try:
            self._publish(
                [violations.result for violations in messages if isinstance(violations, TaskResult)]
            )
        finally:
            self._delete_scratch()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - Spark's
        self._delete_scratch()

    @property
    def _branch(self) -> str:
        return self._options.get("branch", MAIN)

    def _open(self, *, read_only: bool) -> EmbeddedGraph:
        location = self._location
        return open_graph(
            location.uri,
            read_only=read_only,
            storage_options=location.storage_options,
            policy=location.policy,
            actor=location.actor,
        )

    def _publish(self, results: list[dict[str, Any]]) -> None:
        options = self._options
        graph = self._open(read_only=False)
        graph.authorizer.load(self._branch, None, self._mode.value, whole=True)
        graph.authorizer.change(self._branch, types=[self._entity.name])
        request = LoadRequest(
            None,
            self._mode,
            self._branch,
            type=self._entity.name,
            actor=self._location.actor or options.get("actor"),
            message=options.get("message"),
            if_commit=options.get("if_commit"),
        )
        base = find_base(graph.engine, request)
        read_input = assemble(results, self._reading.catalog, [self._entity])
        collected = self._gather(read_input, graph.engine.root.limits.load_bytes_max)
        writer = LoadWriter(request, collected, self._schema)
        commit_load(graph.engine, request, base, writer, None)
        graph.close()

    def _gather(self, read_input: ReadInput, bytes_max: int) -> CollectedInput:
        """Read all chunks back into memory."""
        collected = CollectedInput(bytes_max=bytes_max)
        collected.name(self._entity)
        for chunk in read_input.chunks:
            batches = [
                Batch(self._entity, rows, places, part.generated, unnamed)
                for part in chunk.types
                for rows, places, unnamed in self._batches(part)
            ]
            collected.add(Parsed(chunk.records, tuple(batches)))
            shown = [to_violation(row) for row in chunk.shown]
            for rule, total in chunk.counts:
                violations = (
                    replace(found, record=read_input.number(found.record))
                    for found in shown
                    if found.rule == rule and found.record is not None
                )
                collected.report.add_many(rule, total, violations)
        return collected

    def _batches(
        self, part: TypeChunk
    ) -> Iterator[tuple[pa.RecordBatch, np.ndarray, pa.Array | None]]:
        places = positions_of(read_scratch(self._location, part.keys).column(RECORD).to_numpy())
        start = 0
        for batch in read_scratch(self._location, part.rows or "").combine_chunks().to_batches():
            unnamed = batch.column(UNNAMED) if part.is_partial else None
            rows = batch.select([name for name in batch.schema.names if name != UNNAMED])
            yield rows, places[start : start + batch.num_rows], unnamed
            start += batch.num_rows

    def _delete_scratch(self) -> None:
        with suppress(GraphError):
            self._location.objects.delete_prefix(f"{SCRATCH}/{self._reading.job}")


def _mode_of(option: str | None, *, overwrite: bool) -> Mode:
    """Combine Spark's mode with the option; Spark has no mode for merge."""
    mode = parse_mode(option or ("overwrite" if overwrite else "append"))
    if overwrite and mode is not Mode.OVERWRITE:
        raise InvalidInput(
            "source.two_modes",
            f"the writer's mode is overwrite, but its option is {mode}",
            remedy='for append and merge write .mode("append").option("mode", …)',
        )
    return mode


def _require_columns(entity: EntityType, names: Sequence[str]) -> None:
    report = Report()
    for violation in check_columns(entity, names):
        report.add(violation)
    report.raise_if_any()
