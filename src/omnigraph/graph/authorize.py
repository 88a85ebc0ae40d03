"""The authorisation check of the facade: asks the policy before an operation runs.

Names are validated before the check. A target is checked as the branch that it belongs to: a commit
as the branch on which it was made, a tag as the branch of its commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.names import MAIN, parse_branch_name, parse_tag_name
from omnigraph.catalog.reduce import reduce_catalog
from omnigraph.errors import Forbidden, NotFound
from omnigraph.policy.actions import Action
from omnigraph.policy.guard import denied
from omnigraph.policy.questions import Decision, Extent
from omnigraph.runtime.ids import is_ulid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.policy.guard import ActorPolicy
    from omnigraph.session.engine import Engine

__all__ = ["Authorizer"]


class Authorizer:
    """Authorises the operations of one actor. Every method returns, or raises ``policy.denied``."""

    __slots__ = ("_engine", "_guard", "_open")

    def __init__(self, engine: Engine, guard: ActorPolicy) -> None:
        self._engine = engine
        self._guard = guard
        self._open = guard.policy is None

    @property
    def guard(self) -> ActorPolicy:
        return self._guard

    def acting_as(self, actor: str | None) -> Authorizer:
        guard = self._guard.acting_as(actor)
        return self if guard is self._guard else Authorizer(self._engine, guard)

    # --- reads ---------------------------------------------------------------------------------

    def read(self, *targets: str) -> Engine:
        """Authorise reads of targets, and return the engine with the actor's view."""
        return self._engine if self._open else self._authorized_engine(Action.READ, targets)

    def read_names(self) -> Engine:
        """Authorise reads that concern no branch: the names of branches and tags, the status."""
        if self._open:
            return self._engine
        self._guard.require(Action.READ)
        return self._restricted_engine(Action.READ, (None,))

    def export(self, *targets: str) -> Engine:
        """Authorise exports of whole types of targets."""
        return self._engine if self._open else self._authorized_engine(Action.EXPORT, targets)

    def _authorized_engine(self, action: Action, targets: Iterable[str]) -> Engine:
        branches = tuple(dict.fromkeys(map(self.branch_of, targets)))
        for branch in branches:
            self._guard.require(action, branch=branch)
        return self._restricted_engine(action, branches)

    def _restricted_engine(self, action: Action, branches: tuple[str | None, ...]) -> Engine:
        """Return the engine with the actor's view of all of these branches."""
        policy = self._guard.policy
        if policy is None or not policy.bundle.filters_reads:
            return self._engine
        guard = self._guard

        def sees_type(name: str) -> bool:
            return all(guard.can_see(action, branch, name) for branch in branches)

        def sees_property(name: str, prop: str) -> bool:
            return all(guard.can_see(action, branch, name, prop) for branch in branches)

        return self._engine.seen_through(
            (policy, guard.actor, action, branches),
            lambda catalog: reduce_catalog(catalog, sees_type, sees_property),
        )

    def engine_for_change(self, branch: str) -> Engine:
        """Return the engine that compiles a change: hidden properties are unknown to it."""
        return (
            self._engine
            if self._open
            else self._restricted_engine(Action.READ, (parse_branch_name(branch),))
        )

    def sees_all(self, target: str) -> bool:
        """Whether the actor sees everything at a target."""
        if self._open:
            return True
        schema = self._engine.resolver.resolve(target).commit.schema
        seen = self._restricted_engine(Action.READ, (self.branch_of(target),)).root.catalog(schema)
        return seen is self._engine.root.catalog(schema)

    def require_whole(self, action: Action, *targets: str) -> None:
        """Require an unrestricted view, for operations that move hidden data or show it in
        conflicts.
        """
        if self._open:
            return
        for target in targets:
            try:
                whole = self.sees_all(target)
            except NotFound:
                continue
            if not whole:
                raise Forbidden(
                    "policy.denied",
                    f"{self._guard.actor!r} has a restricted view of {target!r}, and "
                    f"{action.value} "
                    "requires an unrestricted one",
                    details={"action": action.value, "actor": self._guard.actor, "branch": target},
                    remedy="ask an actor with an unrestricted view; visible entities can "
                    "be changed by "
                    "a mutation",
                )

    def export_all(self, branches: Iterable[str]) -> Engine:
        """Authorise copies of branches with their history, hence of all their past content."""
        for branch in branches:
            self._guard.require(Action.EXPORT, branch=branch, types=Extent.ALL)
        return self._engine

    # --- writes --------------------------------------------------------------------------------

    def change(self, branch: str, *, types: Sequence[str] | Extent = Extent.OPEN) -> None:
        """Authorise changes of entities on a branch."""
        if not self._open:
            self._guard.require(Action.CHANGE, branch=parse_branch_name(branch), types=types)

    def change_from(self, source: str, branch: str) -> None:
        """Authorise changes of a branch by the content of another target."""
        self.read(source)
        self.change(branch, types=Extent.ALL)
        self.require_whole(Action.CHANGE, source, branch)

    def load(self, branch: str, from_: str | None, mode: str, *, whole: bool = False) -> None:
        """Authorise a load to a branch, and the creation of the branch from ``from_`` if it is
        missing.

        Append and merge keep the values that they do not name, so a restricted view permits them if
        the input is read with that view; ``whole`` requires an unrestricted one.
        """
        if self._open:
            return
        if whole or mode == "overwrite":
            self.require_whole(Action.CHANGE, branch, *([from_] if from_ else []))
        if from_ is not None:
            ref = self._engine.root.refs.branch(parse_branch_name(branch))
            if ref is None or not ref.open:
                self.create_branch(from_, branch)
        self.change(branch)

    def create_branch(self, source: str, name: str) -> None:
        """Authorise the creation of a branch, which includes a read of its source."""
        self._from_to(Action.BRANCH_CREATE, source, name)

    def create_tag(self, source: str, name: str) -> None:
        if not self._open:
            parse_tag_name(name)
            self._from_to(Action.BRANCH_CREATE, source, name)

    def merge(self, source: str, into: str, *, preview: bool, delete_branch: bool) -> None:
        if preview:
            self.read(source, into)
            self.require_whole(Action.READ, source, into)
            return
        self._from_to(Action.BRANCH_MERGE, source, into)
        self.require_whole(Action.BRANCH_MERGE, source, into)
        if delete_branch:
            self.delete_branch(source)

    def delete_branch(self, name: str) -> None:
        if not self._open:
            self._guard.require(Action.BRANCH_DELETE, target_branch=parse_branch_name(name))

    def delete_tag(self, name: str) -> None:
        if not self._open:
            self._guard.require(Action.BRANCH_DELETE, target_branch=parse_tag_name(name))

    def apply_schema(self, branch: str) -> None:
        if not self._open:
            self._guard.require(Action.SCHEMA_APPLY, target_branch=parse_branch_name(branch))
            self.require_whole(Action.SCHEMA_APPLY, branch)

    def administer(self) -> None:
        """Authorise maintenance, recovery, and the cancellation of other actors' operations."""
        self._guard.require(Action.ADMIN)

    # --- targets -------------------------------------------------------------------------------

    def branch_of(self, target: str) -> str:
        """Return the branch that a target is checked as."""
        if target == MAIN:
            return MAIN
        self._require_known()
        branch, at, _ = target.partition("@")
        if at:
            return parse_branch_name(branch)
        if is_ulid(target.upper()):
            return self._engine.lineage.get(target.upper()).branch
        parse_branch_name(target)
        try:
            self._engine.heads.of_branch(target)
        except NotFound:
            tag = self._engine.root.refs.tag(target)
            # An unknown name is checked as written; the operation then reports that it does not
            # exist.
            return target if tag is None else self._engine.lineage.get(tag.commit).branch
        return target

    def _require_known(self) -> None:
        """Refuse an actor without any permission, before errors reveal which names exist."""
        if not self._guard.actor:
            raise denied(None, Action.READ, Decision(allowed=False))

    def _from_to(self, action: Action, source: str, target: str) -> None:
        if self._open:
            return
        parse_branch_name(target)
        branch = self.branch_of(source)
        self._guard.require(Action.READ, branch=branch)
        self._guard.require(action, branch=branch, target_branch=target)
