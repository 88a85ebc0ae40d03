"""Loads on Spark: files of any number and size, or data frames, as one commit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.loading.load import commit_load, find_base
from omnigraph.loading.tables import check_columns
from omnigraph.pipeline.inputs.chunk_reader import (
    CHUNK_BYTES,
    ReadParameters,
    read_mapped,
    read_rows,
    read_split,
)
from omnigraph.pipeline.inputs.read_input import assemble
from omnigraph.pipeline.inputs.read_plan import plan_reading
from omnigraph.pipeline.job.load_job import ErrorHandling, LoadJob
from omnigraph.pipeline.scratch.job_context import JobContext
from omnigraph.pipeline.scratch.row_chunks import SCRATCH
from omnigraph.pipeline.spark.graph_location import GraphLocation
from omnigraph.pipeline.spark.progress import Stage, Stages
from omnigraph.pipeline.spark.tasks import decode_result, encode_result, run_tasks, share_of_tasks
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import is_ulid, new_ulid, ulid_micros
from omnigraph.runtime.limits import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.api.writes import LoadRequest, LoadResult
    from omnigraph.catalog.model import EntityType
    from omnigraph.pipeline.inputs.mapped_frames import MappedFrame
    from omnigraph.pipeline.inputs.read_input import ReadInput
    from omnigraph.pipeline.inputs.read_plan import ReadPlan
    from omnigraph.session.engine import Engine

__all__ = ["SparkLoadOptions", "SparkLoadResult", "load_on_spark"]


@frozen
class SparkLoadOptions:
    """Options of a load on Spark beyond those of every load."""

    split_bytes: int = 32 * 2**20
    chunk_bytes: int = CHUNK_BYTES
    watch: Callable[[Stage], None] | None = None
    error_handling: ErrorHandling = field(default_factory=ErrorHandling)
    # Authorises the types of the input, once they are known.
    allow: Callable[[Sequence[str]], None] | None = None


@frozen
class SparkLoadResult:
    """The result of a load and the duration of each stage."""

    load: LoadResult
    stages: tuple[Stage, ...]
    # With quarantine: the number of bad records and of violations, and the directory of the report.
    put_aside: int = 0
    violations: int = 0
    report: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            **self.load.to_json(),
            "engine": "spark",
            "put_aside": self.put_aside,
            "violations": self.violations,
            "report": self.report,
            "stages": [stage.to_json() for stage in self.stages],
        }


def load_on_spark(
    start: Callable[[], SparkSession],
    engine: Engine,
    request: LoadRequest,
    options: SparkLoadOptions | None = None,
) -> SparkLoadResult:
    """Load an input as one commit, or leave the graph as it is.

    ``start`` opens the session. It is called after every check that needs no Spark, so that a
    mistyped path fails before a JVM starts.
    """
    options = options or SparkLoadOptions()
    base = find_base(engine, request)
    location = GraphLocation.of(engine.root)
    plan = plan_reading(request, base.snapshot.catalog, location.tables, options.split_bytes)
    with engine.running.during("load", request.branch, request.actor):
        spark = start()
        context = JobContext(spark, location, new_ulid(engine.root.clock))
        stages = Stages(options.watch, share_of_tasks(spark))
        _remove_old_scratch(engine)
        try:
            with stages.running("read") as running:
                reading = ReadParameters(
                    location,
                    context.job,
                    base.snapshot.catalog,
                    request.mode,
                    engine.root.limits,
                    digest=request.idempotency_key is not None,
                    chunk_bytes=options.chunk_bytes,
                )
                read_input = _read(context, reading, plan)
                running.rows = read_input.records
            if options.allow is not None:
                options.allow(sorted(entity.name for entity in read_input.entities.values()))
            job = LoadJob(
                context, request, read_input, base.snapshot, stages, options.error_handling
            )
            result = commit_load(engine, request, base, job, read_input.digest, long=True)
        finally:
            with suppress(GraphError):
                engine.root.objects.delete_prefix(f"{SCRATCH}/{context.job}")
    report = options.error_handling.report if job.violations else None
    return SparkLoadResult(result, tuple(stages.finished), job.put_aside, job.violations, report)


def _remove_old_scratch(engine: Engine) -> None:
    """Delete scratch files of killed jobs, which are older than any running job."""
    oldest = SYSTEM_CLOCK.now_micros() - DAY_SECONDS * 1_000_000
    objects = engine.root.objects
    jobs = {key.split("/")[1] for key in objects.list(SCRATCH)}
    for job in jobs:
        if is_ulid(job) and ulid_micros(job) < oldest:
            objects.delete_prefix(f"{SCRATCH}/{job}")


# --- reading -----------------------------------------------------------------------------------


def _read(context: JobContext, reading: ReadParameters, plan: ReadPlan) -> ReadInput:
    """Read every planned input into row chunks."""
    mapped = _map(context.spark, reading, plan)
    results = run_tasks(context.spark, plan.splits, partial(read_split, reading))
    first = len(plan.splits)
    for entity, frame in plan.frames:
        results += _read_frame(reading, entity, frame, first)
        first = _next_split(first, results)
    locators = []
    for part in mapped:
        locators.append((first, part.locator))
        read = partial(_read_mapped_partition, reading, part.entity, first)
        results += decode_result(part.frame.mapInArrow(read, "result string"))
        first = _next_split(first, results)
    return replace(assemble(results, reading.catalog, plan.named), locators=tuple(locators))


def _next_split(first: int, results: list[dict[str, Any]]) -> int:
    splits: list[int] = [result["split"] for result in results]
    return max([first, *(split + 1 for split in splits)])


def _map(spark: SparkSession, reading: ReadParameters, plan: ReadPlan) -> list[MappedFrame]:
    if plan.mapping is None:
        return []
    from omnigraph.pipeline.inputs.mapped_frames import map_frames  # noqa: PLC0415 - loads PySpark

    return map_frames(spark, plan.mapping, reading.catalog)


def _read_mapped_partition(
    reading: ReadParameters, entity: EntityType, first: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield encode_result(read_mapped(reading, entity, first + _partition(), batches))


def _read_frame(
    reading: ReadParameters, entity: EntityType, frame: DataFrame, first: int
) -> list[dict[str, Any]]:
    wrong = check_columns(entity, frame.columns)
    if wrong:
        file_errors = [violation.to_json() for violation in wrong]
        return [
            {"split": first, "sections": [], "chunks": [], "types": [], "file_errors": file_errors}
        ]
    read = partial(_read_partition, reading, entity, first)
    return decode_result(frame.mapInArrow(read, "result string"))


def _read_partition(
    reading: ReadParameters, entity: EntityType, first: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield encode_result(read_rows(reading, entity, first + _partition(), batches))


def _partition() -> int:
    from pyspark import TaskContext  # noqa: PLC0415 - on executors only

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0
