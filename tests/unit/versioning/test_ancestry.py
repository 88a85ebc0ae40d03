"""Common ancestors on random histories, against their definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.commits import Commit, CommitRef, WriterKind
from omnigraph.runtime.ids import CommitId
from omnigraph.versioning.ancestry import best_common_ancestors, descends, merge_base

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class History:
    """Commits by number; a parent has a smaller number than its child."""

    commits: list[Commit]
    looked_at: int = 0

    def parents(self, commit: Commit) -> list[Commit]:
        self.looked_at += 1
        refs = (commit.parent, commit.merged_parent)
        return [self.commits[ref.version] for ref in refs if ref is not None]

    def ancestors(self, commit: Commit) -> set[CommitId]:
        found: set[CommitId] = set()
        waiting = [commit]
        while waiting:
            current = waiting.pop()
            if current.id not in found:
                found.add(current.id)
                waiting += self.parents(current)
        return found


def ref(number: int) -> CommitRef:
    return CommitRef(CommitId(f"c{number:06d}"), "line", number)


def make(parents: Iterable[tuple[int | None, int | None]]) -> History:
    commits = [
        Commit(
            ref(number),
            "main",
            WriterKind.MERGE,
            number + 1,
            "schema",
            None if one is None else ref(one),
            None if other is None else ref(other),
        )
        for number, (one, other) in enumerate(parents)
    ]
    return History(commits)


@st.composite
def histories(draw: st.DrawFn) -> History:
    size = draw(st.integers(1, 14))
    parents: list[tuple[int | None, int | None]] = [(None, None)]
    for number in range(1, size):
        earlier = st.integers(0, number - 1)
        # Now and then a line that begins by itself.
        first = draw(st.none() | earlier) if number % 5 == 0 else draw(earlier)
        second = draw(st.none() | earlier) if first is not None else None
        parents.append((first, None if second == first else second))
    return make(parents)


def pairs_of(history: History) -> st.SearchStrategy[tuple[Commit, Commit]]:
    one = st.sampled_from(history.commits)
    return st.tuples(one, one)


@given(histories(), st.data())
def test_the_best_common_ancestors_are_what_their_definition_says(
    history: History, data: st.DataObject
) -> None:
    one, other = data.draw(pairs_of(history))
    common = history.ancestors(one) & history.ancestors(other)
    by_id = {commit.id: commit for commit in history.commits}
    best = {
        each
        for each in common
        if not any(each in history.ancestors(by_id[rival]) for rival in common - {each})
    }
    found = best_common_ancestors(one, other, history.parents)
    assert {commit.id for commit in found} == best
    base = merge_base(one, other, history.parents)
    assert base == merge_base(other, one, history.parents)
    assert (base.id if base else None) == max(best, default=None)


@given(histories(), st.data())
def test_descent_is_what_walking_back_tells(history: History, data: st.DataObject) -> None:
    one, other = data.draw(pairs_of(history))
    assert descends(one, other, history.parents) == (other.id in history.ancestors(one))


def test_histories_that_crossed_have_the_latest_best_ancestor_as_their_base() -> None:
    #  0 ─ 1 ─ 3 (1+2)      two lines that merged each other
    #    └ 2 ─ 4 (2+1)
    history = make([(None, None), (0, None), (0, None), (1, 2), (2, 1)])
    one, other = history.commits[3], history.commits[4]
    assert {c.ref.version for c in best_common_ancestors(one, other, history.parents)} == {1, 2}
    base = merge_base(one, other, history.parents)
    assert base is not None
    assert base.ref.version == 2
    assert merge_base(other, one, history.parents) == base


def test_the_search_looks_no_further_back_than_the_lines_differ() -> None:
    length = 5_000
    trunk = [(None, None), *((number, None) for number in range(length - 1))]
    history = make([*trunk, (length - 1, None), (length - 1, None)])
    one, other = history.commits[-1], history.commits[-2]
    history.looked_at = 0
    base = merge_base(one, other, history.parents)
    assert base is not None
    assert base.ref.version == length - 1
    assert history.looked_at < 10
    assert descends(one, history.commits[length - 1], history.parents)
    assert history.looked_at < 20


def test_a_clock_that_went_back_does_not_lose_the_base() -> None:
    history = make([(None, None), (0, None), (0, None), (1, None)])
    history.commits[3] = replace(history.commits[3], time_micros=2)
    one, other = history.commits[3], history.commits[2]
    base = merge_base(one, other, history.parents)
    assert base is not None
    assert base.ref.version == 0
