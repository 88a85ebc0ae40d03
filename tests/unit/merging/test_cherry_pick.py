"""Undoing a commit, doing it elsewhere, and moving a branch back."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.api.change_pages import DiffRequest
from omnigraph.api.commits import WriterKind
from omnigraph.errors import Conflict, InvalidInput, MergeConflict, NotFound
from omnigraph.history.diff import diff
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import history
from omnigraph.testing.verify import require_whole


def test_reverting_a_commit_undoes_it_and_keeps_what_came_later(world: Any) -> None:
    wrong = world.put("Person", "bob", age=99, note="wrong").id
    world.put("Person", "bob", age=99, note="wrong", mail="b@x")
    world.put("Person", "eve")
    result = world.graph.revert(wrong, actor="ada")
    assert result.commit is not None
    assert result.commit.kind is WriterKind.REVERT
    assert result.commit.message == f"Revert {wrong}"
    assert result.commit.merged_parent is None
    people = world.state()["Person"]
    assert people["bob"] == {"name": "bob", "age": 20, "mail": "b@x"}
    assert "eve" in people
    require_whole(world.engine)


def test_reverting_twice_changes_nothing_the_second_time(world: Any) -> None:
    wrong = world.put("Person", "bob", age=99).id
    assert world.graph.revert(wrong).commit is not None
    before = world.head()
    assert world.graph.revert(wrong).commit is None
    assert world.head() == before


def test_reverting_a_revert_does_it_again(world: Any) -> None:
    after = world.state
    wrong = world.put("Person", "eve", age=1).id
    there = after()
    undone = world.graph.revert(wrong).commit
    world.graph.revert(undone.id)
    assert after() == there


def test_reverting_a_deletion_brings_the_edges_back_too(world: Any) -> None:
    before = world.state()
    gone = world.drop("Person", "bob").id
    assert world.state()["Knows"] == {}
    world.graph.revert(gone)
    assert world.state() == before


def test_reverting_an_insert_that_others_rely_on_is_a_conflict(world: Any) -> None:
    added = world.put("Person", "eve").id
    world.put("Knows", "k2", from_="eve", to="ada")
    preview = world.graph.revert(added, preview=True).to_json()
    assert [found["kind"] for found in preview["conflicts"]] == ["orphan_edge"]
    with pytest.raises(MergeConflict, match="revert"):
        world.graph.revert(added)
    world.graph.revert(added, strategy="theirs")
    assert "eve" not in world.state()["Person"]
    assert "k2" not in world.state()["Knows"]
    require_whole(world.engine)


def test_reverting_what_was_changed_again_is_a_conflict_about_that(world: Any) -> None:
    wrong = world.put("Person", "bob", age=30).id
    world.put("Person", "bob", age=40)
    (found,) = world.graph.revert(wrong, preview=True).conflicts
    assert found.kind == "divergent_update"
    choices = [{"conflict_id": found.conflict_id, "take": {"value": {"age": 35}}}]
    world.graph.revert(wrong, resolutions=choices)
    assert world.state()["Person"]["bob"]["age"] == 35


def test_reverting_a_merge_undoes_what_it_brought(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    world.put("Person", "fay")
    before = world.state()
    merged = world.graph.merge("dev").commit
    world.graph.revert(merged.id)
    assert world.state() == before


def test_a_picked_commit_does_here_what_it_did_there(world: Any) -> None:
    world.put("Person", "bob", branch="dev", age=21)
    wanted = world.put("Person", "bob", branch="dev", age=21, note="picked").id
    world.put("Person", "eve", branch="dev")
    result = world.graph.cherry_pick(wanted, message="only this")
    assert result.commit.kind is WriterKind.CHERRY_PICK
    assert result.commit.message == "only this"
    assert world.state()["Person"]["bob"] == {"name": "bob", "age": 20, "note": "picked"}
    assert "eve" not in world.state()["Person"]
    require_whole(world.engine)


def test_picking_twice_changes_nothing_the_second_time(world: Any) -> None:
    wanted = world.put("Person", "eve", branch="dev").id
    assert world.graph.cherry_pick(wanted).commit is not None
    assert world.graph.cherry_pick(wanted).commit is None


def test_picking_an_edge_without_its_node_is_a_conflict(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    wanted = world.put("Knows", "k2", branch="dev", from_="eve", to="ada").id
    (found,) = world.graph.cherry_pick(wanted, preview=True).conflicts
    assert (found.kind, found.other) == ("orphan_edge", "eve")
    world.graph.cherry_pick(wanted, strategy="theirs")
    assert "eve" in world.state()["Person"]
    assert "k2" in world.state()["Knows"]
    require_whole(world.engine)


@pytest.mark.parametrize("verb", ["revert", "cherry_pick"])
def test_the_first_commit_and_unknown_ones_are_refused(world: Any, verb: str) -> None:
    act = getattr(world.graph, verb)
    first = history(world.engine)[-1].id
    with pytest.raises(InvalidInput) as parentless:
        act(first)
    assert parentless.value.code == "commit.parentless"
    with pytest.raises(NotFound) as missing:
        act("01K5T3V9QX8R2M4N6P7S9W0Y1Z")
    assert missing.value.code == "commit.missing"


# --- reset ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["revert", "cherry_pick"])
def test_a_commit_that_only_moved_files_is_nothing_to_undo_or_repeat(world: Any, verb: str) -> None:
    world.graph.ensure_indices(force=True)
    indexed = world.engine.snapshot().manifest
    assert indexed.commit.kind is WriterKind.MAINTENANCE
    result = getattr(world.graph, verb)(indexed.commit.id)
    assert (result.commit, result.types, result.conflicts) == (None, (), ())
    # The indexes that it built are still there.
    assert world.engine.snapshot().manifest == indexed


def test_reverting_a_definition_that_the_branch_never_had_makes_no_commit(world: Any) -> None:
    schema = world.graph.schema.replace("note: String?", "note: String?\n    nick: String?")
    added = world.graph.apply_schema(schema).commit
    before = world.head("dev")
    assert world.graph.revert(added.id, branch="dev").commit is None
    assert world.head("dev") == before


def test_a_branch_is_moved_to_an_older_snapshot_as_a_new_commit(world: Any) -> None:
    then, before = world.head(), world.state()
    world.drop("Person", "bob")
    latest = world.put("Person", "eve").id
    result = world.graph.branches.reset("main", to=then, actor="ada")
    assert result.commit.kind is WriterKind.RESET
    assert result.commit.parent.id == latest
    assert result.snapshot.id == then
    assert world.state() == before
    assert list(diff(world.engine, DiffRequest(then, "main"))) == []
    # Nothing is forgotten: the reset itself can be undone.
    world.graph.branches.reset("main", to=latest)
    assert "eve" in world.state()["Person"]
    require_whole(world.engine)


def test_a_branch_may_be_moved_to_what_another_branch_holds(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    world.graph.branches.reset("main", to="dev")
    assert world.state() == world.state("dev")


def test_moving_a_branch_to_what_it_holds_makes_no_commit(world: Any) -> None:
    before = world.head()
    assert world.graph.branches.reset("main", to=before).commit is None
    assert world.graph.branches.reset("main", to="dev").commit is None
    assert world.head() == before


def test_a_reset_loses_against_a_commit_that_it_did_not_see(world: Any) -> None:
    then = world.head()
    world.put("Person", "eve")
    with pytest.raises(Conflict) as raised:
        world.graph.branches.reset("main", to=then, if_commit=then)
    assert raised.value.code == "commit.precondition"
    with pytest.raises(NotFound):
        world.graph.branches.reset("main", to="nowhere")
    with pytest.raises(NotFound):
        world.graph.branches.reset("nowhere", to=then)


def test_a_branch_that_was_reset_takes_writes_and_merges(world: Any) -> None:
    then = world.head()
    world.put("Person", "bob", age=99)
    world.graph.branches.reset("main", to=then)
    write(world.engine, {"Person": {"bob": {"name": "bob", "age": 21}}})
    branch_off(world.engine, "next")
    world.put("Person", "ada", branch="next", age=37, mail="ada@x")
    world.put("Person", "cyd", age=3)
    world.graph.merge("next")
    people = world.state()["Person"]
    assert {key: person.get("age") for key, person in people.items()} == {
        "ada": 37,
        "bob": 21,
        "cyd": 3,
    }
    require_whole(world.engine)
