"""What a caller learns of a merge, a revert or a picked commit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import DST, SRC, EdgeType
from omnigraph.errors import MergeConflict
from omnigraph.executor.result import to_wire
from omnigraph.versioning.commit_json import landed_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.merging.conflicts import EntityConflict
    from omnigraph.merging.counts import TypeOutcome
    from omnigraph.merging.resolutions import Choices
    from omnigraph.versioning.manifest import Commit

__all__ = ["MergeOutcome", "MergeResult", "PickResult", "conflict_to_json", "merge_conflict"]

# So many conflicts are told in an error; a preview tells all.
_TOLD_MAX = 1_000
_SHOWN_MAX = 10


class MergeOutcome(StrEnum):
    UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


@dataclass(frozen=True)
class MergeResult:
    """What a merge did, or with ``preview`` would do."""

    source: str
    target: str
    outcome: MergeOutcome
    base: Commit | None = None
    commit: Commit | None = None
    types: tuple[TypeOutcome, ...] = ()
    conflicts: tuple[EntityConflict, ...] = ()
    actor: str | None = None
    preview: bool = False
    # None: nobody asked for it.
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
    """What reverting or picking a commit did to a branch; no commit when nothing changed."""

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


def conflict_to_json(conflict: EntityConflict) -> dict[str, Any]:
    """A conflict as every door shows it; what it does not have is left out."""
    entity = conflict.entity
    names: dict[str, str] = {prop.id: prop.name for prop in entity.by_id.values()}
    names |= {SRC.id: "from", DST.id: "to"}
    body: dict[str, Any] = {
        "conflict_id": conflict.conflict_id,
        "kind": conflict.kind.value,
        "entity_kind": entity.kind.value,
        "type_name": entity.name,
        "entity_id": conflict.id,
        "other_id": conflict.other,
        "properties": [names[key] for key in conflict.properties] or None,
        "message": conflict.message,
        "takes": list(conflict.takes),
    }
    said = {key: value for key, value in body.items() if value is not None}
    if conflict.id is not None:
        states = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
        said |= {side: _state(conflict, row) for side, row in states.items()}
    return said


def merge_conflict(
    what: str, conflicts: Sequence[EntityConflict], choices: Choices
) -> MergeConflict:
    """The error for conflicts that nobody has decided, or not well enough."""
    shown = [f"[{each.kind}] {each.message}" for each in conflicts[:_SHOWN_MAX]]
    more = len(conflicts) - len(shown)
    return MergeConflict(
        "merge.conflicts",
        f"{what} has {len(conflicts)} conflict{'s' if len(conflicts) > 1 else ''}; "
        "nothing was changed\n  " + "\n  ".join([*shown, *([f"… and {more} more"] * bool(more))]),
        remedy=_remedy(conflicts, choices),
        details={
            "merge_conflicts": [*map(conflict_to_json, conflicts[:_TOLD_MAX])],
            "total": len(conflicts),
        },
    )


def _remedy(conflicts: Sequence[EntityConflict], choices: Choices) -> str:
    """What helps: not what has been tried, and not what cannot."""
    if any(conflict.hopeless for conflict in conflicts):
        return (
            "no choice settles what is said of the schema: change the schema of one of the two "
            "branches until both agree, then merge again"
        )
    if any(choices.of(conflict) is not None for conflict in conflicts):
        return (
            "what was chosen leaves these, because what that side has breaks a rule of the other: "
            "take the other side for them, or give a value where `takes` says so"
        )
    return "preview it, then decide: by strategy ours or theirs, or conflict by conflict"


def _state(conflict: EntityConflict, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    entity = conflict.entity
    state: dict[str, Any] = {
        "properties": {prop.name: to_wire(row.get(prop.id)) for prop in entity.properties}
    }
    if isinstance(entity, EdgeType):
        state["endpoints"] = {"from": row.get(SRC.id), "to": row.get(DST.id)}
    return state
