"""Walking back from a head along parent links.

History is what the links say, never the list of manifest versions: a version number may be missing
after cleanup, or may belong to a stale writer that nobody saw.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.versioning.manifest import Commit, CommitRef, Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Presence", "commits_since", "find_commit", "walk"]


class Presence(StrEnum):
    """Whether a commit is in a chain."""

    PRESENT = "present"
    ABSENT = "absent"
    # Cleanup cut the chain before it could be told: the outcome is unknown, never "absent".
    CUT = "cut"


def walk(root: GraphRoot, head: Manifest) -> Iterator[Commit]:
    """The commits from a head to the beginning along first parents; ends early where a manifest is
    gone.
    """
    commit: Commit | None = head.commit
    while commit is not None:
        yield commit
        commit = read_commit(root, commit.parent) if commit.parent else None


def find_commit(
    root: GraphRoot, head: Manifest, wanted: str, *, until: str
) -> tuple[Presence, Commit | None]:
    """Whether ``wanted`` was published after ``until``, the head that its attempt captured."""
    last: Commit | None = None
    for commit in walk(root, head):
        if commit.id == wanted:
            return Presence.PRESENT, commit
        if commit.id == until:
            return Presence.ABSENT, None
        last = commit
    reached_the_beginning = last is None or last.parent is None
    return (Presence.ABSENT if reached_the_beginning else Presence.CUT), None


def commits_since(root: GraphRoot, head: Manifest, until: str) -> Iterator[Commit]:
    """The commits after ``until``, newest first."""
    for commit in walk(root, head):
        if commit.id == until:
            return
        yield commit


def read_commit(root: GraphRoot, ref: CommitRef) -> Commit | None:
    """A commit by its home; None when cleanup removed it or another commit stands there now."""
    try:
        commit = root.manifest(ref.incarnation, ref.version).commit
    except NotFound:
        return None
    return commit if commit.id == ref.id else None
