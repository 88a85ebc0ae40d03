"""Random histories: differences, feeds and undoing, against the states themselves."""

from __future__ import annotations

import tempfile
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.api.change_pages import CommitChangesRequest, DiffRequest, PollRequest
from omnigraph.api.merges import MergeRequest, PickRequest
from omnigraph.changes import compare
from omnigraph.changes.comparison import SnapshotComparison
from omnigraph.history.commit_changes import commit_changes
from omnigraph.history.diff import diff
from omnigraph.history.feed import poll
from omnigraph.merging.cherry_pick import revert
from omnigraph.merging.merge import merge_branches
from omnigraph.merging.resolutions import parse_choices
from omnigraph.testing.examples import examples
from omnigraph.testing.histories import State, apply_change, branch_off, state_of, write
from omnigraph.testing.kit import history, new_engine

if TYPE_CHECKING:
    from omnigraph.session.engine import Engine

SCHEMA = """
node Thing {
    name: String @key
    count: I64?
    ratio: F32?
    on: Date?
    marks: [String]?
    place: Vector(2)?
    data: Blob?
}

edge Link: Thing -> Thing {
    weight: F64?
}
"""
NAMES = ("a", "b", "c", "é", "𝄞")
things = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(-(2**40), 2**40),
        "ratio": st.sampled_from([0.5, 1.5]),
        "marks": st.lists(st.sampled_from(["", "x", "yy"]), max_size=2),
        "place": st.sampled_from([[0.5, 1.0], [1.0, 0.5]]),
        "data": st.binary(max_size=12),
    },
)
links = st.fixed_dictionaries({}, optional={"weight": st.sampled_from([0.0, 1.0])})
# What a commit does: things put, things dropped, links put.
commits = st.tuples(
    st.dictionaries(st.sampled_from(NAMES), things, max_size=3),
    st.sets(st.sampled_from(NAMES), max_size=1),
    st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), links, max_size=2),
)
# On main, or on a branch that is merged now and then.
histories = st.lists(
    st.tuples(st.sampled_from(["main", "main", "side", "merge"]), commits), min_size=1, max_size=10
)
RELAXED = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)


def play(engine: Engine, steps: list[tuple[str, Any]]) -> list[str]:
    """Write a history; all its commits."""
    branch_off(engine, "side")
    made: list[str] = [engine.snapshot().commit_id]
    for branch, (put, dropped, linked) in steps:
        if branch == "merge":
            choices = parse_choices("theirs", None)
            merged = merge_branches(engine, MergeRequest("side", choices=choices))
            made += [merged.commit.id] if merged.commit else []
            continue
        there = set(state_of(engine, branch)["Thing"]) - dropped | set(put)
        upserts = {
            "Thing": {key: {"name": key, **values} for key, values in put.items()},
            "Link": {
                f"{one}>{other}": {"from": one, "to": other, **values}
                for (one, other), values in linked.items()
                if {one, other} <= there
            },
        }
        commit = write(engine, upserts, {"Thing": dropped - set(put)}, branch=branch)
        made += [commit.id] if commit else []
    return made


def in_order(changes: list[Any]) -> bool:
    return all(one.position < other.position for one, other in pairwise(changes))


@RELAXED
@given(histories)
def test_a_difference_applied_to_one_target_gives_the_other(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        made = play(engine, steps)
        states = {commit: state_of(engine, commit) for commit in made}
        for one, other in product(made[:5] + made[-2:], repeat=2):
            found = list(diff(engine, DiffRequest(one, other)))
            assert in_order(found)
            state: State = {kind: dict(entities) for kind, entities in states[one].items()}
            for change in found:
                apply_change(state, change)
            assert state == states[other]
            assert sum(part.total for part in diff(engine, DiffRequest(one, other)).summary()) == (
                len(found)
            )


@RELAXED
@given(histories)
def test_what_the_files_tell_is_what_comparing_everything_tells(
    steps: list[tuple[str, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        made = play(engine, steps)
        for one, other in product(made[:3] + made[-3:], repeat=2):
            before, after = engine.snapshot(one), engine.snapshot(other)
            quick = list(SnapshotComparison(before, after).changes())
            with patch.object(compare, "_reuses_columns", return_value=True):
                slow = list(SnapshotComparison(before, after).changes())
            with (
                patch.object(compare, "_ROWS_PER_PASS", 2),
                patch.object(compare, "_KEPT_BYTES_MAX", 0),
            ):
                in_passes = list(SnapshotComparison(before, after).changes())
            assert quick == slow == in_passes


@RELAXED
@given(histories, st.integers(1, 3))
def test_a_feed_from_the_beginning_replays_the_branch(
    steps: list[tuple[str, Any]], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        play(engine, steps)
        state: State = {"Thing": {}, "Link": {}}
        told: list[str] = []
        page = poll(engine, PollRequest(start="beginning", limit=limit, commits=2))
        while True:
            for block in page.blocks:
                told += [block.commit.id] if told[-1:] != [block.commit.id] else []
                for change in block.changes:
                    apply_change(state, change)
            if page.next_page_token is not None:
                page = poll(engine, PollRequest(page_token=page.next_page_token, limit=limit))
            elif not page.caught_up:
                page = poll(engine, PollRequest(cursor=page.cursor, limit=limit, commits=2))
            else:
                break
        assert state == state_of(engine)
        assert told == [commit.id for commit in history(engine)][::-1]


@RELAXED
@given(histories)
def test_reverting_the_last_commit_restores_what_was_before(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        play(engine, steps)
        newest = history(engine)[0]
        if newest.parent is None:
            return
        revert(engine, PickRequest(newest.id))
        assert state_of(engine) == state_of(engine, newest.parent.id)
        assert list(diff(engine, DiffRequest(newest.parent.id, "main"))) == []
        pages = commit_changes(engine, CommitChangesRequest(history(engine)[0].id))
        backwards = diff(engine, DiffRequest(newest.id, newest.parent.id))
        assert [(c.id, c.op) for c in pages.block.changes] == [(c.id, c.op) for c in backwards]
