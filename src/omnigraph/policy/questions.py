"""Define authorisation requests and decisions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.policy.actions import Action

__all__ = ["AuthorizationRequest", "Decision", "Extent"]


class Extent(StrEnum):
    """Which types an operation concerns."""

    # Not known yet: allowed if any type is; the operation checks again with the types.
    OPEN = "open"
    # Exactly the given types.
    SOME = "some"
    # All types: only a rule without types can allow it, and every rule with types can deny it.
    ALL = "all"


@frozen
class AuthorizationRequest:
    """A request of an actor for an action; names are resolved ones of the graph."""

    actor: str
    action: Action
    graph: str = ""
    branch: str | None = None
    target_branch: str | None = None
    # The invoked stored query.
    query: str | None = None
    extent: Extent = Extent.OPEN
    types: tuple[str, ...] = ()
    # As ``Type.property``.
    properties: tuple[str, ...] = ()


@frozen
class Decision:
    """The decision and the deciding rule; no rule when no rule matched."""

    allowed: bool
    rule: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"decision": "allow" if self.allowed else "deny", "rule": self.rule}
