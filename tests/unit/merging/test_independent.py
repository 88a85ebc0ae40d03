"""Conflicts about entities are reported together with conflicts about definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import MergeConflict
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    note: String?
}
node Place {
    name: String @key
    size: I32?
}
node Tool {
    name: String @key
    use: String?
}
edge Visits: Person -> Place { since: I64? }
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    write(
        engine,
        {
            "Person": {"ada": {"name": "ada"}, "bob": {"name": "bob"}},
            "Place": {"rome": {"name": "rome"}, "oslo": {"name": "oslo"}},
            "Tool": {"saw": {"name": "saw", "use": "cut"}},
        },
    )
    branch_off(engine, "dev")
    yield engine
    require_whole(engine)


@pytest.fixture
def graph(engine: Engine) -> EmbeddedGraph:
    return EmbeddedGraph(engine)


def called(name: str) -> str:
    """The schema with another name for Person."""
    renamed = SCHEMA.replace("node Person", f'node {name} @rename_from("Person")')
    return renamed.replace("Person ->", f"{name} ->")


def rename(graph: EmbeddedGraph) -> None:
    """Both sides rename one type."""
    graph.apply_schema(called("Human"))
    graph.apply_schema(called("Folk"), branch="dev")


def sizes(engine: Engine) -> None:
    """Both sides change one place."""
    write(engine, {"Place": {"rome": {"name": "rome", "size": 1}}})
    write(engine, {"Place": {"rome": {"name": "rome", "size": 2}}}, branch="dev")


def found(graph: EmbeddedGraph, **how: Any) -> list[tuple[str, str | None]]:
    told = graph.merge("dev", preview=True, **how).conflicts
    return sorted((conflict.kind.value, conflict.id or "") for conflict in told)


def test_a_preview_has_conflicts_of_types_without_a_schema_conflict(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    sizes(engine)
    rename(graph)
    assert found(graph) == [("divergent_update", "rome"), ("schema", "")]


def test_a_merge_raises_all_of_them(engine: Engine, graph: EmbeddedGraph) -> None:
    sizes(engine)
    rename(graph)
    head = graph.commits.list().commits[0]
    with pytest.raises(MergeConflict) as refused:
        graph.merge("dev")
    kinds = sorted(each["kind"] for each in refused.value.details["merge_conflicts"])
    assert kinds == ["divergent_update", "schema"]
    assert graph.commits.list().commits[0] == head


def test_a_conflict_of_the_disputed_type_that_does_not_depend_on_it_is_reported(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, {"Person": {"ada": {"name": "ada", "note": "x"}}})
    write(engine, {"Person": {"ada": {"name": "ada", "note": "y"}}}, branch="dev")
    rename(graph)
    assert found(graph) == [("divergent_update", "ada"), ("schema", "")]


def test_a_conflict_that_depends_on_the_decision_is_left_out(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    """Ours keeps the property that both changed, theirs drops it: the conflict may vanish."""
    write(engine, {"Tool": {"saw": {"name": "saw", "use": "a"}}})
    write(engine, {"Tool": {"saw": {"name": "saw", "use": "b"}}}, branch="dev")
    graph.apply_schema(SCHEMA.replace("    use: String?\n", ""), branch="dev")
    sizes(engine)
    assert found(graph) == [("divergent_update", "rome"), ("schema", "")]


def test_ids_stay_and_everything_can_be_decided_at_once(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    sizes(engine)
    rename(graph)
    told = graph.merge("dev", preview=True).conflicts
    resolutions = [{"conflict_id": each.conflict_id, "take": "theirs"} for each in told]
    # One at a time: what is left is what nobody decided.
    for number, each in enumerate(told):
        rest = graph.merge("dev", preview=True, resolutions=[resolutions[number]]).conflicts
        assert {left.conflict_id for left in rest} == {
            other.conflict_id for other in told if other is not each
        }
    merged = graph.merge("dev", resolutions=resolutions)
    assert merged.commit is not None
    assert graph.at("main").catalog.entity("Folk") is not None
    rows = graph.query('query q() { match { $p: Place { name: "rome" } } return { $p.size as s } }')
    assert rows.rows() == [{"s": 2}]


def test_a_schema_conflict_does_not_hide_rows_in_the_way_of_another_type(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    rename(graph)
    write(engine, {"Tool": {"axe": {"name": "axe", "use": "chop"}}})
    graph.apply_schema(called("Folk").replace("    use: String?\n", ""), branch="dev")
    told = [conflict.message for conflict in graph.merge("dev", preview=True).conflicts]
    assert len(told) == 2
    assert any("property use" in each for each in told)


def test_orphans_are_reported_beside_a_schema_conflict(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, {"Visits": {"v": {"from": "ada", "to": "oslo"}}})
    write(engine, {}, {"Place": ["oslo"]}, branch="dev")
    rename(graph)
    assert found(graph) == [("orphan_edge", "v"), ("schema", "")]


def test_a_pick_has_both_as_well(engine: Engine, graph: EmbeddedGraph) -> None:
    sizes(engine)
    rename(graph)
    write(engine, {"Place": {"rome": {"name": "rome", "size": 7}}})
    changed = write(
        engine,
        {"Place": {"rome": {"name": "rome", "size": 8}}, "Tool": {"t": {"name": "t"}}},
        branch="dev",
    )
    assert changed is not None
    start, end = SCHEMA.index("node Tool"), SCHEMA.index("edge Visits")
    graph.apply_schema(called("Human").replace(SCHEMA[start:end], ""))
    told = graph.cherry_pick(changed, preview=True).conflicts
    assert sorted(each.kind.value for each in told) == ["divergent_update", "schema"]
