"""The question that a facade asks before it does anything, and the answer."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.policy.actions import Action

__all__ = ["Decision", "Extent", "Question"]


class Extent(StrEnum):
    """How much is known of the types that an operation touches."""

    # Not known yet: whoever may do it to some type may go on, and is asked again with the types.
    OPEN = "open"
    # Exactly these.
    SOME = "some"
    # Any of them: only a rule without types can allow it, and every rule with types can forbid it.
    ALL = "all"


@frozen
class Question:
    """May this actor do this? Names are those of the graph: checked, not as they were typed."""

    actor: str
    action: Action
    graph: str = ""
    branch: str | None = None
    target_branch: str | None = None
    # The stored query that is invoked.
    query: str | None = None
    extent: Extent = Extent.OPEN
    types: tuple[str, ...] = ()
    # As ``Type.property``.
    properties: tuple[str, ...] = ()


@frozen
class Decision:
    """The answer, and the rule that gave it; no rule when nothing allowed it."""

    allowed: bool
    rule: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"decision": "allow" if self.allowed else "deny", "rule": self.rule}
