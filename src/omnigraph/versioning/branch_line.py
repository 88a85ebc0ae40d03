"""The line of a commit: its first parents, by position and by time.

The parent of a manifest is the number below it on its branch. The first manifest of a fork is a
copy of a commit of another branch, where the line goes on. So a line is a few ranges of numbers,
one per fork that it passes, and a commit on it costs one read wherever it is.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound, StorageFault
from omnigraph.frozen import frozen
from omnigraph.runtime.ids import is_ulid, ulid_micros
from omnigraph.versioning.damage import last_readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.commits import Commit
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.root import GraphRoot

__all__ = ["BranchLine", "Range", "find_in_branch"]

# A commit is published after its operation began, by less than this: older operations are refused.
_PUBLISHED_WITHIN_MICROS = 8 * 86_400 * 1_000_000
# Clocks of machines differ by less.
_CLOCK_SKEW_MICROS = 600 * 1_000_000


@frozen
class Range:
    """Numbers of a branch, both ends included."""

    incarnation: str
    first: int
    last: int

    def holds(self, commit: Commit) -> bool:
        ref = commit.ref
        return ref.incarnation == self.incarnation and self.first <= ref.version <= self.last


class BranchLine:
    """The line of one commit. Reads nothing before it is asked."""

    def __init__(self, root: GraphRoot, newest: Commit) -> None:
        self._root = root
        self._newest = newest

    def ranges(self) -> Iterator[Range]:
        """The ranges of the line, the newest first; ends early where manifests are gone."""
        incarnation, last = self._newest.ref.incarnation, self._newest.ref.version
        while last:
            first = oldest_number(self._root, incarnation, last)
            if first > 1:
                # Cleanup has removed what is older.
                yield Range(incarnation, first, last)
                return
            home = self._root.manifest(incarnation, 1).commit.ref
            if home.incarnation == incarnation:
                yield Range(incarnation, 1, last)
                return
            if last > 1:
                yield Range(incarnation, 2, last)
            incarnation, last = home.incarnation, home.version

    def newest_at(self, time_micros: int) -> tuple[Commit | None, Commit | None]:
        """The newest commit that is not later than a time; without one, the oldest commit found."""
        oldest: Commit | None = None
        try:
            for found in self.ranges():
                oldest = self._at(found, found.first)
                if oldest.time_micros <= time_micros:
                    number = first_after(self._root, found, time_micros) - 1
                    return self._at(found, number), oldest
        except NotFound:
            # Cleanup has removed what is older.
            return None, oldest or self._newest
        return None, oldest

    def after(self, done: Commit | None) -> Iterator[Commit]:
        """The commits that follow one of the line, or all of it, oldest first.

        ``snapshot.reclaimed`` names the first commit whose manifest is gone.
        """
        ranges: list[Range] = []
        for found in self.ranges():
            if done is not None and found.holds(done):
                ranges.append(Range(found.incarnation, done.ref.version + 1, found.last))
                break
            ranges.append(found)
        for found in reversed(ranges):
            for number in range(found.first, found.last + 1):
                try:
                    commit = self._at(found, number)
                except NotFound as missing:
                    raise self._reclaimed(found, number) from missing
                yield commit

    def oldest_parent(self) -> str | None:
        """The parent of the oldest commit that has a manifest; None for a whole line."""
        oldest = self._newest
        try:
            for found in self.ranges():
                oldest = self._at(found, found.first)
        except NotFound:
            pass
        return oldest.parent.id if oldest.parent is not None else None

    def holds(self, commit: Commit) -> bool:
        """Whether a commit is on the line."""
        return any(found.holds(commit) for found in self.ranges())

    def _reclaimed(self, found: Range, number: int) -> NotFound:
        child = self._newest
        for later in range(number + 1, found.last + 1):
            with suppress(NotFound):
                child = self._at(found, later)
                break
        missing = child.parent.id if child.parent is not None else child.id
        return NotFound(
            "snapshot.reclaimed",
            f"the data of commit {missing} was removed by cleanup",
            details={"commit_id": missing},
        )

    def _at(self, found: Range, number: int) -> Commit:
        return self._root.manifest(found.incarnation, number).commit


def find_in_branch(
    root: GraphRoot, heads: Heads, incarnation: str, commit_id: str
) -> Commit | None:
    """Find a commit by its id among the manifests of one branch."""
    if not is_ulid(commit_id):
        return None
    began = ulid_micros(commit_id)
    problem: StorageFault | None = None
    try:
        head = heads.of_incarnation(incarnation)
    except StorageFault as fault:
        readable = last_readable(root, incarnation) if fault.code == "branch.damaged" else None
        if readable is None:
            raise
        # The commits that cannot be read are later.
        head, problem = readable, fault
    if head.commit.time_micros < began - _CLOCK_SKEW_MICROS:
        if problem is not None:
            raise problem
        return None
    numbers = Range(incarnation, oldest_number(root, incarnation, head.version), head.version)
    found, damage = _search(root, numbers, commit_id, began)
    hiding = problem or damage
    if found is None and hiding is not None:
        raise hiding
    return found


def _search(
    root: GraphRoot, numbers: Range, commit_id: str, began: int
) -> tuple[Commit | None, StorageFault | None]:
    """The commit of an operation that began at a time, or the damage that may hide it."""
    damage: StorageFault | None = None
    earliest, latest = began - _CLOCK_SKEW_MICROS, began + _PUBLISHED_WITHIN_MICROS
    ended = {True: False, False: False}
    start = first_after(root, numbers, began - 1)
    for number, ahead in _around(numbers.first, numbers.last, start):
        if all(ended.values()):
            break
        if ended[ahead]:
            continue
        try:
            commit = root.manifest(numbers.incarnation, number).commit
        except StorageFault as fault:
            damage = fault
            continue
        if commit.id == commit_id:
            # The first commit of a fork is at home elsewhere, and found there or in this copy.
            return commit, None
        ended[ahead] = not earliest <= commit.time_micros <= latest
    return None, damage


def oldest_number(root: GraphRoot, incarnation: str, existing: int) -> int:
    """The lowest number of a branch, by probes: numbers are contiguous."""
    if root.store.exists(incarnation, 1):
        return 1
    gone, present = 1, existing
    while present - gone > 1:
        middle = (gone + present) // 2
        if root.store.exists(incarnation, middle):
            present = middle
        else:
            gone = middle
    return present


def first_after(root: GraphRoot, numbers: Range, time_micros: int) -> int:
    """The lowest number of a range whose commit is later than a time; one above without any.

    Commits come at even intervals more often than not, so every other probe interpolates; the
    others bisect, so that no history takes more than twice as many probes as a bisection.
    """
    low, low_time = _readable(root, numbers.incarnation, numbers.first, numbers.last)
    if low_time is None or low_time > time_micros:
        return numbers.first
    high, high_time = numbers.last + 1, None
    turn = 0
    while high - low > 1:
        turn += 1
        probe = (low + high) // 2
        if turn == 1:
            # The range ends with the newest commit, which is at hand mostly.
            probe = high - 1
        elif turn % 2 == 0 and high_time is not None and high_time > low_time:
            ahead = (high - low) * (time_micros - low_time) // (high_time - low_time)
            probe = min(max(low + ahead, low + 1), high - 1)
        found, time = _readable(root, numbers.incarnation, probe, high - 1)
        if time is None or time > time_micros:
            high, high_time = probe, time
        else:
            low, low_time = found, time
    return high


def _around(first: int, last: int, start: int) -> Iterator[tuple[int, bool]]:
    """The numbers of a range around a start, the likely ones first, each with its direction."""
    behind, ahead = start - 1, start
    while ahead <= last or behind >= first:
        for _ in range(8):
            if ahead <= last:
                yield ahead, True
                ahead += 1
        if behind >= first:
            yield behind, False
            behind -= 1


def _readable(root: GraphRoot, incarnation: str, number: int, last: int) -> tuple[int, int | None]:
    """The first readable number from one on, with its time: damaged manifests have none."""
    for readable in range(number, last + 1):
        try:
            return readable, root.manifest(incarnation, readable).commit.time_micros
        except StorageFault:
            continue
    return last, None
