"""Define a policy bundle: groups of actors, protected branches and rules."""

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

__all__ = ["EVERYONE", "BranchScope", "Effect", "PolicyBundle", "PolicyRule"]

# The implicit group of all named actors.
EVERYONE = "everyone"


class Effect(StrEnum):
    """Effect of a matching rule; deny overrides allow."""

    ALLOW = "allow"
    DENY = "deny"


class BranchScope(StrEnum):
    """Branches that a rule applies to."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@frozen
class PolicyRule:
    """A rule: a group, actions and scopes; an empty tuple matches everything."""

    id: str
    effect: Effect
    group: str
    actions: tuple[Action, ...]
    branch_scope: BranchScope = BranchScope.ANY
    target_branch_scope: BranchScope = BranchScope.ANY
    queries: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class PolicyBundle:
    """The content of one policy file."""

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protected_branches: tuple[str, ...] = ()
    rules: tuple[PolicyRule, ...] = ()
    name: str = "<policy>"
    # ``server`` or ``graph``, if the file declares it.
    kind: str | None = None

    @property
    def actors(self) -> frozenset[str]:
        """Return all actors listed in groups."""
        return frozenset(actor for members in self.groups.values() for actor in members)

    @property
    def applies_to_everyone(self) -> bool:
        """Return whether a rule applies to actors outside the listed groups."""
        return any(rule.group == EVERYONE for rule in self.rules)

    @property
    def governs_server(self) -> bool:
        """Return whether the bundle governs a server rather than a graph."""
        return any(action in SERVER_ACTIONS for rule in self.rules for action in rule.actions)

    @cached_property
    def filters_reads(self) -> bool:
        """Return whether a rule restricts reads to some types or properties."""
        filtered = {Action.READ, Action.EXPORT}
        return any(
            (rule.types or rule.properties) and not filtered.isdisjoint(rule.actions)
            for rule in self.rules
        )

    def is_protected(self, branch: str | None) -> bool:
        """Return whether a branch matches a pattern such as ``release/*``."""
        return branch is not None and any(
            fnmatchcase(branch, pattern) for pattern in self.protected_branches
        )
