"""The namespaces of an open graph: ``graph.branches``, ``graph.tags``, …"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import commit_id_of
from omnigraph.api.names import MAIN
from omnigraph.api.targets import Target, target_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.api.commit_listing import CommitFilter, CommitGraph, CommitPage
    from omnigraph.api.commits import Commit
    from omnigraph.api.merges import ResetResult
    from omnigraph.api.refs import BranchInfo, BranchRef, RefList, TagRef
    from omnigraph.api.status import AuditRow, PendingIntent
    from omnigraph.graph.authorize import Authorizer
    from omnigraph.session.engine import Engine
    from omnigraph.session.running_operations import RunningOperation

__all__ = ["Branches", "Commits", "Operations", "Recoveries", "Tags"]


class Branches:
    """The branches of a graph."""

    def __init__(self, engine: Engine, actor: str | None, authorizer: Authorizer) -> None:
        self._engine = engine
        self._actor = actor
        self._authorizer = authorizer

    def create(self, name: str, *, source: Target = MAIN) -> BranchRef:
        """Create a branch from ``source``: a branch, a commit, a tag or a point in time."""
        from omnigraph.versioning.branches import create_branch

        source = target_text(source)
        self._authorizer.create_branch(source, name)
        self._engine.recovery.sweep()
        manifest = self._engine.resolver.resolve(source)
        return create_branch(self._engine.root, self._engine.heads, name, manifest)

    def list(self) -> RefList[BranchInfo]:
        """List the open branches with their heads; ``damaged`` holds the unreadable ones."""
        from omnigraph.versioning.branches import list_branches

        engine = self._authorizer.read_names()
        return list_branches(engine.root, engine.heads)

    def delete(self, name: str, *, actor: str | None = None, force: bool = False) -> None:
        """Delete a branch; ``force`` allows it while branches forked from it are open."""
        from omnigraph.versioning.branches import delete_branch

        self._authorizer.acting_as(actor).delete_branch(name)
        self._engine.recovery.sweep()
        delete_branch(
            self._engine.root,
            self._engine.heads,
            name,
            actor=actor or self._actor,
            force=force,
        )

    def reset(
        self,
        name: str,
        *,
        to: Target,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> ResetResult:
        """Restore the state of another target on a branch, as a new commit."""
        from omnigraph.api.merges import ResetRequest
        from omnigraph.merging.reset import reset_branch

        to = target_text(to)
        self._authorizer.acting_as(actor).change_from(to, name)
        request = ResetRequest(name, to, actor or self._actor, message, if_commit)
        return reset_branch(self._engine, request)


class Tags:
    """Permanent names of commits."""

    def __init__(self, engine: Engine, actor: str | None, authorizer: Authorizer) -> None:
        self._engine = engine
        self._actor = actor
        self._authorizer = authorizer

    def create(self, name: str, *, at: Target = MAIN, actor: str | None = None) -> TagRef:
        """Give the commit of a target a permanent name."""
        from omnigraph.versioning.tags import create_tag

        at = target_text(at)
        self._authorizer.acting_as(actor).create_tag(at, name)
        manifest = self._engine.resolver.resolve(at)
        return create_tag(self._engine.root, name, manifest, actor=actor or self._actor)

    def list(self) -> RefList[TagRef]:
        """List the tags with their commits, by name; ``damaged`` holds the unreadable ones."""
        return self._authorizer.read_names().root.refs.tags()

    def delete(self, name: str) -> None:
        """Delete a tag; its commit remains."""
        from omnigraph.versioning.tags import delete_tag

        self._authorizer.delete_tag(name)
        delete_tag(self._engine.root, name)


class Commits:
    """The history of a graph."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def list(self, wanted: CommitFilter | None = None) -> CommitPage:
        """List commits, newest first."""
        from omnigraph.api.commit_listing import CommitFilter
        from omnigraph.history.commits import list_commits

        wanted = wanted or CommitFilter()
        return list_commits(self._authorizer.read(target_text(wanted.target)), wanted)

    def graph(self, *, limit: int = 100) -> CommitGraph:
        """Return the last commits of all branches with their parents; a notebook draws them."""
        from omnigraph.history.commits import commit_graph

        return commit_graph(self._authorizer.read_names(), limit)

    def show(self, commit_id: str | Commit) -> Commit:
        """Return one commit: parents, actor, time, message."""
        wanted = commit_id_of(commit_id)
        return self._authorizer.read(wanted).lineage.get(wanted)

    def is_ancestor(self, older: str | Commit, newer: str | Commit) -> bool:
        """Whether a commit is reachable from another one; every commit is reachable from itself."""
        ids = commit_id_of(older), commit_id_of(newer)
        return self._authorizer.read(*ids).lineage.is_ancestor(*ids)

    def merge_base(self, left: str | Commit, right: str | Commit) -> Commit | None:
        """Return the newest common ancestor of two commits, the base of a merge."""
        ids = commit_id_of(left), commit_id_of(right)
        return self._authorizer.read(*ids).lineage.merge_base(*ids)


class Recoveries:
    """The audit of recovery, and unfinished writes."""

    def __init__(self, engine: Engine, authorizer: Authorizer) -> None:
        self._engine = engine
        self._authorizer = authorizer

    def list(self) -> Sequence[AuditRow]:
        """List the recovered operations, oldest first."""
        self._authorizer.administer()
        return self._engine.recovery.audit.rows()

    def pending(self) -> Sequence[PendingIntent]:
        """List unfinished writes: running ones, and those that recovery leaves to the operator."""
        self._authorizer.administer()
        return self._engine.recovery.pending()


class Operations:
    """The running queries, exports and writes of this open graph."""

    def __init__(self, engine: Engine, authorizer: Authorizer) -> None:
        self._engine = engine
        self._authorizer = authorizer

    def list(self) -> Sequence[RunningOperation]:
        """List the running operations, oldest first."""
        self._authorizer.administer()
        return self._engine.running.list()

    def cancel(self, operation_id: str) -> RunningOperation:
        """Cancel an operation at its next step.

        A query fails with ``query.cancelled``. A write fails with ``operation.cancelled`` and has
        no effect; a commit that is being published is completed.
        """
        self._authorizer.administer()
        return self._engine.running.cancel(operation_id)
