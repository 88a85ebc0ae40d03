"""Check the authorisation of one actor on one graph."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.errors import Forbidden
from omnigraph.policy.actions import Action
from omnigraph.policy.questions import AuthorizationRequest, Decision, Extent
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.policy.bundle import PolicyBundle

__all__ = ["OPEN", "ActorPolicy", "Policy", "PolicyEngine", "denied"]

_log = logging.getLogger("omnigraph.policy")

_CACHED_MAX = 8_192
_UNKNOWN_ACTOR = Decision(allowed=False)


class PolicyEngine(Protocol):
    """Evaluates the rules of one bundle; equal requests have equal decisions."""

    def decide(self, request: AuthorizationRequest) -> Decision: ...


class Policy:
    """A bundle with its engine and a cache of decisions, for any graph and actor; thread-safe."""

    def __init__(self, bundle: PolicyBundle, engine: PolicyEngine) -> None:
        self.bundle = bundle
        self._engine = engine
        self._actors = None if bundle.applies_to_everyone else bundle.actors
        self._decisions: LruCache[AuthorizationRequest, Decision] = LruCache(_CACHED_MAX)

    def decide(self, request: AuthorizationRequest) -> Decision:
        """Return the decision on a request, from the cache if it is there."""
        if self._actors is not None and request.actor not in self._actors:
            return _UNKNOWN_ACTOR
        return self._decisions.get_or_make(request, lambda: self._engine.decide(request))


class ActorPolicy:
    """Checks the authorisation of one actor on one graph; cheap enough to create per request."""

    __slots__ = ("actor", "graph", "policy")

    def __init__(
        self, policy: Policy | None = None, *, actor: str | None = None, graph: str = ""
    ) -> None:
        self.policy = policy
        self.actor = actor
        self.graph = graph

    def acting_as(self, actor: str | None) -> ActorPolicy:
        """Return the checks of another actor under the same policy."""
        if actor is None or actor == self.actor:
            return self
        return ActorPolicy(self.policy, actor=actor, graph=self.graph)

    def check(
        self,
        action: Action,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
        types: Sequence[str] | Extent = Extent.OPEN,
        properties: Sequence[str] = (),
    ) -> Decision:
        """Return the decision on an action, and log it; without an actor it is denied."""
        if self.policy is None:
            return Decision(allowed=True)
        if not self.actor:
            decision = _UNKNOWN_ACTOR
        else:
            some = not isinstance(types, Extent)
            decision = self.policy.decide(
                AuthorizationRequest(
                    self.actor,
                    action,
                    self.graph,
                    branch,
                    target_branch,
                    query,
                    Extent.SOME if some else Extent(types),  # type: ignore[arg-type]
                    tuple(types) if some else (),
                    tuple(properties),
                )
            )
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                "policy decision",
                extra={
                    "actor": self.actor,
                    "action": action.value,
                    "graph": self.graph,
                    "branch": branch,
                    "target_branch": target_branch,
                    "query": query,
                    "allowed": decision.allowed,
                    "rule": decision.rule,
                },
            )
        return decision

    def can_see(
        self, action: Action, branch: str | None, type_name: str, prop: str | None = None
    ) -> bool:
        """Return whether a type, or a property of it, is visible to the actor.

        A denied read also denies the export.
        """
        if self.policy is None:
            return True
        if not self.actor:
            return False
        named = () if prop is None else (f"{type_name}.{prop}",)
        decisions = [
            self.policy.decide(
                AuthorizationRequest(
                    self.actor,
                    each,
                    self.graph,
                    branch,
                    extent=Extent.SOME,
                    types=(type_name,),
                    properties=named,
                )
            )
            for each in dict.fromkeys((action, Action.READ))
        ]
        forbidden = any(not found.allowed and found.rule is not None for found in decisions)
        return decisions[0].allowed and not forbidden

    def require(
        self,
        action: Action,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
        types: Sequence[str] | Extent = Extent.OPEN,
    ) -> None:
        """Raise ``policy.denied`` unless the action is allowed."""
        if self.policy is None:
            return
        decision = self.check(
            action, branch=branch, target_branch=target_branch, query=query, types=types
        )
        if not decision.allowed:
            named = () if isinstance(types, Extent) else tuple(types)
            raise denied(
                self.actor,
                action,
                decision,
                branch=branch,
                target_branch=target_branch,
                types=named,
            )


# Allows everything, for graphs without a policy.
OPEN = ActorPolicy()


def denied(
    actor: str | None,
    action: Action,
    decision: Decision,
    *,
    branch: str | None = None,
    target_branch: str | None = None,
    types: Sequence[str] = (),
) -> Forbidden:
    """Return the error of a denied action."""
    target = _object_of(branch, target_branch, types)
    details: dict[str, Any] = {
        "action": action.value,
        "actor": actor,
        "branch": branch,
        "target_branch": target_branch,
        "types": list(types) or None,
        "rule": decision.rule,
    }
    details = {key: value for key, value in details.items() if value is not None}
    if not actor:
        return Forbidden(
            "policy.denied",
            f"anonymous access denied: cannot {action.value}{target}, because this graph has a "
            "policy and no actor was given",
            details=details,
            remedy="pass actor=…, --as ACTOR or a token",
        )
    if decision.rule is not None:
        remedy = f"rule {decision.rule!r} of the policy denies it"
    else:
        remedy = (
            f"ask the administrator to allow `{action.value}`{target} for a group of {actor!r}; "
            "`omnigraph policy explain` shows the matching rules"
        )
    return Forbidden(
        "policy.denied", f"{actor!r} may not {action.value}{target}", details=details, remedy=remedy
    )


def _object_of(branch: str | None, target_branch: str | None, types: Sequence[str]) -> str:
    types_text = f" {', '.join(types)}" if types else ""
    if branch is not None and target_branch is not None:
        return f"{types_text} from {branch!r} to {target_branch!r}"
    if branch is not None or target_branch is not None:
        return f"{types_text} on branch {branch or target_branch!r}"
    return types_text
