"""Merging branches: outcomes, conflicts, decisions, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.commits import WriterKind
from omnigraph.api.merges import MergeOutcome, MergeRequest
from omnigraph.errors import Conflict, InvalidInput, MergeConflict, NotFound
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.merging.merge import merge_branches
from omnigraph.testing.histories import branch_off
from omnigraph.testing.kit import open_engine
from omnigraph.testing.kit_between import Between
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import open_branches

if TYPE_CHECKING:
    from omnigraph.api.commits import Commit
    from omnigraph.testing.histories import State


def conflicts_of(world: Any, **options: Any) -> list[dict[str, Any]]:
    told = world.graph.merge("dev", preview=True, **options).to_json()["conflicts"]
    return list(told)


def only(found: list[dict[str, Any]]) -> dict[str, Any]:
    assert len(found) == 1, found
    return found[0]


# --- outcomes ------------------------------------------------------------------------------------


def test_a_branch_without_commits_of_its_own_is_up_to_date(world: Any) -> None:
    before = world.head()
    world.put("Person", "eve")
    result = world.graph.merge("dev")
    assert result.outcome is MergeOutcome.UP_TO_DATE
    assert result.commit is None
    assert world.head() != before
    assert world.graph.merge("dev").to_json()["outcome"] == "already_up_to_date"


def test_a_branch_that_only_went_on_is_a_fast_forward(world: Any) -> None:
    forked = world.head()
    world.put("Person", "eve", branch="dev", age=1)
    there = world.state("dev")
    result = world.graph.merge("dev", actor="ada", message="all of it")
    assert result.outcome is MergeOutcome.FAST_FORWARD
    commit = result.commit
    assert commit is not None
    assert (commit.kind, commit.actor, commit.message) == (WriterKind.MERGE, "ada", "all of it")
    assert commit.parent is not None
    assert commit.parent.id == forked
    assert commit.merged_parent is not None
    assert commit.merged_parent.id == world.head("dev")
    assert commit.counts.nodes_inserted == 1
    assert world.state() == there
    require_whole(world.engine)


def test_changes_of_both_sides_are_one_commit_with_two_parents(world: Any) -> None:
    mine = world.put("Person", "bob", age=21).id
    other = world.put("Person", "bob", branch="dev", age=20, note="theirs").id
    world.put("Person", "eve", branch="dev")
    result = world.graph.merge("dev")
    assert result.outcome is MergeOutcome.MERGED
    commit = result.commit
    assert commit is not None
    assert commit.parent is not None
    assert commit.parent.id == mine
    assert commit.merged_parent is not None
    assert commit.merged_parent.id == world.head("dev")
    line = world.engine.lineage.line(world.engine.snapshot("dev").manifest.commit)
    assert other in [found.id for found in line]
    assert world.state()["Person"]["bob"] == {"name": "bob", "age": 21, "note": "theirs"}
    assert commit.counts.nodes_inserted == 1
    assert commit.counts.nodes_updated == 1
    require_whole(world.engine)


def test_a_merge_that_changes_nothing_is_recorded_all_the_same(world: Any) -> None:
    world.put("Person", "eve")
    world.put("Person", "eve", branch="dev")
    assert world.graph.merge("dev").outcome is MergeOutcome.MERGED
    assert world.graph.merge("dev").outcome is MergeOutcome.UP_TO_DATE


def test_the_same_keyed_edge_of_both_sides_is_one_edge(world: Any) -> None:
    key = '["ada","rome"]'
    for branch in ("main", "dev"):
        world.put("LivesIn", key, branch=branch, from_="ada", to="rome", since=1)
    world.put("Person", "eve", branch="dev")
    world.graph.merge("dev")
    assert world.state()["LivesIn"] == {key: {"from": "ada", "to": "rome", "since": 1}}


def test_a_commit_is_later_than_both_its_parents(world: Any) -> None:
    world.put("Person", "eve")
    world.put("Person", "fay", branch="dev")
    clock = world.engine.root.clock
    late = world.engine.snapshot("dev").manifest.commit.time_micros
    world.graph.merge("dev")
    head = world.engine.snapshot().manifest.commit
    assert head.time_micros > late
    assert head.time_micros <= clock.now_micros() + 1


# --- conflicts -----------------------------------------------------------------------------------


def test_different_values_of_one_property_are_a_conflict_about_it(world: Any) -> None:
    world.put("Person", "bob", age=21, note="n")
    world.put("Person", "bob", branch="dev", age=22, mail="b@x")
    found = only(conflicts_of(world))
    assert found["kind"] == "divergent_update"
    assert found["properties"] == ["age"]
    assert found["base"]["properties"]["age"] == 20
    assert found["ours"]["properties"]["age"] == 21
    assert found["theirs"]["properties"]["age"] == 22


def test_a_conflict_changes_nothing_and_is_told_whole(world: Any) -> None:
    world.put("Person", "bob", age=21)
    world.put("Person", "bob", branch="dev", age=22)
    before = world.head()
    with pytest.raises(MergeConflict) as raised:
        world.graph.merge("dev")
    told = raised.value.details["merge_conflicts"]
    assert told == conflicts_of(world)
    assert raised.value.details["total"] == 1
    assert world.head() == before


def test_an_edge_to_a_node_that_the_other_side_deleted_is_an_orphan(world: Any) -> None:
    world.drop("Person", "cyd")
    world.put("Knows", "k2", branch="dev", from_="ada", to="cyd")
    found = only(conflicts_of(world))
    assert (found["kind"], found["entity_id"], found["other_id"]) == ("orphan_edge", "k2", "cyd")
    assert found["properties"] == ["to"]
    assert "ours deleted" in found["message"]


def test_the_orphan_of_the_other_direction_is_found_as_well(world: Any) -> None:
    world.put("Knows", "k2", from_="cyd", to="ada")
    world.drop("Person", "cyd", branch="dev")
    found = only(conflicts_of(world))
    assert (found["kind"], found["entity_id"], found["other_id"]) == ("orphan_edge", "k2", "cyd")
    assert found["properties"] == ["from"]
    assert "theirs deleted" in found["message"]


@pytest.mark.parametrize(
    ("strategy", "edge", "node"), [("ours", False, False), ("theirs", True, True)]
)
def test_an_orphan_is_settled_by_dropping_the_edge_or_keeping_the_node(
    world: Any, strategy: str, edge: bool, node: bool
) -> None:
    world.drop("Person", "cyd")
    world.put("Knows", "k2", branch="dev", from_="ada", to="cyd")
    world.graph.merge("dev", strategy=strategy)
    state: State = world.state()
    assert ("k2" in state["Knows"], "cyd" in state["Person"]) == (edge, node)
    require_whole(world.engine)


def test_a_unique_value_of_both_sides_is_a_conflict(world: Any) -> None:
    world.put("Person", "bob", age=20, mail="m@x")
    world.put("Person", "cyd", branch="dev", mail="m@x")
    found = only(conflicts_of(world))
    assert found["kind"] == "unique_violation"
    assert {found["entity_id"], found["other_id"]} == {"bob", "cyd"}
    assert found["properties"] == ["mail"]


@pytest.mark.parametrize(("strategy", "holder"), [("ours", "bob"), ("theirs", "cyd")])
def test_a_unique_value_stays_with_the_side_that_is_chosen(
    world: Any, strategy: str, holder: str
) -> None:
    world.put("Person", "bob", age=20, mail="m@x")
    world.put("Person", "cyd", branch="dev", mail="m@x")
    world.graph.merge("dev", strategy=strategy)
    people = world.state()["Person"]
    assert [key for key, person in people.items() if person.get("mail") == "m@x"] == [holder]


def test_too_many_edges_of_both_sides_together_are_a_conflict(world: Any) -> None:
    world.put("Knows", "k2", from_="ada", to="cyd")
    world.put("Knows", "k3", branch="dev", from_="ada", to="ada")
    found = only(conflicts_of(world))
    assert (found["kind"], found["other_id"]) == ("cardinality_violation", "ada")
    for strategy, kept in (("ours", {"k1", "k2"}), ("theirs", {"k1", "k3"})):
        branch_off(world.engine, strategy)
        world.graph.merge("dev", into=strategy, strategy=strategy)
        assert set(world.state(strategy)["Knows"]) == kept


# --- decisions -----------------------------------------------------------------------------------


def test_each_conflict_can_be_decided_by_itself(world: Any) -> None:
    for branch, age in (("main", 1), ("dev", 2)):
        for name in ("ada", "bob", "cyd"):
            world.put("Person", name, branch=branch, age=age)
    found = {each["entity_id"]: each["conflict_id"] for each in conflicts_of(world)}
    choices = [
        {"conflict_id": found["ada"], "take": "ours"},
        {"conflict_id": found["bob"], "take": "theirs"},
        {"conflict_id": found["cyd"], "take": {"value": {"age": 3}}},
    ]
    assert world.graph.merge("dev", resolutions=choices, preview=True).conflicts == ()
    world.graph.merge("dev", resolutions=choices)
    people = world.state()["Person"]
    assert {key: person["age"] for key, person in people.items()} == {"ada": 1, "bob": 2, "cyd": 3}


def test_what_is_not_disputed_is_merged_around_a_choice(world: Any) -> None:
    world.put("Person", "bob", age=1, note="mine")
    world.put("Person", "bob", branch="dev", age=2, mail="b@x")
    (found,) = conflicts_of(world)
    choices = [{"conflict_id": found["conflict_id"], "take": "theirs"}]
    world.graph.merge("dev", resolutions=choices)
    assert world.state()["Person"]["bob"] == {
        "name": "bob",
        "age": 2,
        "note": "mine",
        "mail": "b@x",
    }


def test_a_deletion_can_be_upheld_taken_back_or_amended(world: Any) -> None:
    world.drop("Person", "cyd")
    world.put("Person", "cyd", branch="dev", age=5)
    (found,) = conflicts_of(world)
    outcomes = {"ours": None, "theirs": {"name": "cyd", "age": 5}}
    takes: list[tuple[Any, Any]] = [*outcomes.items()]
    takes += [({"value": None}, None), ({"value": {"age": 6}}, {"name": "cyd", "age": 6})]
    for number, (take, expected) in enumerate(takes):
        branch = f"try{number}"
        branch_off(world.engine, branch)
        choices = [{"conflict_id": found["conflict_id"], "take": take}]
        world.graph.merge("dev", into=branch, resolutions=choices)
        assert world.state(branch)["Person"].get("cyd") == expected


def test_a_broken_unique_value_can_be_given_another_one(world: Any) -> None:
    world.put("Person", "bob", age=20, mail="m@x")
    world.put("Person", "cyd", branch="dev", mail="m@x")
    (found,) = conflicts_of(world)
    choices = [{"conflict_id": found["conflict_id"], "take": {"value": {"mail": "other@x"}}}]
    world.graph.merge("dev", resolutions=choices)
    mails = {key: person.get("mail") for key, person in world.state()["Person"].items()}
    assert sorted(filter(None, mails.values())) == ["ada@x", "m@x", "other@x"]


def test_a_value_that_breaks_a_rule_is_a_conflict_of_its_own(world: Any) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "bob", branch="dev", age=2)
    (found,) = conflicts_of(world)
    choices = [{"conflict_id": found["conflict_id"], "take": {"value": {"age": 999}}}]
    with pytest.raises(MergeConflict) as raised:
        world.graph.merge("dev", resolutions=choices)
    (left,) = raised.value.details["merge_conflicts"]
    assert left["kind"] == "value_constraint_violation"


def test_a_conflict_that_another_decision_removes_need_not_be_decided(world: Any) -> None:
    world.drop("Person", "cyd")
    world.put("Person", "cyd", branch="dev", age=5)
    world.put("Knows", "k2", branch="dev", from_="ada", to="cyd")
    found = {each["kind"]: each["conflict_id"] for each in conflicts_of(world)}
    assert set(found) == {"delete_vs_update", "orphan_edge"}
    keep = [{"conflict_id": found["delete_vs_update"], "take": "theirs"}]
    moot = [{"conflict_id": found["orphan_edge"], "take": "ours"}]
    assert world.graph.merge("dev", resolutions=keep + moot, preview=True).conflicts == ()
    world.graph.merge("dev", resolutions=keep)
    state: State = world.state()
    assert "cyd" in state["Person"]
    assert "k2" in state["Knows"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "needs values for age"),
        ({"age": 1, "note": "x"}, "needs values for age"),
        ({"age": "old"}, "age"),
        (None, "null"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(world: Any, value: Any, why: str) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "bob", branch="dev", age=2)
    (found,) = conflicts_of(world)
    before = world.head()
    with pytest.raises(InvalidInput, match=why) as raised:
        world.graph.merge(
            "dev", resolutions=[{"conflict_id": found["conflict_id"], "take": {"value": value}}]
        )
    assert raised.value.code == "merge.bad_value"
    assert world.head() == before


def test_the_key_cannot_be_set_by_a_choice(world: Any) -> None:
    world.drop("Person", "cyd")
    world.put("Person", "cyd", branch="dev", age=5)
    (found,) = conflicts_of(world)
    choice = {"conflict_id": found["conflict_id"], "take": {"value": {"name": "dot"}}}
    with pytest.raises(InvalidInput, match="key"):
        world.graph.merge("dev", resolutions=[choice])


def test_choices_of_an_old_preview_are_refused(world: Any) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "bob", branch="dev", age=2)
    (found,) = conflicts_of(world)
    world.put("Person", "ada", branch="dev", age=3)
    choices = [{"conflict_id": found["conflict_id"], "take": "ours"}]
    # Something else moved: the conflict is still the same.
    assert world.graph.merge("dev", resolutions=choices, preview=True).conflicts == ()
    world.put("Person", "bob", branch="dev", age=3)
    before = world.head()
    with pytest.raises(Conflict) as stale:
        world.graph.merge("dev", resolutions=choices)
    assert stale.value.code == "merge.resolution_stale"
    with pytest.raises(InvalidInput) as unknown:
        world.graph.merge("dev", resolutions=[{"conflict_id": "x", "take": "ours"}])
    assert unknown.value.code == "merge.resolution_unknown"
    assert world.head() == before


def test_choices_for_a_merge_without_conflicts_are_refused(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    with pytest.raises(InvalidInput) as raised:
        world.graph.merge("dev", resolutions=[{"conflict_id": "x", "take": "ours"}])
    assert raised.value.code == "merge.resolution_unknown"
    assert world.graph.merge("dev", strategy="ours").outcome is MergeOutcome.FAST_FORWARD


def test_a_preview_writes_nothing(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    world.put("Person", "fay")
    before = (world.head(), world.head("dev"))
    preview = world.graph.merge("dev", preview=True)
    assert preview.to_json()["summary"] == [
        {
            "kind": "node",
            "type": "Person",
            "taken_over": False,
            "inserted": 1,
            "updated": 0,
            "deleted": 0,
        }
    ]
    assert preview.commit is None
    assert (world.head(), world.head("dev")) == before


# --- the source afterwards -----------------------------------------------------------------------


def test_the_source_is_deleted_when_that_was_asked(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    result = world.graph.merge("dev", delete_branch=True)
    assert result.branch_deleted is True
    assert open_branches(world.engine.root, world.engine.heads) == ["main"]
    assert "eve" in world.state()["Person"]
    require_whole(world.engine)


def test_an_up_to_date_branch_is_deleted_as_well(world: Any) -> None:
    assert world.graph.merge("dev", delete_branch=True).branch_deleted is True


def test_a_source_that_cannot_be_deleted_is_only_told(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    branch_off(world.engine, "child", "dev")
    result = world.graph.merge("dev", delete_branch=True)
    assert result.outcome is MergeOutcome.FAST_FORWARD
    assert result.branch_deleted is False
    assert "child" in (result.branch_delete_error or "")
    assert "eve" in world.state()["Person"]


def test_a_source_that_moved_on_is_not_deleted(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put("Person", "eve", branch="dev")
    run = world.engine.transactions.run

    def run_and_move(request: Any, writer: Any) -> Any:
        done = run(request, writer)
        monkeypatch.setattr(world.engine.transactions, "run", run)
        world.put("Person", "fay", branch="dev")
        return done

    monkeypatch.setattr(world.engine.transactions, "run", run_and_move)
    result = world.graph.merge("dev", delete_branch=True)
    assert result.branch_deleted is False
    assert "fay" in world.state("dev")["Person"]


# --- refusals ------------------------------------------------------------------------------------


def test_a_branch_cannot_be_merged_into_itself(world: Any) -> None:
    with pytest.raises(InvalidInput) as raised:
        world.graph.merge("dev", into="dev")
    assert raised.value.code == "merge.same_branch"


@pytest.mark.parametrize(("source", "into"), [("nobody", "main"), ("dev", "nobody")])
def test_a_branch_that_is_not_there_is_named(world: Any, source: str, into: str) -> None:
    with pytest.raises(NotFound, match="nobody") as raised:
        world.graph.merge(source, into=into)
    assert raised.value.code == "branch.missing"


def without_versions(world: Any, *commits: Commit, archived: bool = True) -> EmbeddedGraph:
    """The graph after cleanup has taken the manifests of some commits."""
    engine = world.engine
    if archived:
        engine.lineage.refresh()
        engine.lineage.archive()
    for commit in commits:
        engine.root.objects.delete(layout.manifest(commit.ref.incarnation, commit.ref.version))
    return EmbeddedGraph(type(engine)(dataclasses.replace(engine.root)))


def test_a_base_that_cleanup_took_is_named_and_nothing_is_changed(world: Any) -> None:
    base = world.engine.snapshot().manifest.commit
    first = world.engine.snapshot("dev").manifest
    world.put("Person", "eve")
    world.put("Person", "fay", branch="dev")
    copy = dataclasses.replace(
        base, ref=dataclasses.replace(base.ref, incarnation=first.incarnation, version=1)
    )
    graph = without_versions(world, base, copy)
    head = graph.engine.snapshot().commit_id
    with pytest.raises(NotFound) as raised:
        graph.merge("dev")
    assert raised.value.code == "merge.base_reclaimed"
    assert raised.value.details == {"commit_id": base.id}
    assert graph.engine.snapshot().commit_id == head


def test_branches_without_a_common_commit_are_unrelated(world: Any) -> None:
    base = world.engine.snapshot().manifest.commit
    one = world.put("Person", "eve")
    world.put("Person", "fay")
    world.put("Person", "gus", branch="dev")
    # Nobody remembers how main got here: neither its manifests nor an archive.
    graph = without_versions(world, base, one, archived=False)
    for path in world.engine.root.objects.list(layout.LINEAGE_TABLE):
        world.engine.root.objects.delete(path)
    with pytest.raises(Conflict) as raised:
        graph.merge("dev")
    assert raised.value.code == "merge.unrelated"


def test_a_merge_keeps_to_the_commit_that_was_asked_for(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    with pytest.raises(Conflict) as raised:
        world.graph.merge("dev", if_commit=world.head("dev"))
    assert raised.value.code == "commit.precondition"


# --- reading -------------------------------------------------------------------------------------


def test_tables_that_only_one_side_changed_are_never_opened(world: Any) -> None:
    world.put("Place", "oslo", branch="dev")
    world.put("Person", "eve")
    seen = Between(world.engine.root.tables)
    engine = open_engine(world.engine.root.objects.uri, wrap_tables=lambda _: seen)
    merge_branches(engine, MergeRequest("dev"))
    looked_at = {path for verb, path in seen.calls if path.startswith(("nodes/", "edges/"))}
    assert looked_at == set()
    state: State = world.state()
    assert {"oslo", "rome"} == set(state["Place"])
    assert "eve" in state["Person"]


def test_a_fast_forward_opens_no_table(world: Any) -> None:
    world.put("Person", "eve", branch="dev")
    world.put("Knows", "k2", branch="dev", from_="ada", to="eve")
    world.drop("Person", "cyd", branch="dev")
    seen = Between(world.engine.root.tables)
    engine = open_engine(world.engine.root.objects.uri, wrap_tables=lambda _: seen)
    assert merge_branches(engine, MergeRequest("dev")).outcome is MergeOutcome.FAST_FORWARD
    assert not [call for call in seen.calls if call[1].startswith(("nodes/", "edges/"))]
    assert world.state() == world.state("dev")


def test_only_the_types_that_are_concerned_are_read(world: Any) -> None:
    world.put("Person", "bob", age=21)
    world.put("Person", "ada", branch="dev", age=37, mail="ada@x")
    seen = Between(world.engine.root.tables)
    engine = open_engine(world.engine.root.objects.uri, wrap_tables=lambda _: seen)
    merge_branches(engine, MergeRequest("dev"))
    person = next(e.id for e in engine.snapshot().catalog.nodes if e.name == "Person")
    looked_at = {path for _, path in seen.calls if path.startswith(("nodes/", "edges/"))}
    assert all(path.startswith(f"nodes/{person}") for path in looked_at)


# --- histories that crossed ----------------------------------------------------------------------


def test_branches_that_merged_each_other_can_be_merged_again(world: Any) -> None:
    world.put("Person", "bob", age=1)
    world.put("Person", "cyd", branch="dev", age=2)
    branch_off(world.engine, "old-main")
    branch_off(world.engine, "old-dev", "dev")
    world.graph.merge("old-dev")
    world.graph.merge("old-main", into="dev")
    world.put("Person", "bob", age=3)
    world.put("Person", "cyd", branch="dev", age=4)
    world.graph.merge("dev")
    people = world.state()["Person"]
    assert (people["bob"]["age"], people["cyd"]["age"]) == (3, 4)
    world.graph.merge("main", into="dev")
    assert world.state("dev") == world.state()
    require_whole(world.engine)
