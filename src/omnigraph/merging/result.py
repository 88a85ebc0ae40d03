"""The error for the conflicts of a merge, a revert or a cherry-pick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.conflicts import conflict_to_json
from omnigraph.errors import MergeConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.api.conflicts import Choices, EntityConflict

__all__ = ["merge_conflict"]

# The limit of conflicts in an error; a preview returns all.
_REPORTED_MAX = 1_000
_SHOWN_MAX = 10


def merge_conflict(
    what: str, conflicts: Sequence[EntityConflict], choices: Choices
) -> MergeConflict:
    """Build the error for unresolved conflicts."""
    shown = [f"[{each.kind}] {each.message}" for each in conflicts[:_SHOWN_MAX]]
    more = len(conflicts) - len(shown)
    return MergeConflict(
        "merge.conflicts",
        f"{what} has {len(conflicts)} conflict{'s' if len(conflicts) > 1 else ''}; "
        "nothing was changed\n  " + "\n  ".join([*shown, *([f"… and {more} more"] * bool(more))]),
        remedy=_remedy(conflicts, choices),
        details={
            "merge_conflicts": [*map(conflict_to_json, conflicts[:_REPORTED_MAX])],
            "total": len(conflicts),
        },
    )


def _remedy(conflicts: Sequence[EntityConflict], choices: Choices) -> str:
    """Suggest what may help, given the choices so far."""
    if any(conflict.hopeless for conflict in conflicts):
        return (
            "no choice resolves conflicts about the schema: change the schema of one of the two "
            "branches until both agree, then merge again"
        )
    if any(choices.of(conflict) is not None for conflict in conflicts):
        return (
            "the choices leave these conflicts: the chosen side violates a rule of the other; "
            "take the other side for them, or give a value where `takes` allows it"
        )
    return "preview it, then decide: by strategy ours or theirs, or conflict by conflict"
