"""Ancestors and descendants of commits.

A commit is later than its parents, so walking back from the latest to the earliest meets every
commit after all its descendants. Each walk ends where nothing further back can matter: the cost is
that of the commits on which two lines differ, not that of their history.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph.api.commits import Commit

    Parents = Callable[[Commit], Iterable[Commit]]

__all__ = ["best_common_ancestors", "descends", "merge_base"]

_LEFT, _RIGHT = 1, 2
_BOTH = _LEFT | _RIGHT
# An ancestor of a common ancestor: it cannot be a best one.
_STALE = 4


def merge_base(left: Commit, right: Commit, parents: Parents) -> Commit | None:
    """The commit that two lines are compared with: the latest of the best common ancestors (by
    time, then by id), so that both directions of a merge agree. None: they have none in common."""
    return next(iter(best_common_ancestors(left, right, parents)), None)


def best_common_ancestors(left: Commit, right: Commit, parents: Parents) -> list[Commit]:
    """The common ancestors that are no ancestors of another common one, the latest first.

    Mostly there is one. Lines that were merged into each other crosswise have several.
    """
    walk = _Walk()
    walk.visit(left, _LEFT)
    walk.visit(right, _RIGHT)
    common: dict[str, Commit] = {}
    while walk.undecided:
        commit, marks = walk.latest()
        if marks & _BOTH == _BOTH:
            common.setdefault(commit.id, commit)
            marks |= _STALE
        for parent in parents(commit):
            walk.visit(parent, marks)
    best = [commit for commit in common.values() if not walk.marks[commit.id] & _STALE]
    return sorted(best, key=_age, reverse=True)


def descends(newer: Commit, older: Commit, parents: Parents) -> bool:
    """Whether ``newer`` is ``older`` or descends from it."""
    waiting, seen = [newer], {newer.id}
    while waiting:
        commit = waiting.pop()
        if commit.id == older.id:
            return True
        for parent in parents(commit):
            if parent.id not in seen and parent.time_micros >= older.time_micros:
                seen.add(parent.id)
                waiting.append(parent)
    return False


class _Walk:
    """Commits on the way back, the latest first, with marks that their ancestors inherit."""

    def __init__(self) -> None:
        self.marks: dict[str, int] = {}
        # Those on the way whose ancestors may still be a result.
        self.undecided: set[str] = set()
        self._waiting: list[tuple[int, str]] = []
        self._commits: dict[str, Commit] = {}

    def visit(self, commit: Commit, marks: int) -> None:
        before = self.marks.get(commit.id, 0)
        after = before | marks
        if before == after:
            return
        self.marks[commit.id] = after
        if commit.id not in self._commits:
            self._commits[commit.id] = commit
            heapq.heappush(self._waiting, (-commit.time_micros, commit.id))
        if after & _STALE:
            self.undecided.discard(commit.id)
        else:
            self.undecided.add(commit.id)

    def latest(self) -> tuple[Commit, int]:
        _, commit_id = heapq.heappop(self._waiting)
        self.undecided.discard(commit_id)
        return self._commits.pop(commit_id), self.marks[commit_id]


def _age(commit: Commit) -> tuple[int, str]:
    return commit.time_micros, commit.id
