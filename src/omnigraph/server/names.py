"""Parses names in requests, before the authorisation check."""

from __future__ import annotations

from omnigraph.api.names import MAIN, parse_branch_name
from omnigraph.errors import InvalidInput
from omnigraph.runtime.ids import is_ulid

__all__ = ["parse_branch", "parse_commit", "parse_condition", "parse_target"]


def parse_branch(given: str | None) -> str:
    """Parse the name of a branch; ``main`` by default."""
    return MAIN if given is None else parse_branch_name(given.strip())


def parse_commit(given: str) -> str:
    """Parse the id of a commit; returns upper case."""
    text = given.strip().upper()
    if not is_ulid(text):
        raise InvalidInput(
            "commit.bad_id",
            f"{given[:80]!r} is not a commit id",
            remedy="see `GET …/commits`",
        )
    return text


def parse_condition(given: str | None) -> str | None:
    """Parse the commit of an ``if_commit`` precondition, if there is one."""
    return None if given is None else parse_commit(given)


def parse_target(branch: str | None, snapshot: str | None) -> str:
    """Parse a branch, or a snapshot: a commit, a tag, ``BRANCH@TIME`` or ``BRANCH@vN``."""
    if snapshot is None:
        return parse_branch(branch)
    if branch is not None:
        raise InvalidInput(
            "request.two_targets",
            "both a branch and a snapshot are given",
            remedy="give one of them",
        )
    text = snapshot.strip()
    if is_ulid(text.upper()):
        return text.upper()
    name, at, moment = text.partition("@")
    return f"{parse_branch_name(name)}{at}{moment}"
