"""Loading on Spark: files of any number and size, or data frames, as one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.errors import GraphError, InvalidInput
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.operations.load.run import commit_load, find_base
from omnigraph.operations.load.tables import check_columns
from omnigraph.pipeline.frames import Desk
from omnigraph.pipeline.inputs import list_files, plan_splits
from omnigraph.pipeline.job import LoadJob
from omnigraph.pipeline.material import assemble
from omnigraph.pipeline.pieces import SCRATCH
from omnigraph.pipeline.site import Site
from omnigraph.pipeline.spill import CHUNK_BYTES, Reading, read_rows, read_split
from omnigraph.pipeline.stages import Stage, Stages
from omnigraph.pipeline.tasks import run_tasks, tell, told
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import is_ulid, new_ulid, ulid_micros
from omnigraph.runtime.limits import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.operations.engine import Engine
    from omnigraph.operations.load.request import LoadRequest, LoadResult
    from omnigraph.pipeline.material import Material

__all__ = ["SparkLoad", "SparkLoadResult", "load_on_spark"]


@dataclass(frozen=True, slots=True)
class SparkLoad:
    """What a load on Spark can be told besides what every load is told."""

    split_bytes: int = 32 * 2**20
    chunk_bytes: int = CHUNK_BYTES
    watch: Callable[[Stage], None] | None = None


@dataclass(frozen=True, slots=True)
class SparkLoadResult:
    """What a load did, and how long its stages took."""

    load: LoadResult
    stages: tuple[Stage, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.load.to_json(),
            "engine": "spark",
            "stages": [stage.to_json() for stage in self.stages],
        }


def load_on_spark(
    spark: SparkSession, engine: Engine, request: LoadRequest, order: SparkLoad | None = None
) -> SparkLoadResult:
    """Load an input as one commit, or leave the graph as it is."""
    order = order or SparkLoad()
    base = find_base(engine, request)
    catalog = base.snapshot.catalog
    desk = Desk(spark, Site.of(engine.root), new_ulid(engine.root.clock))
    stages = Stages(order.watch)
    _remove_old_scratch(engine)
    try:
        with stages.running("read") as running:
            reading = Reading(
                desk.site,
                desk.job,
                catalog,
                request.mode,
                engine.root.limits,
                digest=request.idempotency_key is not None,
                chunk_bytes=order.chunk_bytes,
            )
            material = _read(spark, reading, request, order)
            running.rows = material.records
        job = LoadJob(desk, request, material, base.snapshot.manifest.commit.schema, stages)
        result = commit_load(engine, request, base, job, material.digest, long=True)
    finally:
        with suppress(GraphError):
            engine.root.objects.delete_prefix(f"{SCRATCH}/{desk.job}")
    return SparkLoadResult(result, tuple(stages.over))


def _remove_old_scratch(engine: Engine) -> None:
    """What jobs left that were killed: of no use to anybody, and older than any job."""
    oldest = SYSTEM_CLOCK.now_micros() - DAY_SECONDS * 1_000_000
    objects = engine.root.objects
    jobs = {key.split("/")[1] for key in objects.list(SCRATCH)}
    for job in jobs:
        if is_ulid(job) and ulid_micros(job) < oldest:
            objects.delete_prefix(f"{SCRATCH}/{job}")


# --- reading -----------------------------------------------------------------------------------


def _read(
    spark: SparkSession, reading: Reading, request: LoadRequest, order: SparkLoad
) -> Material:
    """Read everything that the request names, into pieces."""
    files: list[tuple[str, str | None]] = []
    frames: list[tuple[EntityType, DataFrame]] = []
    named: list[EntityType] = []
    for entity, source in _sources(request, reading.catalog):
        if entity is not None:
            named.append(entity)
        if _is_spark_frame(source):
            frames.append((_require_type(entity), source))
        else:
            type_name = entity.name if entity is not None else None
            files += [(file, type_name) for file in list_files(_paths(source))]
    splits = plan_splits(files, format=request.format, split_bytes=order.split_bytes)
    answers = run_tasks(spark, splits, partial(read_split, reading))
    first = len(splits)
    for entity, frame in frames:
        answers += _read_frame(reading, entity, frame, first)
        first = max([first, *(answer["split"] + 1 for answer in answers)])
    return assemble(answers, reading.catalog, named)


def _read_frame(
    reading: Reading, entity: EntityType, frame: DataFrame, first: int
) -> list[dict[str, Any]]:
    wrong = check_columns(entity, frame.columns)
    if wrong:
        headers = [violation.to_json() for violation in wrong]
        return [{"split": first, "sections": [], "pieces": [], "types": [], "headers": headers}]
    read = partial(_read_partition, reading, entity, first)
    return told(frame.mapInArrow(read, "told string"))


def _read_partition(
    reading: Reading, entity: EntityType, first: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext  # noqa: PLC0415 - on executors only

    context = TaskContext.get()
    task = first + (context.partitionId() if context is not None else 0)
    yield tell(read_rows(reading, entity, task, batches))


def _sources(request: LoadRequest, catalog: Catalog) -> list[tuple[EntityType | None, Any]]:
    source = request.source
    if isinstance(source, Mapping):
        return [(_named(catalog, name), part) for name, part in source.items()]
    return [(None if request.type is None else _named(catalog, request.type), source)]


def _named(catalog: Catalog, name: str) -> EntityType:
    entity = catalog.entity(name)
    if entity is None:
        known = [found.name for found in catalog.types.values()]
        raise InvalidInput(
            "load.unknown_type",
            f"the schema has no type {name!r}",
            remedy=did_you_mean(name, known) or f"there are {', '.join(known[:20])}",
        )
    return entity


def _require_type(entity: EntityType | None) -> EntityType:
    if entity is None:
        raise InvalidInput(
            "load.type_missing",
            "a data frame does not say of which type its rows are",
            remedy='name the type: {"Person": frame}, or type=',
        )
    return entity


def _paths(source: Any) -> list[str | Path]:
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, Iterable):
        paths = list(source)
        if all(isinstance(path, str | Path) for path in paths):
            return paths
    raise InvalidInput(
        "load.bad_source",
        f"a {type(source).__name__} cannot be loaded by Spark",
        remedy="give paths, patterns or Spark data frames; the engine local takes more",
    )


def _is_spark_frame(source: Any) -> bool:
    return type(source).__module__.startswith("pyspark.")
