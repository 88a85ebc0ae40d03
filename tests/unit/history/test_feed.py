"""The changes of a commit, page by page; the feed of a branch; a baseline to begin with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.api.change_pages import FeedPage
from omnigraph.api.changes import ChangePosition
from omnigraph.changes.model import ChangeFilter
from omnigraph.changes.tokens import (
    TOKEN_BYTES_MAX,
    FeedCursor,
    FeedToken,
    filter_digest,
)
from omnigraph.errors import InvalidInput, LimitExceeded, NotFound
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.history import pages
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import SCHEMA, history, new_engine
from omnigraph.versioning import layout
from omnigraph.versioning.branches import delete_branch

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine


def id_of(commit: Commit | None) -> str:
    assert commit is not None
    return commit.id


def people(*names: str) -> dict[str, dict[str, Any]]:
    return {"Person": {name: {"name": name} for name in names}}


def ids(page: Any) -> list[str]:
    return [change.id for change in page.block.changes]


# --- one commit ----------------------------------------------------------------------------------


def test_a_commit_is_told_against_its_first_parent(engine: Engine, graph: EmbeddedGraph) -> None:
    newest = history(engine)[0]
    body = graph.changes.of_commit(newest.id).to_json()
    assert body["cause"] == {
        "graph_commit_id": newest.id,
        "parent_commit_id": newest.parent.id if newest.parent else None,
        "authored_branch": "main",
        "authored_at": newest.time_micros,
    }
    assert [(change["op"], change["id"]) for change in body["changes"]] == [
        ("delete", "bob"),
        ("delete", "k1"),
    ]


def test_a_merge_is_told_against_the_branch_that_it_was_merged_into(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, people("eve"), branch="dev")
    merged = graph.merge("dev", actor="ada").commit
    assert merged is not None
    body = graph.changes.of_commit(merged.id).to_json()
    assert [change["id"] for change in body["changes"]] == ["eve"]
    assert body["cause"]["merged_parent_commit_id"] == engine.snapshot("dev").commit_id
    assert body["cause"]["actor_id"] == "ada"


def test_the_first_commit_has_no_changes_to_tell(engine: Engine, graph: EmbeddedGraph) -> None:
    assert graph.changes.of_commit(history(engine)[-1].id).block.changes == ()


def test_a_long_commit_comes_in_pages(engine: Engine, graph: EmbeddedGraph) -> None:
    names = [f"p{number:03d}" for number in range(25)]
    commit = write(engine, people(*names))
    assert commit is not None
    page = graph.changes.of_commit(commit.id, limit=10)
    seen = ids(page)
    while page.next_page_token is not None:
        assert len(page.next_page_token) <= TOKEN_BYTES_MAX
        page = graph.changes.of_commit(commit.id, limit=10, page_token=page.next_page_token)
        seen += ids(page)
    assert seen == names
    assert [change.id for change in graph.changes.all_of_commit(commit.id)] == names


def test_a_filter_counts_only_what_it_lets_through(engine: Engine, graph: EmbeddedGraph) -> None:
    newest = history(engine)[0].id
    page = graph.changes.of_commit(newest, limit=1, kinds=["edge"])
    assert (ids(page), page.next_page_token) == (["k1"], None)


def test_large_changes_make_short_pages(
    engine: Engine, graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_BYTES_DEFAULT", 400)
    commit = write(engine, people("a", "b", "c", "d", "e", "f"))
    assert commit is not None
    page = graph.changes.of_commit(commit.id)
    assert 0 < len(ids(page)) < 6
    assert page.next_page_token is not None
    monkeypatch.setattr(pages, "_BYTES_MAX", 50)
    with pytest.raises(LimitExceeded) as raised:
        graph.changes.of_commit(commit.id)
    assert raised.value.code == "changes.too_large"


def test_limits_are_limited(engine: Engine, graph: EmbeddedGraph) -> None:
    newest = history(engine)[0].id
    with pytest.raises(LimitExceeded) as raised:
        graph.changes.of_commit(newest, limit=8_193)
    assert raised.value.details["resource_limit"]["limit"] == 8_192
    with pytest.raises(InvalidInput):
        graph.changes.of_commit(newest, limit=0)
    with pytest.raises(InvalidInput):
        graph.changes.poll(commits=513)


def test_a_page_token_of_another_commit_or_filter_is_rejected(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    newest, before = history(engine)[:2]
    token = graph.changes.of_commit(newest.id, limit=1).next_page_token
    for other in ({"commit_id": before.id}, {"commit_id": newest.id, "ops": ["delete"]}):
        with pytest.raises(InvalidInput, match="change cursor rejected"):
            graph.changes.of_commit(page_token=token, **other)


# --- the feed ------------------------------------------------------------------------------------


def test_a_feed_begins_now_and_tells_what_comes(engine: Engine, graph: EmbeddedGraph) -> None:
    first = graph.changes.poll()
    assert (first.blocks, first.caught_up) == ((), True)
    one, two = write(engine, people("eve")), write(engine, people("fay"))
    assert one is not None
    assert two is not None
    page = graph.changes.poll(cursor=first.cursor)
    assert [block.commit.id for block in page.blocks] == [one.id, two.id]
    assert page.caught_up is True
    again = graph.changes.poll(cursor=page.cursor)
    assert (again.blocks, again.caught_up) == ((), True)
    # Asking with the old cursor tells it once more.
    assert graph.changes.poll(cursor=first.cursor).to_json() == page.to_json()


def test_a_feed_can_begin_at_the_beginning_or_after_a_commit(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    line = [commit.id for commit in history(engine)][::-1]
    page = graph.changes.poll(start="beginning")
    assert [block.commit.id for block in page.blocks] == line
    page = graph.changes.poll(start=f"after:{line[1].lower()}")
    assert [block.commit.id for block in page.blocks] == line[2:]
    with pytest.raises(InvalidInput, match="not in the history"):
        graph.changes.poll(start="after:01K5T3V9QX8R2M4N6P7S9W0Y1Z")
    with pytest.raises(InvalidInput) as raised:
        graph.changes.poll(start="yesterday")
    assert raised.value.code == "changes.bad_start"


def test_a_branch_tells_what_it_inherited(engine: Engine, graph: EmbeddedGraph) -> None:
    write(engine, people("eve"), branch="dev")
    page = graph.changes.poll(branch="dev", start="beginning")
    assert [commit.id for commit in history(engine, "dev")][::-1] == [
        block.commit.id for block in page.blocks
    ]
    assert page.blocks[-1].commit.branch == "dev"
    assert page.blocks[1].commit.branch == "main"


def test_a_poll_tells_a_bounded_number_of_commits(engine: Engine, graph: EmbeddedGraph) -> None:
    page = graph.changes.poll(start="beginning", commits=2)
    assert (len(page.blocks), page.caught_up) == (2, False)
    rest = graph.changes.poll(cursor=page.cursor)
    assert rest.caught_up is True
    assert len(page.blocks) + len(rest.blocks) == len(history(engine))


def test_a_page_that_ends_within_a_commit_has_no_cursor(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    start = graph.changes.poll().cursor
    commit = write(engine, people(*"abcde"))
    assert commit is not None
    page = graph.changes.poll(cursor=start, limit=3)
    assert (page.cursor, page.caught_up) == (None, None)
    assert "cursor" not in page.to_json()
    # What is committed meanwhile is left to the next poll.
    write(engine, people("later"))
    rest = graph.changes.poll(page_token=page.next_page_token, limit=3)
    told = [change.id for part in (page, rest) for block in part.blocks for change in block.changes]
    assert told == ["a", "b", "c", "d", "e"]
    assert rest.caught_up is True
    (block,) = graph.changes.poll(cursor=rest.cursor).blocks
    assert [change.id for change in block.changes] == ["later"]


def test_commits_that_a_filter_leaves_nothing_of_are_empty_blocks(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    page = graph.changes.poll(start="beginning", types=["Place"])
    assert len(page.blocks) == len(history(engine))
    assert all(block.changes == () for block in page.blocks)


@pytest.mark.parametrize("other", [{"types": ["Person"]}, {"kinds": ["node"]}, {"ops": ["insert"]}])
def test_a_cursor_of_another_filter_is_rejected(
    graph: EmbeddedGraph, other: dict[str, Any]
) -> None:
    cursor = graph.changes.poll().cursor
    with pytest.raises(InvalidInput, match="another filter"):
        graph.changes.poll(cursor=cursor, **other)


RENAMED = SCHEMA.replace("node Person", 'node Human @rename_from("Person")').replace(
    "Person -> Person", "Human -> Human"
)


def test_a_feed_goes_on_under_either_name_of_a_type_that_was_renamed(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    cursor = graph.changes.poll(types=["Person"]).cursor
    write(engine, people("eve"))
    graph.apply_schema(RENAMED)
    write(engine, {"Human": {"fay": {"name": "fay"}}})
    page = FeedPage(())
    for name in ("Person", "Human"):
        page = graph.changes.poll(types=[name], cursor=cursor)
        told = [(change.id, change.entity.name) for each in page.blocks for change in each.changes]
        # Each in the words of its own commit.
        assert told == [("eve", "Person"), ("fay", "Human")]
    assert page.cursor is not None
    assert graph.changes.poll(types=["Human"], cursor=page.cursor).caught_up
    with pytest.raises(InvalidInput, match="no type 'Person'"):
        graph.changes.poll(types=["Person"], cursor=page.cursor)


def test_a_feed_tells_the_end_of_a_type_that_was_dropped_and_is_not_fooled_by_its_namesake(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, {"Place": {"rome": {"name": "rome"}}})
    cursor = graph.changes.poll(types=["Place"]).cursor
    graph.apply_schema(SCHEMA.replace("node Place {\n    name: String @key\n}\n", ""))
    for _ in range(2):
        page = graph.changes.poll(types=["Place"], cursor=cursor)
        told = [(change.id, change.op.name) for each in page.blocks for change in each.changes]
        assert told == [("rome", "DELETE")]
        # The second time there is another type of that name: the cursor is about the first.
        graph.apply_schema(SCHEMA)
        write(engine, {"Place": {"oslo": {"name": "oslo"}}})


def test_a_cursor_of_another_branch_is_rejected(engine: Engine, graph: EmbeddedGraph) -> None:
    cursor = graph.changes.poll(branch="dev").cursor
    with pytest.raises(InvalidInput, match="another branch"):
        graph.changes.poll(cursor=cursor)
    delete_branch(engine.root, engine.heads, "dev")
    with pytest.raises(NotFound):
        graph.changes.poll(branch="dev", cursor=cursor)
    branch_off(engine, "dev")
    with pytest.raises(InvalidInput, match="deleted since"):
        graph.changes.poll(branch="dev", cursor=cursor)


def test_a_page_token_does_not_lead_to_another_branch(engine: Engine, graph: EmbeddedGraph) -> None:
    ref, head = engine.heads.of_branch("main")
    secret = write(engine, {"Person": {"eve": {"name": "eve"}}}, branch="dev")
    assert secret is not None
    made_up = FeedToken(
        engine.root.stamp.graph_id,
        ref.incarnation,
        filter_digest(ChangeFilter()),
        None if secret.parent is None else secret.parent.id,
        secret.id,
        0,
        ChangePosition(False, "", 0),
    )
    with pytest.raises(InvalidInput, match="is not in the history of 'main'"):
        graph.changes.poll(page_token=made_up.encode())
    honest = graph.changes.poll(page_token=replace(made_up, done=None, cut=head.commit.id).encode())
    assert honest.caught_up


@pytest.mark.parametrize(
    "asked", [{"commits": "x"}, {"start": 3}, {"types": [None]}, {"limit": "x"}, {"kinds": [None]}]
)
def test_what_is_not_even_of_the_right_type_is_refused(
    graph: EmbeddedGraph, asked: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        graph.changes.poll(**asked)


def test_a_cursor_of_another_graph_is_rejected(graph: EmbeddedGraph, tmp_path: Path) -> None:
    other = EmbeddedGraph(new_engine(tmp_path / "other", schema=SCHEMA))
    with pytest.raises(InvalidInput, match="another graph"):
        graph.changes.poll(cursor=other.changes.poll().cursor)


def test_a_page_token_is_no_cursor_and_a_poll_goes_on_at_one_place(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    token = graph.changes.poll(start="beginning", limit=1).next_page_token
    assert token is not None
    with pytest.raises(InvalidInput, match="next page of one poll"):
        graph.changes.poll(cursor=token)
    with pytest.raises(InvalidInput) as raised:
        graph.changes.poll(cursor=token, start="now")
    assert raised.value.code == "changes.two_starts"


def test_history_that_cleanup_has_removed_is_a_gap(engine: Engine, graph: EmbeddedGraph) -> None:
    start = graph.changes.poll().cursor
    assert start is not None
    one, two = write(engine, people("eve")), write(engine, people("fay"))
    assert one is not None
    assert two is not None
    engine.lineage.refresh()
    engine.lineage.archive()
    engine.root.objects.delete(layout.manifest(one.ref.incarnation, one.ref.version))
    fresh = EmbeddedGraph(type(engine)(replace(engine.root)))
    with pytest.raises(NotFound) as raised:
        fresh.changes.poll(cursor=start)
    assert raised.value.code == "change_feed.gap"
    assert raised.value.details["change_feed_gap"] == {
        "cursor": start,
        "first_unreadable_commit_id": one.id,
    }
    with pytest.raises(NotFound) as alone:
        fresh.changes.of_commit(one.id)
    assert alone.value.code == "change_feed.gap"
    # A baseline leads out of it.
    after = fresh.changes.baseline().cursor
    assert fresh.changes.poll(cursor=after).caught_up is True


# --- baseline ------------------------------------------------------------------------------------


def test_a_baseline_is_the_snapshot_and_the_cursor_behind_it(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    baseline = graph.changes.baseline()
    later = write(engine, people("later"))
    assert later is not None
    *records, last = [json.loads(line) for line in b"".join(baseline.lines()).splitlines()]
    assert {record["data"]["name"] for record in records} == {"ada", "cyd"}
    assert last["baseline"]["snapshot_commit_id"] == history(engine)[1].id
    page = graph.changes.poll(cursor=last["baseline"]["resume_cursor"])
    assert [block.commit.id for block in page.blocks] == [later.id]


def test_a_baseline_keeps_to_kinds_and_types(engine: Engine, graph: EmbeddedGraph) -> None:
    write(engine, {"Knows": {"k9": {"from": "ada", "to": "cyd"}}})
    baseline = graph.changes.baseline(kinds=["edge"], ops=["delete"])
    records = [json.loads(line) for line in b"".join(baseline.records()).splitlines()]
    assert [record["edge"] for record in records] == ["Knows"]
    assert graph.changes.poll(cursor=baseline.cursor, kinds=["edge"], ops=["delete"]).caught_up
    with pytest.raises(InvalidInput):
        graph.changes.poll(cursor=baseline.cursor)
    assert FeedCursor.decode(baseline.cursor).commit == baseline.snapshot_commit_id


# --- one entity ----------------------------------------------------------------------------------


def test_the_history_of_an_entity_names_every_commit_that_changed_it(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    found = graph.blame("Person", "bob")
    line = history(engine)
    assert [(commit.id, change.op.name) for commit, change in found.entries] == [
        (line[0].id, "DELETE"),
        (line[2].id, "INSERT"),
    ]
    ada = graph.blame("Person", "ada").to_json()["history"]
    assert [entry["change"]["op"] for entry in ada] == ["update", "insert"]
    assert ada[0]["change"]["changed"] == ["age"]
    assert graph.blame("Person", "nobody").entries == ()
    with pytest.raises(InvalidInput) as refused:
        graph.blame("Person", 5)  # type: ignore[arg-type]
    assert refused.value.code == "entity.bad_id"


def test_the_history_goes_through_merges(engine: Engine, graph: EmbeddedGraph) -> None:
    made = write(engine, people("eve"), branch="dev")
    assert made is not None
    write(engine, people("fay"))
    merged = graph.merge("dev").commit
    assert merged is not None
    assert [commit.id for commit, _ in graph.blame("Person", "eve").entries] == [merged.id, made.id]


def test_writing_an_entity_as_it_is_changes_nothing(engine: Engine, graph: EmbeddedGraph) -> None:
    commit = write(engine, {"Person": {"ada": {"name": "ada", "age": 37}}})
    assert commit is not None
    assert graph.changes.of_commit(commit.id).block.changes == ()
    assert commit.id not in [found.id for found, _ in graph.blame("Person", "ada").entries]


def test_a_long_history_is_cut_where_it_was_asked(engine: Engine, graph: EmbeddedGraph) -> None:
    for age in range(5):
        write(engine, {"Person": {"ada": {"name": "ada", "age": age}}})
    found = graph.blame("Person", "ada", limit=3)
    assert (len(found.entries), found.more) == (3, True)
    assert graph.blame("Person", "ada", limit=100).more is False
    with pytest.raises(InvalidInput):
        graph.blame("Person", "ada", limit=0)
    with pytest.raises(InvalidInput):
        graph.blame("Persn", "ada")


# --- one entity, through merges that discard changes ---------------------------------------------


def age(engine: Engine, value: int, branch: str = "main") -> str:
    commit = write(engine, {"Person": {"ada": {"name": "ada", "age": value}}}, branch=branch)
    assert commit is not None
    return commit.id


def blamed(graph: EmbeddedGraph, key: str = "ada", target: str = "main") -> list[str]:
    return [commit.id for commit, _ in graph.blame("Person", key, target=target).entries]


def test_a_change_that_a_merge_discards_is_not_in_the_history(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    before = blamed(graph)
    branch_off(engine, "side")
    discarded, kept = age(engine, 50, "side"), age(engine, 60)
    graph.merge("side", strategy="ours")
    assert blamed(graph) == [kept, *before]
    # The branch that takes main afterwards has the value of main, and the merge that brought it.
    merged = graph.merge("main", into="side", strategy="theirs").commit
    assert merged is not None
    assert blamed(graph, target="side") == [merged.id, kept, *before]
    assert discarded not in blamed(graph, target="side")


def test_the_history_of_a_value_that_the_other_side_brought(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    before = blamed(graph)
    branch_off(engine, "side")
    taken, _discarded = age(engine, 50, "side"), age(engine, 60)
    merged = graph.merge("side", strategy="theirs").commit
    assert merged is not None
    assert blamed(graph) == [merged.id, taken, *before]
    # The line of the other side has the value alone: the first merge did not contribute to it.
    newest = age(engine, 70, "side")
    again = graph.merge("side").commit
    assert again is not None
    assert blamed(graph) == [again.id, newest, taken, *before]


def test_an_entity_that_both_sides_insert_comes_from_one(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    branch_off(engine, "side")
    kept, _ = write(engine, people("eve")), write(engine, people("eve"), branch="side")
    assert kept is not None
    graph.merge("side")
    assert blamed(graph, "eve") == [kept.id]


def test_a_discarded_delete_is_not_in_the_history(engine: Engine, graph: EmbeddedGraph) -> None:
    before = blamed(graph)
    branch_off(engine, "side")
    graph.mutate('query q() { delete Person where name = "ada" }', branch="side")
    kept = age(engine, 60)
    graph.merge("side", strategy="ours")
    assert blamed(graph) == [kept, *before]


def test_a_merge_of_two_properties_discards_by_property(tmp_path: Path) -> None:
    schema = "node P { k: String @key\n a: I64?\n b: I64? }"
    graph = omnigraph.init(tmp_path / "p.omni", schema, durability="process")

    def change(body: str, branch: str = "main") -> str:
        query = 'query q() { update P set { BODY } where k = "x" }'.replace("BODY", body)
        return id_of(graph.mutate(query, branch=branch).commit)

    first = id_of(graph.mutate('query q() { insert P { k: "x", a: 0, b: 0 } }').commit)
    graph.branches.create("side")
    ours = change("a: 1")
    _discarded, theirs = change("a: 2", "side"), change("b: 3", "side")
    merged = graph.merge("side", strategy="ours").commit
    assert merged is not None
    found = graph.blame("P", "x").entries
    assert found[0][1].after is not None
    assert found[0][1].after.properties == {"k": "x", "a": 1, "b": 3}
    assert [commit.id for commit, _ in found] == [merged.id, theirs, ours, first]
