"""Export on Spark: every task writes some fragments of one type to a file.

A type becomes a directory of part files, ``Person.parquet/part-00000.parquet``, which appears once
every file is written. Files of failed or duplicate tasks disappear with the working directory. The
driver and all executors must see the directory.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.api.entities import ExportRequest, ExportResult
from omnigraph.errors import AlreadyExists, InvalidInput, StorageFault
from omnigraph.export.export import FORMATS, choose_types, write_rows
from omnigraph.frozen import frozen
from omnigraph.pipeline.spark.graph_location import GraphLocation
from omnigraph.pipeline.spark.progress import Stage, Stages
from omnigraph.pipeline.spark.tasks import run_tasks, share_of_tasks
from omnigraph.runtime.ids import new_short_id, new_ulid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from omnigraph.catalog.model import EntityType
    from omnigraph.ports.tables import Pin
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["SparkExportResult", "export_on_spark"]

# A file of this many rows is neither tiny nor unwieldy.
_ROWS_PER_FILE = 1_000_000


@frozen
class SparkExportResult:
    """The exported counts and the duration of each stage."""

    export: ExportResult
    stages: tuple[Stage, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.export.to_json(),
            "engine": "spark",
            "stages": [stage.to_json() for stage in self.stages],
        }


@frozen
class ExportTask:
    """The work of one task: some parts of one table, as one file."""

    entity: EntityType
    pin: Pin
    number: int
    parts: tuple[int, ...]


def export_on_spark(
    start: Callable[[], SparkSession],
    engine: Engine,
    request: ExportRequest,
    watch: Callable[[Stage], None] | None = None,
) -> SparkExportResult:
    """Export a target into a directory. ``start`` opens the session once it is needed."""
    out = _require_directory(request)
    snapshot = engine.snapshot(request.target)
    entities = choose_types(snapshot.catalog, request.types)
    targets = {entity.id: out / f"{entity.name}.{request.format}" for entity in entities}
    for target in targets.values():
        _require_absent(target)
    slices = [one for entity in entities for one in _plan_tasks(snapshot, entity)]
    working = out / f"_exporting-{new_ulid()}"
    rows = sum(snapshot.manifest.pins[entity.id].rows for entity in entities)
    spark = start()
    stages = Stages(watch, share_of_tasks(spark))
    try:
        with stages.running("export", rows):
            for entity in entities:
                _make(working / entity.id)
            location = GraphLocation.of(engine.root)
            results = run_tasks(
                spark, slices, partial(_write, location, str(working), request.format)
            )
            _finish(working, targets, results, request.format)
    finally:
        shutil.rmtree(working, ignore_errors=True)
    counts = tuple((e.kind, e.name, snapshot.manifest.pins[e.id].rows) for e in entities)
    result = ExportResult(request.target, snapshot.commit_id, counts)
    return SparkExportResult(result, tuple(stages.finished))


def _require_directory(request: ExportRequest) -> Path:
    if request.format not in FORMATS:
        raise InvalidInput(
            "export.bad_format",
            f"{request.format!r} is not a format",
            remedy=f"one of: {', '.join(FORMATS)}",
        )
    if not isinstance(request.out, str | Path):
        raise InvalidInput(
            "export.no_directory",
            "Spark writes a directory of files, not a stream",
            remedy="pass a path, or use the engine local",
        )
    # Executors have another working directory, so the path is absolute.
    out = Path(request.out).absolute()
    if out.exists() and not out.is_dir():
        raise AlreadyExists(
            "export.exists", f"{out} is a file", remedy="Spark writes a directory: choose another"
        )
    return out


def _require_absent(target: Path) -> None:
    if target.exists():
        raise AlreadyExists(
            "export.exists", f"{target} exists", remedy="remove it, or choose another directory"
        )


def _plan_tasks(snapshot: Snapshot, entity: EntityType) -> Iterator[ExportTask]:
    table = snapshot.table(entity.id)
    waiting: list[int] = []
    weight = number = 0
    for place, part in enumerate(table.fragments()):
        if waiting and weight + part.rows > _ROWS_PER_FILE:
            yield ExportTask(entity, table.pin, number, tuple(waiting))
            waiting, weight, number = [], 0, number + 1
        waiting.append(place)
        weight += part.rows
    # A type without rows becomes a file without rows, which still has the columns.
    yield ExportTask(entity, table.pin, number, tuple(waiting))


def _finish(
    working: Path, targets: dict[Any, Path], results: Sequence[dict[str, Any]], kind: str
) -> None:
    """Publish the files that tasks reported under their final names; delete all others."""
    for result in results:
        directory = working / result["type"]
        (directory / result["file"]).replace(directory / f"part-{result['number']:05}.{kind}")
    for type_id, target in targets.items():
        for left in (working / type_id).glob(".*"):
            left.unlink()
        (working / type_id).replace(target)


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise InvalidInput(
            "export.unwritable", f"{directory} cannot be created: {error.strerror or error}"
        ) from error


# --- on executors ------------------------------------------------------------------------------


def _write(location: GraphLocation, working: str, kind: str, one: ExportTask) -> dict[str, Any]:
    table = location.tables.open(one.pin)
    # A task may run twice, even concurrently: each attempt writes its own file.
    name = f".{one.number:05}-{new_short_id()}"
    try:
        with (Path(working) / one.entity.id / name).open("wb") as file:
            write_rows(table, one.entity, file, kind, parts=one.parts)
    except OSError as error:
        # Spark retries the task, perhaps on an executor with free space.
        raise StorageFault(
            "export.unwritable", f"{working} cannot be written: {error.strerror or error}"
        ) from error
    return {"type": one.entity.id, "file": name, "number": one.number}
