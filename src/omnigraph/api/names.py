"""Names of branches, tags and served graphs, and the rules that they follow."""

from __future__ import annotations

import re
from typing import NewType

from omnigraph.errors import InvalidInput
from omnigraph.runtime.ids import is_ulid

__all__ = [
    "GRAPH_ID_RULE",
    "MAIN",
    "BranchName",
    "is_graph_id",
    "is_name",
    "parse_branch_name",
    "parse_tag_name",
]


BranchName = NewType("BranchName", str)


MAIN = BranchName("main")


# 80 characters stay below every file system's limit even when each of them is escaped.
_NAME_LENGTH_MAX = 80


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


_GRAPH_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
# Paths of a server outside of its graphs.
_RESERVED_IDS = frozenset({"policies", "healthz", "readyz", "metrics", "openapi", "graphs"})
GRAPH_ID_RULE = "use ASCII letters, digits, `_` and `-`, at most 64, and no reserved name"


def is_graph_id(text: str) -> bool:
    """Whether a text is a valid id of a graph: one rule for servers and clusters."""
    return _GRAPH_ID.fullmatch(text) is not None and text not in _RESERVED_IDS


def parse_branch_name(text: str) -> BranchName:
    """Return a valid branch name, or raise ``branch.bad_name``."""
    _require_name("branch", text)
    return BranchName(text)


def parse_tag_name(text: str) -> str:
    """Return a valid tag name, or raise ``tag.bad_name``."""
    _require_name("tag", text)
    return text


def is_name(text: object) -> bool:
    """Whether a text is a valid name of a branch or a tag."""
    return isinstance(text, str) and _problem_with(text) is None


def _require_name(kind: str, text: object) -> None:
    problem = _problem_with(text) if isinstance(text, str) else "is not a string"
    if problem:
        raise InvalidInput(
            f"{kind}.bad_name",
            f"{kind} name {text!r:.100} {problem}",
            remedy="use letters, digits, `.`, `_`, `-` and `/` between parts, at most 80 in all",
        )


def _problem_with(text: str) -> str | None:
    if len(text) > _NAME_LENGTH_MAX:
        return f"is longer than {_NAME_LENGTH_MAX} characters"
    if not _NAME.fullmatch(text):
        return "contains a character or a sequence that is not allowed"
    if is_ulid(text.upper()):
        return "has the form of a commit id"
    if text.endswith((".lock", ".")) or ".." in text:
        return "ends in `.` or `.lock`, or holds `..`"
    return None
