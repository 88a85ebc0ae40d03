"""What can be chosen about a conflict, and what is said of choices that do not help."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import Conflict, InvalidInput, MergeConflict, NotFound
from omnigraph.testing.histories import branch_off
from omnigraph.testing.verify import require_whole


def previewed(world: Any) -> dict[str, Any]:
    (found,) = world.graph.merge("dev", preview=True).to_json()["conflicts"]
    return dict(found)


def too_many_edges(world: Any) -> None:
    world.put("Knows", "k2", from_="ada", to="cyd")
    world.put("Knows", "k3", branch="dev", from_="ada", to="ada")


def orphan_edge(world: Any) -> None:
    world.drop("Person", "cyd")
    world.put("Knows", "k2", branch="dev", from_="ada", to="cyd")


@pytest.mark.parametrize("happens", [too_many_edges, orphan_edge])
@pytest.mark.parametrize("value", [None, {}, {"since": 3}, {"nonsense": 3}])
def test_a_conflict_between_sides_takes_no_value(world: Any, happens: Any, value: Any) -> None:
    happens(world)
    found = previewed(world)
    assert found["takes"] == ["ours", "theirs"]
    before = world.head()
    choice = {"conflict_id": found["conflict_id"], "take": {"value": value}}
    with pytest.raises(InvalidInput) as raised:
        world.graph.merge("dev", resolutions=[choice])
    assert raised.value.code == "merge.bad_value"
    assert world.head() == before


def test_a_conflict_about_an_entity_takes_a_value_too(world: Any) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "bob", branch="dev", age=2)
    assert previewed(world)["takes"] == ["ours", "theirs", "value"]


def test_a_choice_is_stale_also_when_the_sides_now_disagree_about_other_things(world: Any) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "bob", branch="dev", age=2)
    choices = [{"conflict_id": previewed(world)["conflict_id"], "take": "ours"}]
    # About one more property, then about whether the entity exists at all.
    world.put("Person", "bob", age=1, note="mine")
    world.put("Person", "bob", branch="dev", age=2, note="other")
    for change in (lambda: None, lambda: world.drop("Person", "bob", branch="dev")):
        change()
        with pytest.raises(Conflict) as stale:
            world.graph.merge("dev", resolutions=choices)
        assert stale.value.code == "merge.resolution_stale"


def test_a_choice_that_breaks_a_rule_of_the_other_side_is_told_what_else_there_is(
    world: Any,
) -> None:
    schema = world.graph.schema
    world.graph.apply_schema(schema.replace("0..150", "0..50"))
    world.put("Person", "bob", branch="dev", age=100)
    with pytest.raises(MergeConflict) as undecided:
        world.graph.merge("dev")
    with pytest.raises(MergeConflict) as decided:
        world.graph.merge("dev", strategy="theirs")
    assert "strategy" in str(undecided.value.remedy)
    assert "take the other side" in str(decided.value.remedy)
    assert world.graph.merge("dev", strategy="ours").commit is not None


def with_weight(world: Any) -> tuple[str, str]:
    """A property more, values of it, and two schemas in which it is wider, each in its way."""
    schema = world.graph.schema.replace("note: String?", "note: String?\n    weight: I32?")
    world.graph.apply_schema(schema)
    world.put("Person", "ada", age=36, mail="ada@x", weight=1)
    world.put("Person", "bob", age=20, weight=2)
    branch_off(world.engine, "other")
    return schema.replace("weight: I32?", "weight: I64?"), schema.replace(
        "weight: I32?", "weight: F64?"
    )


def test_of_types_that_cannot_be_reconciled_one_is_chosen_with_its_values(world: Any) -> None:
    integers, floats = with_weight(world)
    world.graph.apply_schema(integers)
    world.put("Person", "ada", age=36, mail="ada@x", weight=2**60)
    world.graph.apply_schema(floats, branch="other")
    world.put("Person", "bob", branch="other", age=21, weight=2.5)
    world.put("Person", "eve", branch="other", weight=0.5)
    (found,) = world.graph.merge("other", preview=True).conflicts
    assert "the type of property weight" in found.message
    assert found.takes == ("ours", "theirs")
    weights = {"ours": (2**60, 2, None), "theirs": (1.0, 2.5, 0.5)}
    for strategy, expected in weights.items():
        branch_off(world.engine, strategy)
        world.graph.merge("other", into=strategy, strategy=strategy)
        people = world.state(strategy)["Person"]
        assert tuple(people[key].get("weight") for key in ("ada", "bob", "eve")) == expected
        # What is not disputed comes along all the same.
        assert people["bob"]["age"] == 21
    require_whole(world.engine)


def test_values_that_do_not_fit_a_type_that_only_the_other_side_chose_are_a_conflict(
    world: Any,
) -> None:
    integers, floats = with_weight(world)
    world.graph.apply_schema(integers)
    world.graph.apply_schema(floats, branch="other")
    branch_off(world.engine, "late")
    merged = world.graph.merge("other", strategy="theirs").commit
    # Whoever wrote whole numbers meanwhile has changed no definition since.
    world.put("Person", "ada", branch="late", age=36, mail="ada@x", weight=2**60 + 1)
    world.put("Person", "eve", branch="late", weight=7)
    for source, into in (("late", "main"), ("main", "late")):
        (found,) = world.graph.merge(source, into=into, preview=True).conflicts
        assert "values of property weight as I64, which may not fit F64" in found.message
    weights = {"ours": (1.0, None), "theirs": (2**60 + 1, 7)}
    for strategy, expected in weights.items():
        branch_off(world.engine, strategy)
        world.graph.merge("late", into=strategy, strategy=strategy)
        people = world.state(strategy)["Person"]
        assert tuple(people[key].get("weight") for key in ("ada", "eve")) == expected
    # The same when the choice itself is taken back.
    world.put("Person", "bob", age=20, weight=2.5)
    (found,) = world.graph.revert(merged.id, preview=True).conflicts
    assert "values of property weight as F64, which may not fit I64" in found.message
    require_whole(world.engine)


def test_what_no_choice_settles_says_what_does(world: Any) -> None:
    integers, floats = with_weight(world)
    world.graph.apply_schema(integers)
    world.graph.apply_schema(floats, branch="other")
    picked = world.put("Person", "bob", branch="other", age=20, weight=2.5)
    with pytest.raises(MergeConflict) as raised:
        world.graph.cherry_pick(picked.id, strategy="theirs")
    (told,) = raised.value.details["merge_conflicts"]
    assert told["takes"] == []
    assert "change the schema" in str(raised.value.remedy)


def test_only_branches_are_merged_and_points_of_history_say_how(world: Any) -> None:
    world.graph.tags.create("v1", at="dev")
    for name in ("v1", world.head("dev"), "dev@v1"):
        with pytest.raises(NotFound) as raised:
            world.graph.merge(name)
        assert raised.value.code == "branch.missing"
        assert "branch create" in str(raised.value.remedy)


def test_main_is_not_deleted_after_a_merge_and_nothing_is_merged(world: Any) -> None:
    world.put("Person", "eve")
    before = world.head("dev")
    with pytest.raises(InvalidInput) as raised:
        world.graph.merge("main", into="dev", delete_branch=True)
    assert raised.value.code == "branch.main"
    assert world.head("dev") == before
