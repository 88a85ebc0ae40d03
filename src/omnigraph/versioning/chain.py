"""Walking back from a head along parent links.

The links define history, never the list of manifest versions: a version number may be missing
after cleanup, or may belong to a stale writer that nobody saw.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from omnigraph.api.commits import commit_id_of
from omnigraph.errors import NotFound, PreconditionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.commits import Commit, CommitRef
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "CommitPresence",
    "commits_since",
    "find_commit",
    "is_unchanged_since",
    "require_commit",
    "walk",
]

# Each of them is a manifest to read before a write: a condition that lies further back fails.
UNCHANGED_COMMITS_MAX = 1_000


class CommitPresence(StrEnum):
    """Whether a commit is in a chain."""

    PRESENT = "present"
    ABSENT = "absent"
    # Cleanup cut the chain too early: the outcome is unknown, never "absent".
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
) -> tuple[CommitPresence, Commit | None]:
    """Whether ``wanted`` was published after ``until``, the head that its attempt captured."""
    last: Commit | None = None
    for commit in walk(root, head):
        if commit.id == wanted:
            return CommitPresence.PRESENT, commit
        if commit.id == until:
            return CommitPresence.ABSENT, None
        last = commit
    reached_the_beginning = last is None or last.parent is None
    return (CommitPresence.ABSENT if reached_the_beginning else CommitPresence.CUT), None


def commits_since(root: GraphRoot, head: Manifest, until: str) -> Iterator[Commit]:
    """The commits after ``until``, newest first."""
    for commit in walk(root, head):
        if commit.id == until:
            return
        yield commit


def is_unchanged_since(root: GraphRoot, head: Manifest, wanted: str) -> bool:
    """Whether a head is at ``wanted``, or only maintenance and recovery followed it.

    Reads no further back than those commits reach, and no more than ``UNCHANGED_COMMITS_MAX``.
    """
    for commit in islice(walk(root, head), UNCHANGED_COMMITS_MAX + 1):
        if commit.id == wanted:
            return True
        if not commit.kind.is_maintenance:
            return False
    return False


def require_commit(root: GraphRoot, branch: str, head: Manifest, wanted: str | None) -> None:
    """Check the condition of a write: nothing but maintenance and recovery followed ``wanted``."""
    if wanted is not None and not is_unchanged_since(root, head, commit_id_of(wanted)):
        raise PreconditionFailed(
            "commit.precondition",
            f"branch {branch!r} is at {head.commit.id}, and entities or definitions may have "
            f"changed since {wanted}",
            remedy="read the branch again and decide again",
            details={"expected": wanted, "actual": head.commit.id},
        )


def read_commit(root: GraphRoot, ref: CommitRef) -> Commit | None:
    """A commit by its home; None when cleanup removed it or another commit stands there now."""
    try:
        commit = root.manifest(ref.incarnation, ref.version).commit
    except NotFound:
        return None
    return commit if commit.id == ref.id else None
