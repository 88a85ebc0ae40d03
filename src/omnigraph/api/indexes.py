"""Declared indexes and their maintenance."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit, landed_to_json
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.ports.indexes import IndexKind

__all__ = [
    "EnsureResult",
    "IndexAction",
    "IndexOutcome",
    "IndexStatus",
]


class IndexAction(StrEnum):
    BUILD = "built"
    EXTEND = "extended"
    REBUILD = "rebuilt"
    SKIP = "skipped"


@frozen
class IndexOutcome:
    """The result of ``ensure_indices`` for one declared index, with its reason."""

    type: str
    property: str
    kind: IndexKind
    action: IndexAction
    reason: str
    rows: int

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "property": self.property,
            "kind": self.kind.value,
            "action": self.action.value,
            "reason": self.reason,
            "rows": self.rows,
        }


@frozen
class EnsureResult:
    """The result of ``ensure_indices``; no commit if nothing had to be done."""

    branch: str
    commit: Commit | None
    outcomes: tuple[IndexOutcome, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "commit": landed_to_json(self.commit),
            "indexes": [outcome.to_json() for outcome in self.outcomes],
        }


@frozen
class IndexStatus:
    """A declared index and its coverage; ``lance_type`` is None until it is built."""

    type: str
    property: str
    kind: IndexKind
    lance_type: str | None
    segments: int
    covered_rows: int
    uncovered_rows: int

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "property": self.property,
            "kind": self.kind.value,
            "lance_type": self.lance_type,
            "segments": self.segments,
            "covered_rows": self.covered_rows,
            "uncovered_rows": self.uncovered_rows,
        }
