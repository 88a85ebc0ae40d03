"""A bundle: groups of actors, protected branches, and the rules about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.policy.actions import SERVER_ACTIONS, Action

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EVERYONE", "Bundle", "Effect", "Rule", "Scope"]

# The group that every actor with a name is in; it is not listed.
EVERYONE = "everyone"


class Effect(StrEnum):
    """What a rule does when it matches. A denial beats every permission."""

    ALLOW = "allow"
    DENY = "deny"


class Scope(StrEnum):
    """Which branches a rule is about."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@frozen
class Rule:
    """One rule: a group, actions, and where it holds. An empty tuple says "whichever"."""

    id: str
    effect: Effect
    group: str
    actions: tuple[Action, ...]
    branch_scope: Scope = Scope.ANY
    target_branch_scope: Scope = Scope.ANY
    queries: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bundle:
    """Everything that one policy says."""

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protected_branches: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    name: str = "<policy>"

    @property
    def actors(self) -> frozenset[str]:
        """Everybody who is named."""
        return frozenset(actor for members in self.groups.values() for actor in members)

    @property
    def knows_everyone(self) -> bool:
        """Whether a rule is about actors that are not listed."""
        return any(rule.group == EVERYONE for rule in self.rules)

    @property
    def is_about_servers(self) -> bool:
        """Whether it governs a server rather than a graph."""
        return any(action in SERVER_ACTIONS for rule in self.rules for action in rule.actions)

    @cached_property
    def filters_reads(self) -> bool:
        """Whether some reader may see less than everything."""
        filtered = {Action.READ, Action.EXPORT}
        return any(
            (rule.types or rule.properties) and not filtered.isdisjoint(rule.actions)
            for rule in self.rules
        )

    def is_protected(self, branch: str | None) -> bool:
        """Whether a branch is one of the protected ones; ``release/*`` protects by pattern."""
        return branch is not None and any(
            fnmatchcase(branch, pattern) for pattern in self.protected_branches
        )
