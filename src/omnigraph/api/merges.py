"""Requests and results of merge, cherry-pick, revert and reset."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit, landed_to_json
from omnigraph.api.conflicts import NO_CHOICES, Choices, EntityConflict, conflict_to_json
from omnigraph.api.names import MAIN
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import EntityType

__all__ = [
    "MergeOutcome",
    "MergeRequest",
    "MergeResult",
    "PickRequest",
    "PickResult",
    "ResetRequest",
    "ResetResult",
    "TypeOutcome",
]


@frozen
class MergeRequest:
    """The source and target of a merge, the resolution of its conflicts, and its options."""

    source: str
    target: str = MAIN
    choices: Choices = NO_CHOICES
    preview: bool = False
    delete_branch: bool = False
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None


@frozen
class PickRequest:
    """The commit and target branch of a cherry-pick or revert, and the choices of conflicts."""

    commit: str
    branch: str = MAIN
    choices: Choices = NO_CHOICES
    preview: bool = False
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None


@frozen
class ResetRequest:
    branch: str
    to: str
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None


class MergeOutcome(StrEnum):
    UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


@frozen
class TypeOutcome:
    """The effect of a merge on one type of the target branch.

    The counts are None where only a comparison of rows yields them: a merge adopts the pin of an
    unchanged type without reading it, and only a preview compares its rows. The numbers of entities
    before and after come from the pins.
    """

    entity: EntityType
    taken_over: bool
    inserted: int | None
    updated: int | None
    deleted: int | None
    entities_before: int | None = None
    entities_after: int | None = None

    @property
    def is_counted(self) -> bool:
        return self.inserted is not None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": self.entity.kind.value,
            "type": self.entity.name,
            "taken_over": self.taken_over,
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "entities_before": self.entities_before,
            "entities_after": self.entities_after,
        }
        return {key: value for key, value in body.items() if value is not None}


@dataclass(frozen=True)
class MergeResult:
    """The result of a merge or, with ``preview``, the result that it would have."""

    source: str
    target: str
    outcome: MergeOutcome
    base: Commit | None = None
    commit: Commit | None = None
    types: tuple[TypeOutcome, ...] = ()
    conflicts: tuple[EntityConflict, ...] = ()
    actor: str | None = None
    preview: bool = False
    # None unless the request asks for it.
    branch_deleted: bool | None = None
    branch_delete_error: str | None = None

    def __repr__(self) -> str:
        what = f"{self.source} into {self.target}: {self.outcome.value}"
        return _short("MergeResult", what, self.commit, self.types, len(self.conflicts))

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "outcome": self.outcome.value,
            "base_commit_id": self.base.id if self.base else None,
            "commit": landed_to_json(self.commit),
            "actor_id": self.actor,
            "branch_deleted": self.branch_deleted,
            "branch_delete_error": self.branch_delete_error,
        }
        said = {key: value for key, value in body.items() if value is not None}
        said["summary"] = [outcome.to_json() for outcome in self.types]
        if self.preview:
            said |= {"preview": True, "conflicts": [*map(conflict_to_json, self.conflicts)]}
        return said


@dataclass(frozen=True)
class PickResult:
    """The result of a revert or cherry-pick; no commit if nothing changed."""

    branch: str
    picked: Commit
    commit: Commit | None
    types: tuple[TypeOutcome, ...] = ()
    conflicts: tuple[EntityConflict, ...] = ()
    actor: str | None = None
    preview: bool = False
    verb: str = "cherry-pick"

    def __repr__(self) -> str:
        what = f"{self.verb} of {self.picked.id} on {self.branch}"
        return _short("PickResult", what, self.commit, self.types, len(self.conflicts))

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "branch": self.branch,
            "picked_commit_id": self.picked.id,
            "commit": landed_to_json(self.commit),
            "actor_id": self.actor,
            "summary": [outcome.to_json() for outcome in self.types],
        }
        if self.preview:
            body |= {"preview": True, "conflicts": [*map(conflict_to_json, self.conflicts)]}
        return body


def _short(
    name: str, what: str, commit: Commit | None, types: Sequence[TypeOutcome], conflicts: int
) -> str:
    landed = f" as {commit.id}" if commit else ""
    counts = [
        f"{sign}{sum(getattr(outcome, field) for outcome in types)} "
        for sign, field in (("+", "inserted"), ("~", "updated"), ("-", "deleted"))
        if all(outcome.is_counted for outcome in types)
    ]
    clashes = f", {conflicts} conflicts" if conflicts else ""
    return f"<{name} {what}{landed}, {''.join(counts)}in {len(types)} types{clashes}>"


@frozen
class ResetResult:
    """The result of a reset; no commit if the branch already held that state."""

    branch: str
    to: str
    snapshot: Commit
    commit: Commit | None
    actor: str | None

    def __repr__(self) -> str:
        landed = f" as {self.commit.id}" if self.commit else ", which already is its state"
        return f"<ResetResult {self.branch} to {self.snapshot.id}{landed}>"

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "to": self.to,
            "snapshot_commit_id": self.snapshot.id,
            "commit": landed_to_json(self.commit),
            "actor_id": self.actor,
        }
