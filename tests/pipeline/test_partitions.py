"""What each task of the data source reads: parts together, and none in which nothing matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.graph.open import init_graph
from omnigraph.pipeline.datasource import partitions
from omnigraph.pipeline.datasource.conditions import parse_where
from omnigraph.pipeline.datasource.partitions import plan_partitions
from omnigraph.pipeline.spark.batching import batched_by_weight
from omnigraph.pipeline.spark.columns import find_entity

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

PARTS, ROWS = 4, 10


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedGraph:
    """Four parts of ten people each; ages are indexed, ranks are not."""
    schema = "node Person { name: String @key age: I64? @index rank: I64? }"
    place: Path = tmp_path_factory.mktemp("partitions") / "g.omni"
    graph = init_graph(place, schema, durability="process")
    for part in range(PARTS):
        rows = [
            {"name": f"p{n}", "age": n, "rank": n} for n in range(part * ROWS, (part + 1) * ROWS)
        ]
        graph.load({"Person": rows}, mode="append")
    graph.ensure_indices(force=True)
    return graph


def planned(
    graph: EmbeddedGraph, where: str | None, columns: int | None = None
) -> list[tuple[int, ...]]:
    snapshot = graph.engine.snapshot("main")
    entity = find_entity(snapshot.catalog, "Person")
    condition = None if where is None else parse_where(graph.engine, snapshot, entity, where)
    table = snapshot.table(entity.id)
    return plan_partitions(table, table.schema.names[:columns], condition)


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("$it.age = 25", [2]),
        ("$it.age < 12", [0, 1]),
        ("$it.age > 8 and $it.age < 31", [0, 1, 2, 3]),
        ('$it.name = "p33"', [3]),
        ("$it.age = 1000", []),
        # What no index answers is looked for everywhere, by the tasks.
        ("$it.rank = 25", [0, 1, 2, 3]),
        ('$it.name contains "33"', [0, 1, 2, 3]),
        ("not ($it.age = 25)", [0, 1, 2, 3]),
        (None, [0, 1, 2, 3]),
    ],
)
def test_indexes_tell_which_parts_need_no_task(
    graph: EmbeddedGraph, where: str | None, parts: list[int]
) -> None:
    assert [place for group in planned(graph, where) for place in group] == parts


def test_neighbours_are_together_until_they_weigh_too_much() -> None:
    assert list(batched_by_weight([3, 2, 1, 7, 1], int, 5)) == [(3, 2), (1,), (7,), (1,)]
    assert list(batched_by_weight([], int, 5)) == []


def test_small_parts_share_a_task_and_with_a_condition_more_do(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_ROWS_PER_PARTITION", 2 * ROWS)
    monkeypatch.setattr(partitions, "_ROWS_PER_SCAN", 3 * ROWS)
    assert planned(graph, None) == [(0, 1), (2, 3)]
    # Of half of the columns, twice the rows.
    assert planned(graph, None, columns=2) == [(0, 1, 2, 3)]
    # No more tasks than are needed, and as much for each.
    assert planned(graph, "$it.rank = 25") == [(0, 1), (2, 3)]
    monkeypatch.setattr(partitions, "_ROWS_PER_SCAN", PARTS * ROWS)
    assert planned(graph, "$it.rank = 25") == [(0, 1, 2, 3)]


def test_a_condition_that_matches_much_is_left_to_the_tasks(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_MATCHES_MAX", 3)
    assert planned(graph, "$it.age < 3") == [(0,)]
    assert planned(graph, "$it.age < 4") == [(0, 1, 2, 3)]
