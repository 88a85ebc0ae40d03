"""Targets: names of a point of history.

``main`` is a branch, ``01J…`` a commit, ``v1.2`` a tag, ``main@2026-11-01T12:00:00Z`` the branch at
that time, ``main@v17`` a version of its manifest. Python also accepts the objects that a graph
returns (commits, refs, branches, tags), and a ``datetime``, which is main at that time.
"""

from __future__ import annotations

import datetime as dt

from omnigraph.api.commits import Commit, CommitRef
from omnigraph.api.names import MAIN
from omnigraph.api.refs import BranchInfo, BranchRef, TagRef
from omnigraph.errors import InvalidInput
from omnigraph.runtime.ids import is_ulid

__all__ = [
    "Target",
    "is_branch_target",
    "target_text",
]


Target = str | Commit | CommitRef | BranchRef | BranchInfo | TagRef | dt.datetime


def target_text(target: object) -> str:
    """Return a target as text, or raise ``target.bad_type``."""
    match target:
        case str():
            return target
        case Commit() | CommitRef():
            return target.id
        case BranchRef() | TagRef():
            return target.name
        case BranchInfo():
            return target.ref.name
        case dt.datetime():
            return f"{MAIN}@{_require_zone(target).isoformat()}"
        case _:
            raise InvalidInput(
                "target.bad_type",
                f"a target must be a string, a commit, a branch, a tag or a datetime, not "
                f"{type(target).__name__}",
                remedy="use a branch, a tag, a commit id, BRANCH@TIME or BRANCH@v17",
            )


def _require_zone(moment: dt.datetime) -> dt.datetime:
    if moment.tzinfo is None:
        raise InvalidInput(
            "target.bad_time",
            f"{moment.isoformat()} has no time zone",
            remedy="use datetime.now(timezone.utc), or moment.astimezone()",
        )
    return moment


def is_branch_target(target: str) -> bool:
    """Whether a target is mutable: only a plain branch name is."""
    return "@" not in target and not is_ulid(target.upper())
