"""How far a job is: stages, the share of their tasks that is done, rows and rate."""

from __future__ import annotations

import os
import signal
import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph import pipeline
from omnigraph.cli.engines import meter_line
from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph
from omnigraph.pipeline.spark.progress import Stage, Stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession


def test_a_stage_tells_how_far_it_is_while_it_runs() -> None:
    stages_seen: list[Stage] = []
    seen = Event()

    def watch(stage: Stage) -> None:
        stages_seen.append(stage)
        if stage.share == 0.5:
            seen.set()

    stages = Stages(watch, lambda: 0.5, tick=0.01)
    with stages.running("stage", 1_000) as running:
        assert seen.wait(30)
        running.rows = 1_100
    assert [stages_seen[0].rows, stages_seen[0].done] == [0, False]
    assert {(stage.rows, stage.done) for stage in stages_seen[1:-1]} == {(500, False)}
    assert (stages_seen[-1].rows, stages_seen[-1].share, stages_seen[-1].done) == (1_100, 1.0, True)
    assert stages.finished == [stages_seen[-1]]


def test_nobody_is_told_after_a_stage_has_failed() -> None:
    stages_seen: list[Stage] = []
    stages = Stages(stages_seen.append, lambda: 0.0, tick=0.01)
    with pytest.raises(ZeroDivisionError), stages.running("read"):
        raise ZeroDivisionError
    count = len(stages_seen)
    assert not Event().wait(0.05)
    assert len(stages_seen) == count
    assert stages.finished == []


def test_the_line_on_a_terminal_has_bar_stage_rows_and_rate() -> None:
    running = Stage("stage", 500, 2.0, done=False, share=0.5)
    assert meter_line(running) == f"[{'#' * 12}{'-' * 12}]  50% stage 2.0 s, 500 rows, 250 rows/s"
    assert meter_line(Stage("read", 0, 0.0, done=False)) == f"[{'-' * 24}]   0% read 0.0 s"


def test_a_load_on_spark_is_told_how_many_of_its_tasks_are_done(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.pipeline.spark.progress._TICK_SECONDS", 0.02)
    graph = init_graph(tmp_path / "g.omni", "node Person { name: String @key }")
    people = spark.range(8, numPartitions=8).selectExpr("concat('p', id) AS name")
    stages_seen: list[Stage] = []
    pipeline.load(graph, {"Person": people}, mode="append", spark=spark, watch=stages_seen.append)
    assert [stage.name for stage in stages_seen if stage.done] == ["read", "check", "stage"]
    assert any(0 < stage.share < 1 for stage in stages_seen), "some of its tasks, not all"


def test_a_load_on_spark_is_listed_while_it_runs_and_who_cancels_it_stops_its_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = init_graph(tmp_path / "g.omni", "node Person { name: String @key }")
    begun = tmp_path / "begun"

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun.touch()
        for batch in batches:
            time.sleep(0.5)
            yield batch

    many = spark.range(1_000, numPartitions=1_000).selectExpr("concat('p', id) AS name")
    listed: list[dict[str, Any]] = []

    def cancel() -> None:
        while not begun.exists():
            time.sleep(0.01)
        for operation in graph.operations.list():
            listed.append(operation.to_json())
            graph.operations.cancel(operation.id)

    canceller = Thread(target=cancel)
    canceller.start()
    with pytest.raises(GraphError) as stopped:
        pipeline.load(graph, {"Person": many.mapInArrow(wait, "name string")}, mode="append")
    canceller.join()
    assert stopped.value.code == "operation.cancelled"
    assert [(each["kind"], each["target"]) for each in listed] == [("load", "main")]
    assert (graph.status().nodes, graph.operations.list()) == (0, [])


def test_who_interrupts_a_load_on_spark_stops_its_job_without_a_trace_and_can_load_again(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph = init_graph(tmp_path / "g.omni", "node Person { name: String @key }")
    begun = tmp_path / "begun"

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun.touch()
        for batch in batches:
            time.sleep(0.5)
            yield batch

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    many = spark.range(1_000, numPartitions=1_000).selectExpr("concat('p', id) AS name")
    interrupter = Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        pipeline.load(graph, {"Person": many.mapInArrow(wait, "name string")}, mode="append")
    interrupter.join()
    assert not [record.getMessage() for record in caplog.records]
    tracker = spark.sparkContext.statusTracker()
    while tracker.getActiveJobsIds():
        time.sleep(0.05)
    assert (graph.status().nodes, graph.recoveries.pending()) == (0, [])
    pipeline.load(graph, {"Person": many.limit(3)}, mode="append")
    assert graph.status().nodes == 3
