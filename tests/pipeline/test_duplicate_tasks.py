"""Spark may run a task more than once: what the other attempts wrote is in no graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.pipeline.job import staging
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from omnigraph import Graph
    from omnigraph.testing.engine_parity import Twins


def files_of(graph: Graph) -> set[Path]:
    return set(Path(graph.uri).rglob("*.lance"))


@pytest.mark.slow
def test_of_a_task_that_staged_twice_one_result_counts(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    def person(name: str, age: int) -> dict[str, Any]:
        return {"type": "Person", "data": {"name": name, "age": age}}

    twins.load(twins.write("a.ndjson", person("ann", 1), person("ben", 2)), "append")
    before = files_of(twins.spark)
    stage, hide = staging._stage_bundle, staging._stage_deletions

    # By value, as Spark sends it: it is run where nothing was replaced.
    def stage_twice(site: Any, item: Any) -> Any:
        stage(site, item)
        return stage(site, item)

    def hide_twice(site: Any, pins: Any, batches: Any) -> Any:
        batches = list(batches)
        list(hide(site, pins, batches))
        return hide(site, pins, batches)

    monkeypatch.setattr(staging, "_stage_bundle", stage_twice)
    monkeypatch.setattr(staging, "_stage_deletions", hide_twice)
    gone = {"delete": "Person", "id": "ben"}
    twins.load(twins.write("b.ndjson", person("ann", 5), person("cat", 3), gone), "merge")
    assert len(files_of(twins.spark) - before) > 1, "the other attempt left its files"
    require_whole(twins.spark.engine)
