"""The embedded graph: one object per open graph, used by every interface.

Operations are imported on first use, so that a process that only reads loads neither merges nor
loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from omnigraph.api.commits import commit_id_of
from omnigraph.api.names import MAIN
from omnigraph.api.targets import Target, target_text
from omnigraph.graph.at import EmbeddedGraphAt
from omnigraph.graph.changes import Changes
from omnigraph.graph.namespaces import Branches, Commits, Operations, Recoveries, Tags
from omnigraph.graph.redact import hidden_types_redacted
from omnigraph.language.source import DEFAULT_SOURCE_NAME
from omnigraph.policy.guard import OPEN
from omnigraph.session.query import require_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from omnigraph.api.change_pages import EntityHistory
    from omnigraph.api.commits import Commit
    from omnigraph.api.indexes import EnsureResult
    from omnigraph.api.merges import MergeResult, PickRequest, PickResult
    from omnigraph.api.schemas import SchemaResult
    from omnigraph.api.status import AuditRow, Status
    from omnigraph.api.writes import LoadResult, MutationResult, Progress
    from omnigraph.history.diff import SnapshotDiff
    from omnigraph.policy.guard import ActorPolicy
    from omnigraph.runtime.budget import Budget
    from omnigraph.session.engine import Engine

__all__ = ["EmbeddedGraph", "EmbeddedGraphAt"]


class EmbeddedGraph(EmbeddedGraphAt):
    """An open graph. Thread-safe; usable as a context manager, ``close`` is optional."""

    def __init__(
        self, engine: Engine, *, actor: str | None = None, guard: ActorPolicy = OPEN
    ) -> None:
        super().__init__(engine, MAIN, actor=actor, guard=guard)
        authorizer = self._authorizer
        self.branches = Branches(engine, actor, authorizer)
        self.tags = Tags(engine, actor, authorizer)
        self.commits = Commits(authorizer)
        self.changes = Changes(authorizer)
        self.recoveries = Recoveries(engine, authorizer)
        self.operations = Operations(engine, authorizer)

    def acting_as(self, actor: str) -> EmbeddedGraph:
        """Return the same open graph for another actor. Cheap enough for one per request."""
        return EmbeddedGraph(self._engine, actor=actor, guard=self._authorizer.guard)

    @property
    def guard(self) -> ActorPolicy:
        """The policy guard, for callers that check authorisation earlier."""
        return self._authorizer.guard

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    @property
    def uri(self) -> str:
        """The path or URI of the graph."""
        return self._engine.root.objects.uri

    @property
    def id(self) -> str:
        """The graph's id; it does not change when the graph is moved."""
        return self._engine.root.stamp.graph_id

    def at(self, target: Target) -> EmbeddedGraphAt:
        """Return the graph at a branch, a commit, a tag, ``BRANCH@TIME`` or ``BRANCH@vN``.

        Objects that the graph returned (commits, branches, tags) are accepted as well, and a
        ``datetime``, which is main at that time.
        """
        target = target_text(target)
        self._authorizer.read(target).resolver.resolve(target)
        return EmbeddedGraphAt(
            self._engine, target, actor=self._actor, guard=self._authorizer.guard
        )

    @property
    def budget(self) -> Budget:
        """The default budget of queries."""
        return self._engine.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._engine.budget = require_budget(budget)

    def mutate(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        source_name: str = DEFAULT_SOURCE_NAME,
    ) -> MutationResult:
        """Run a mutation query as one commit on a branch.

        ``if_commit`` is a compare-and-swap: the mutation runs only while the branch is at that
        commit. A repeated request with the same ``idempotency_key`` returns its first commit.
        ``dry_run`` validates and counts, and writes nothing.
        """
        from omnigraph.api.writes import MutationRequest
        from omnigraph.mutation.mutate import run_mutation

        authorizer = self._authorizer.acting_as(actor)
        authorizer.change(branch)
        request = MutationRequest(
            text,
            params or {},
            name,
            branch,
            actor or self._actor,
            message,
            if_commit,
            idempotency_key,
            dry_run,
            source_name,
        )
        seen = authorizer.engine_for_change(branch)
        with hidden_types_redacted(self._engine, seen, branch):
            return run_mutation(
                self._engine,
                request,
                seen=seen,
                allow=lambda types: authorizer.change(branch, types=types),
            )

    def load(
        self,
        source: Any,
        *,
        mode: str,
        branch: str = MAIN,
        from_: str | None = None,
        type: str | None = None,  # noqa: A002
        format: str | None = None,  # noqa: A002
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> LoadResult:
        """Load entities as one commit on a branch; a failed load has no effect.

        ``source`` is a path or several, an open file, bytes, an iterable of records, an Arrow
        table, a pandas or polars frame, or a mapping from type names to such. ``mode`` is
        ``append`` (an existing id is an error), ``merge`` (an upsert: absent fields and columns
        keep the stored values, NULL clears them) or ``overwrite`` (the input becomes the complete
        content of its types). ``type`` names the only type of a table. ``from_`` forks a missing
        branch from another target; the branch exists only if the load succeeds. Invalid data raises
        a ``ValidationFailure`` that names every record.
        """
        from omnigraph.api.writes import LoadRequest, parse_mode
        from omnigraph.loading import load

        authorizer = self._authorizer.acting_as(actor)
        authorizer.load(branch, from_, mode)
        request = LoadRequest(
            source,
            parse_mode(mode),
            branch,
            from_,
            type,
            format,
            actor or self._actor,
            message,
            if_commit,
            idempotency_key,
            dry_run,
            progress,
        )
        seen = authorizer.engine_for_change(branch)
        with hidden_types_redacted(self._engine, seen, branch):
            return load(
                self._engine,
                request,
                lambda types: authorizer.change(branch, types=types),
                seen=seen,
            )

    def apply_schema(
        self,
        schema: str,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        dry_run: bool = False,
        source_name: str = "<schema>",
    ) -> SchemaResult:
        """Make ``schema`` the schema of a branch: checks, rewrites and catalog in one commit.

        ``backfill`` gives existing rows a value of a property: ``{"Person.full_name": "name"}``
        copies another property, ``{"Person.country": '"NL"'}`` is a constant. ``allow_data_loss``
        makes drops hard: the next cleanup may remove their data from the history as well.
        ``dry_run`` plans and checks the data, and writes nothing.
        """
        from omnigraph.api.schemas import DesiredSchema, SchemaRequest
        from omnigraph.evolution.apply import apply_schema

        self._authorizer.acting_as(actor).apply_schema(branch)
        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        request = SchemaRequest(
            wanted, branch, actor or self._actor, message, if_commit, dry_run=dry_run
        )
        return apply_schema(self._engine, request)

    def diff(
        self,
        before: Target,
        after: Target,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> SnapshotDiff:
        """Return the difference between two targets; iterate over it, or read its ``summary``."""
        from omnigraph.api.change_pages import DiffRequest
        from omnigraph.history.diff import diff

        before, after = target_text(before), target_text(after)
        return diff(
            self._authorizer.read(before, after), DiffRequest(before, after, kinds, types, ops)
        )

    def blame(
        self,
        type: str,  # noqa: A002 - the words of the graph
        id: str,  # noqa: A002
        *,
        target: Target = MAIN,
        limit: int = 1_000,
    ) -> EntityHistory:
        """List the commits that changed one entity, newest first, without discarded changes."""
        from omnigraph.api.change_pages import BlameRequest
        from omnigraph.history.blame import blame

        target = target_text(target)
        return blame(self._authorizer.read(target), BlameRequest(type, id, target, limit))

    def merge(
        self,
        source: str,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        delete_branch: bool = False,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another, entity by entity and property by property, as one commit.

        ``preview`` returns conflicts and a summary, and writes nothing. Conflicts are resolved by a
        ``strategy`` (``ours`` is the branch that is merged into), or one by one: ``resolutions`` is
        a list of ``{"conflict_id": …, "take": "ours" | "theirs" | {"value": {…}}}``.
        """
        from omnigraph.api.merges import MergeRequest
        from omnigraph.merging.merge import merge_branches
        from omnigraph.merging.resolutions import parse_choices

        authorizer = self._authorizer.acting_as(actor)
        authorizer.merge(source, into, preview=preview, delete_branch=delete_branch)
        request = MergeRequest(
            source,
            into,
            parse_choices(strategy, resolutions),
            preview,
            delete_branch,
            actor or self._actor,
            message,
            if_commit,
        )
        return merge_branches(self._engine, request)

    def revert(
        self,
        commit_id: str | Commit,
        *,
        branch: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> PickResult:
        """Undo the changes of one commit on a branch; later changes are kept."""
        from omnigraph.merging.cherry_pick import revert

        how = {"preview": preview, "message": message, "if_commit": if_commit}
        request = self._pick(commit_id, branch, actor, (strategy, resolutions), **how)
        return revert(self._engine, request)

    def cherry_pick(
        self,
        commit_id: str | Commit,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> PickResult:
        """Apply the changes of one commit of another branch."""
        from omnigraph.merging.cherry_pick import cherry_pick

        how = {"preview": preview, "message": message, "if_commit": if_commit}
        request = self._pick(commit_id, into, actor, (strategy, resolutions), **how)
        return cherry_pick(self._engine, request)

    def _pick(
        self,
        commit_id: str | Commit,
        branch: str,
        actor: str | None,
        decisions: tuple[str | None, Sequence[Mapping[str, Any]] | None],
        **how: Any,
    ) -> PickRequest:
        """Authorise a revert or cherry-pick, and build its request."""
        from omnigraph.api.merges import PickRequest
        from omnigraph.merging.resolutions import parse_choices

        commit_id = commit_id_of(commit_id)
        self._authorizer.acting_as(actor).change_from(commit_id, branch)
        choices = parse_choices(*decisions)
        return PickRequest(commit_id, branch, choices, actor=actor or self._actor, **how)

    def ensure_indices(
        self,
        *,
        branch: str = MAIN,
        types: Sequence[str] | None = None,
        force: bool = False,
        actor: str | None = None,
    ) -> EnsureResult:
        """Build and extend the indexes of a branch as one commit.

        Small tables are skipped because an index would not pay; ``force`` builds those indexes as
        well.
        """
        from omnigraph.maintenance.indexes import ensure_indices

        self._authorizer.acting_as(actor).administer()
        return ensure_indices(self._engine, branch, types=types, force=force, actor=actor)

    def refresh(self) -> Sequence[AuditRow]:
        """Recover unfinished writes of other processes, and list them."""
        self._authorizer.administer()
        self._engine.root.require_writable()
        return self._engine.recovery.sweep()

    def status(self) -> Status:
        """Return the identity, size, heads and problems of the graph."""
        from omnigraph.session.status import describe_status

        return describe_status(self._authorizer.read_names())

    def close(self) -> None:
        """End the use of the graph. Idempotent."""
