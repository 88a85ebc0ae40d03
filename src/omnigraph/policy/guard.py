"""The guard: what a facade asks, for one actor."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.errors import Forbidden
from omnigraph.policy.actions import Action
from omnigraph.policy.questions import Decision, Extent, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.policy.bundle import Bundle

__all__ = ["OPEN", "Decider", "Guard", "Policy", "denied"]

_log = logging.getLogger("omnigraph.policy")

_REMEMBERED_MAX = 8_192
_UNKNOWN_ACTOR = Decision(allowed=False)


class Decider(Protocol):
    """Decides by the rules of one bundle; the same question has the same answer for ever."""

    def decide(self, question: Question) -> Decision: ...


class Policy:
    """A bundle and who decides by it. Thread-safe; one serves any number of graphs and actors."""

    def __init__(self, bundle: Bundle, decider: Decider) -> None:
        self.bundle = bundle
        self._decider = decider
        self._actors = None if bundle.knows_everyone else bundle.actors
        self._answers: OrderedDict[Question, Decision] = OrderedDict()
        self._lock = threading.Lock()

    def decide(self, question: Question) -> Decision:
        """The answer to a question. It depends on nothing else, so it is remembered."""
        if self._actors is not None and question.actor not in self._actors:
            return _UNKNOWN_ACTOR
        with self._lock:
            found = self._answers.get(question)
            if found is not None:
                self._answers.move_to_end(question)
                return found
        found = self._decider.decide(question)
        with self._lock:
            self._answers[question] = found
            while len(self._answers) > _REMEMBERED_MAX:
                self._answers.popitem(last=False)
        return found


class Guard:
    """Asks for one actor of one graph. Cheap to make: one per request is fine."""

    __slots__ = ("actor", "graph", "policy")

    def __init__(
        self, policy: Policy | None = None, *, actor: str | None = None, graph: str = ""
    ) -> None:
        self.policy = policy
        self.actor = actor
        self.graph = graph

    def acting_as(self, actor: str | None) -> Guard:
        """The same policy, asked for somebody else."""
        if actor is None or actor == self.actor:
            return self
        return Guard(self.policy, actor=actor, graph=self.graph)

    def ask(
        self,
        action: Action,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
        types: Sequence[str] | Extent = Extent.OPEN,
        properties: Sequence[str] = (),
    ) -> Decision:
        """Whether the actor may; nobody in particular may nothing."""
        if self.policy is None:
            return Decision(allowed=True)
        if not self.actor:
            decision = _UNKNOWN_ACTOR
        else:
            some = not isinstance(types, Extent)
            decision = self.policy.decide(
                Question(
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

    def sees(
        self, action: Action, branch: str | None, type_name: str, prop: str | None = None
    ) -> bool:
        """Whether a type, or a property of it, is there for the actor.

        What may not be read cannot be exported either, even by who may export and not read.
        """
        if self.policy is None:
            return True
        if not self.actor:
            return False
        named = () if prop is None else (f"{type_name}.{prop}",)
        decisions = [
            self.policy.decide(
                Question(
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
        """Go on, or ``policy.denied``."""
        if self.policy is None:
            return
        decision = self.ask(
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


# For graphs without a policy: everybody may everything.
OPEN = Guard()


def denied(
    actor: str | None,
    action: Action,
    decision: Decision,
    *,
    branch: str | None = None,
    target_branch: str | None = None,
    types: Sequence[str] = (),
) -> Forbidden:
    """The refusal, in words that name the action, the place and what to do."""
    place = _place(branch, target_branch, types)
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
            f"nobody in particular may not {action.value}{place}: a policy is set and no actor",
            details=details,
            remedy="say who acts: actor=…, or --as ACTOR",
        )
    if decision.rule is not None:
        remedy = f"the rule {decision.rule!r} of the policy forbids it"
    else:
        remedy = (
            f"whoever keeps the policy can allow `{action.value}`{place} to a group of {actor!r}; "
            "`omnigraph policy explain` shows what it says"
        )
    return Forbidden(
        "policy.denied", f"{actor!r} may not {action.value}{place}", details=details, remedy=remedy
    )


def _place(branch: str | None, target_branch: str | None, types: Sequence[str]) -> str:
    said = f" {', '.join(types)}" if types else ""
    if branch is not None and target_branch is not None:
        return f"{said} from {branch!r} to {target_branch!r}"
    if branch is not None or target_branch is not None:
        return f"{said} on branch {branch or target_branch!r}"
    return said
