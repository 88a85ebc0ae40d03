"""Tasks on executors: one per item, with results as rows and typed errors.

Only data frames are used, no RDDs and no broadcast variables, so that the same code runs on a
classic session and over Spark Connect.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from omnigraph import errors
from omnigraph.errors import GraphError, InvalidInput, StorageFault
from omnigraph.runtime.cancellation import check_cancelled, current_cancellation
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "collect",
    "decode_result",
    "encode_result",
    "map_tasks",
    "run_tasks",
    "share_of_tasks",
    "translated_failures",
]

T = TypeVar("T")

_RESULT_DDL = "result string"
_WATCH_SECONDS = 0.25
# The file that Spark's own reader could not read, and the lines with the cause.
_UNREADABLE_FILE = re.compile(r"FAILED_READ_FILE\S* .*?file (?:file://|file:)?(?P<file>\S+?)\.\s")
_CAUSE = re.compile(r"(?:: |Caused by: )?([\w.$]+(?:Error|Exception|Fault)\b.*)")
# The encoding of a typed error in the text that Spark passes on.
_MARK = "omnigraph-error:"
_MARKED = re.compile(rf"{_MARK}(\{{.*?\}}):end", re.DOTALL)


def map_tasks(
    spark: SparkSession,
    items: Sequence[T],
    work: Callable[[T], Iterable[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """Run ``work`` on each item, one task per item. ``schema`` is DDL of Spark."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                with _marked_failures():
                    yield from work(items[at])

    if not items:
        return spark.createDataFrame([], schema)
    return spark.range(0, len(items), 1, len(items)).mapInArrow(run, schema)


def run_tasks(
    spark: SparkSession, items: Sequence[T], work: Callable[[T], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the results of ``work`` on each item, in no particular order.

    A typed error becomes a result too, and is raised here: repeating the task would not help. Only
    a storage fault fails the task, which Spark then retries.
    """
    if not items:
        return []
    return decode_result(map_tasks(spark, items, partial(_try, work), _RESULT_DDL))


def encode_result(result: dict[str, Any]) -> pa.RecordBatch:
    """Encode the result of a task as a row."""
    return pa.record_batch({"result": pa.array([json.dumps(result)])})


def decode_result(frame: DataFrame) -> list[dict[str, Any]]:
    """Decode the results in a frame; raise the first failure among them."""
    results = [json.loads(text) for text in collect(frame).column(0).to_pylist()]
    for result in results:
        if "failure" in result:
            raise _error_of(result["failure"])
    return results


def collect(frame: DataFrame) -> pa.Table:
    """Fetch all rows of a small frame."""
    check_cancelled()
    try:
        with translated_failures(), _stopped_when_cancelled(frame.sparkSession):
            return frame.toArrow()
    except GraphError:
        # Spark reports a stopped job as a failure.
        check_cancelled()
        raise


def share_of_tasks(spark: SparkSession) -> Callable[[], float] | None:
    """Return a function for the finished share of the running tasks; None over Spark Connect."""
    context = _context(spark)
    if context is None:
        return None
    tracker = context.statusTracker()

    def share() -> float:
        jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
        numbers = {number for job in jobs if job is not None for number in job.stageIds}
        stages = [stage for number in numbers if (stage := tracker.getStageInfo(number))]
        total = sum(stage.numTasks for stage in stages)
        return sum(stage.numCompletedTasks for stage in stages) / total if total else 0.0

    return share


@contextmanager
def _stopped_when_cancelled(spark: SparkSession) -> Iterator[None]:
    """Stop the Spark job when the operation is cancelled or interrupted."""
    token = current_cancellation()
    if token is None:
        yield
        return
    tag, over, context = f"omnigraph-{new_short_id()}", Event(), _context(spark)
    # A classic session does not apply its own tags to the thread that runs the job.
    stop = spark.interruptTag if context is None else context.cancelJobsWithTag

    def watch() -> None:
        while not over.wait(_WATCH_SECONDS):
            if token.cancelled:
                # Repeated until the end: a job that has not started yet cannot be stopped.
                stop(tag)

    watcher = Thread(target=watch, daemon=True)
    spark.addTag(tag) if context is None else context.addJobTag(tag)
    watcher.start()
    try:
        yield
    except BaseException:
        # After Ctrl-C, Spark's own handler fails on the call that was interrupted.
        with suppress(Exception):
            stop(tag)
        raise
    finally:
        over.set()
        watcher.join()
        spark.removeTag(tag) if context is None else context.removeJobTag(tag)


def _context(spark: SparkSession) -> SparkContext | None:
    """Return the context of a classic session; None over Spark Connect."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - loaded with the session

    try:
        return spark.sparkContext
    except PySparkException:
        return None


# --- failures ----------------------------------------------------------------------------------


def _try(work: Callable[[T], dict[str, Any]], item: T) -> Iterator[pa.RecordBatch]:
    try:
        yield encode_result(work(item))
    except StorageFault:
        raise
    except GraphError as error:
        yield encode_result({"failure": _failure_of(error)})


@contextmanager
def _marked_failures() -> Iterator[None]:
    """In a task: encode a typed error as text, because its class does not reach the driver."""
    try:
        yield
    except GraphError as error:
        raise RuntimeError(f"{_MARK}{json.dumps(_failure_of(error))}:end") from error


@contextmanager
def translated_failures() -> Iterator[None]:
    """On the driver: translate an exception of a job into a typed error."""
    try:
        yield
    except GraphError:
        raise
    except Exception as error:
        if _is_interrupted(error):
            raise KeyboardInterrupt from error
        found = _MARKED.search(str(error))
        if found is not None:
            raise _error_of(json.loads(found[1])) from error
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        unread = _UNREADABLE_FILE.search(str(error))
        if unread is not None:
            raise InvalidInput(
                "load.corrupt",
                f"{unread['file']} cannot be read: {_cause_of(error)}",
                remedy="replace the file, or load files of one shape together; nothing was written",
                details={"file": unread["file"]},
            ) from error
        raise StorageFault(
            "spark.failed",
            f"a Spark job failed: {_cause_of(error)}",
            remedy="nothing was published; look at the logs of the executors",
        ) from error


def _is_interrupted(error: BaseException) -> bool:
    """Return whether an exception replaced a KeyboardInterrupt during a job."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _is_interrupted(before))


def _failure_of(error: GraphError) -> dict[str, Any]:
    return {"class": type(error).__name__, "remedy": error.remedy, **error.to_json()}


def _error_of(failure: dict[str, Any]) -> GraphError:
    found = getattr(errors, failure["class"], GraphError)
    error: GraphError = found(
        failure["code"],
        failure["error"],
        details=failure.get("details"),
        remedy=failure.get("remedy"),
    )
    return error


def _cause_of(error: Exception) -> str:
    """Return the line of a long trace with the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [found[1] for line in lines if (found := _CAUSE.match(line))]
    return (said or lines or [type(error).__name__])[-1 if said else 0][:500]
