"""The counts that previews and results of merges report, per type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.merges import MergeOutcome

if TYPE_CHECKING:
    from pathlib import Path

Counts = dict[str, tuple[int, int, int]]


def counts_of(result: Any) -> Counts:
    return {
        part["type"]: (part["inserted"], part["updated"], part["deleted"])
        for part in result.to_json()["summary"]
    }


def diff_counts(world: Any, before: str, after: str = "main") -> Counts:
    found = world.graph.diff(before, after).summary()
    return {each.entity.name: (each.inserted, each.updated, each.deleted) for each in found}


def change_dev(world: Any) -> None:
    world.put("Person", "ada", branch="dev", age=37, mail="ada@x")
    world.put("Person", "eve", branch="dev")
    world.drop("Person", "cyd", branch="dev")
    world.put("Knows", "k1", branch="dev", from_="ada", to="bob", since=2)


def test_a_preview_of_a_fast_forward_counts_updates_and_balanced_changes(world: Any) -> None:
    change_dev(world)
    before = world.head()
    preview = world.graph.merge("dev", preview=True)
    assert preview.outcome is MergeOutcome.FAST_FORWARD
    assert counts_of(preview) == {"Person": (1, 1, 1), "Knows": (0, 1, 0)}
    assert "+1 ~2 -1 in 2 types" in repr(preview)
    world.graph.merge("dev")
    assert counts_of(preview) == diff_counts(world, before)


def test_a_preview_counts_a_type_that_only_the_source_changed(world: Any) -> None:
    change_dev(world)
    world.put("Place", "oslo")
    before = world.head()
    preview = world.graph.merge("dev", preview=True)
    assert preview.outcome is MergeOutcome.MERGED
    assert [part["taken_over"] for part in preview.to_json()["summary"]] == [True, True]
    assert counts_of(preview) == {"Person": (1, 1, 1), "Knows": (0, 1, 0)}
    world.graph.merge("dev")
    assert counts_of(preview) == diff_counts(world, before)


def test_a_preview_counts_a_type_that_both_sides_changed(world: Any) -> None:
    change_dev(world)
    world.put("Person", "fay")
    world.put("Knows", "k2", from_="bob", to="ada")
    before = world.head()
    preview = world.graph.merge("dev", preview=True)
    world.graph.merge("dev")
    assert counts_of(preview) == diff_counts(world, before)


def test_a_preview_of_a_merge_that_is_up_to_date_counts_nothing(world: Any) -> None:
    world.put("Person", "fay")
    preview = world.graph.merge("dev", preview=True)
    assert preview.outcome is MergeOutcome.UP_TO_DATE
    assert preview.to_json()["summary"] == []


def test_a_preview_of_a_revert_counts_a_type_that_nobody_changed_since(world: Any) -> None:
    wrong = world.put("Person", "ada", age=99, mail="ada@x")
    world.put("Place", "oslo")
    preview = world.graph.revert(wrong.id, preview=True)
    assert counts_of(preview) == {"Person": (0, 1, 0)}
    before = world.head()
    world.graph.revert(wrong.id)
    assert diff_counts(world, before) == {"Person": (0, 1, 0)}


def test_types_that_arrive_or_go_as_a_whole_are_counted_from_the_manifests(world: Any) -> None:
    world.graph.apply_schema(
        "node Person { name: String @key  mail: String? @unique  age: I64? @range(0..150)"
        " note: String? }\nnode City { name: String @key }",
        branch="dev",
        allow_data_loss=True,
    )
    world.put("City", "rome", branch="dev", name="rome")
    result = world.graph.merge("dev")
    assert result.outcome is MergeOutcome.FAST_FORWARD
    assert counts_of(result) == {
        "City": (1, 0, 0),
        "Place": (0, 0, 1),
        "Knows": (0, 0, 1),
        "LivesIn": (0, 0, 0),
    }


def test_a_fast_forward_reads_no_table_and_omits_the_counts_it_does_not_know(
    world: Any, tmp_path: Path
) -> None:
    change_dev(world)
    person = world.engine.snapshot().catalog.entity("Person")
    stored = tmp_path / "g" / world.engine.snapshot().manifest.pins[person.id].path
    aside = stored / "data"
    aside.rename(stored / "aside")
    try:
        result = world.graph.merge("dev")
    finally:
        (stored / "aside").rename(aside)
    assert result.outcome is MergeOutcome.FAST_FORWARD
    (part,) = [part for part in result.to_json()["summary"] if part["type"] == "Person"]
    assert part == {
        "kind": "node",
        "type": "Person",
        "taken_over": True,
        "entities_before": 3,
        "entities_after": 3,
    }
    assert "+0" not in repr(result)
