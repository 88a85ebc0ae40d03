"""What users call. One object per open graph; every door (Python, CLI, server) goes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from omnigraph.compiler.compilation import DEFAULT_SOURCE_NAME
from omnigraph.graph.at import GraphAt
from omnigraph.graph.changes import Changes
from omnigraph.operations.changes.blame import BlameRequest, EntityHistory, blame
from omnigraph.operations.changes.diff import Diff, DiffRequest, diff
from omnigraph.operations.describe import Status, describe
from omnigraph.operations.evolve.apply import SchemaRequest, SchemaResult, apply_schema
from omnigraph.operations.evolve.plan import DesiredSchema
from omnigraph.operations.history import (
    CommitFilter,
    CommitGraph,
    CommitPage,
    commit_graph,
    list_commits,
)
from omnigraph.operations.indexes import EnsureResult, ensure_indices
from omnigraph.operations.load import LoadRequest, LoadResult, Progress, load, parse_mode
from omnigraph.operations.merge.branches import MergeRequest, merge_branches
from omnigraph.operations.merge.commits import PickRequest, cherry_pick, revert
from omnigraph.operations.mutate import MutationRequest, MutationResult, run_mutation
from omnigraph.operations.reset import ResetRequest, ResetResult, reset_branch
from omnigraph.policy.guard import OPEN
from omnigraph.versioning import branches, tags
from omnigraph.versioning.manifest import commit_id_of
from omnigraph.versioning.merge.choices import parse_choices
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.targets import Target, target_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from omnigraph.executor.budget import Budget
    from omnigraph.graph.authorize import Gate
    from omnigraph.operations.engine import Engine
    from omnigraph.operations.merge.result import MergeResult, PickResult
    from omnigraph.operations.running import Operation
    from omnigraph.policy.guard import Guard
    from omnigraph.recovery.audit import AuditRow
    from omnigraph.recovery.sweep import Pending
    from omnigraph.versioning.branches import BranchInfo
    from omnigraph.versioning.manifest import Commit
    from omnigraph.versioning.refs import BranchRef, TagRef

__all__ = [
    "Branches",
    "Commits",
    "Graph",
    "GraphAt",
    "Operations",
    "Recoveries",
    "Tags",
]


class Branches:
    """The branches of a graph."""

    def __init__(self, engine: Engine, actor: str | None, gate: Gate) -> None:
        self._engine = engine
        self._actor = actor
        self._gate = gate

    def create(self, name: str, *, source: Target = MAIN) -> BranchRef:
        """A new branch that begins at ``source``: a branch, a commit, a tag or a point in time."""
        source = target_text(source)
        self._gate.create_branch(source, name)
        self._engine.recovery.sweep()
        manifest = self._engine.resolver.resolve(source)
        return branches.create_branch(self._engine.root, self._engine.heads, name, manifest)

    def list(self) -> Sequence[BranchInfo]:
        """The open branches with their heads, by name."""
        engine = self._gate.read_names()
        return branches.list_branches(engine.root, engine.heads)

    def delete(self, name: str, *, actor: str | None = None, force: bool = False) -> None:
        """Delete a branch; ``force`` allows it while branches forked from it are open."""
        self._gate.acting_as(actor).delete_branch(name)
        self._engine.recovery.sweep()
        branches.delete_branch(
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
        """Make a branch hold what another target holds, as a new commit."""
        to = target_text(to)
        self._gate.acting_as(actor).change_from(to, name)
        request = ResetRequest(name, to, actor or self._actor, message, if_commit)
        return reset_branch(self._engine, request)


class Tags:
    """Names for commits that never move."""

    def __init__(self, engine: Engine, actor: str | None, gate: Gate) -> None:
        self._engine = engine
        self._actor = actor
        self._gate = gate

    def create(self, name: str, *, at: Target = MAIN, actor: str | None = None) -> TagRef:
        at = target_text(at)
        self._gate.acting_as(actor).create_tag(at, name)
        manifest = self._engine.resolver.resolve(at)
        return tags.create_tag(self._engine.root, name, manifest, actor=actor or self._actor)

    def list(self) -> Sequence[TagRef]:
        return self._gate.read_names().root.refs.tags()

    def delete(self, name: str) -> None:
        self._gate.delete_tag(name)
        tags.delete_tag(self._engine.root, name)


class Commits:
    """The history of a graph."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def list(self, wanted: CommitFilter | None = None) -> CommitPage:
        """Commits, newest first."""
        wanted = wanted or CommitFilter()
        return list_commits(self._gate.read(target_text(wanted.target)), wanted)

    def graph(self, *, limit: int = 100) -> CommitGraph:
        """The last commits of all branches with their parents; a notebook draws it."""
        return commit_graph(self._gate.read_names(), limit)

    def show(self, commit_id: str | Commit) -> Commit:
        wanted = commit_id_of(commit_id)
        return self._gate.read(wanted).lineage.get(wanted)

    def is_ancestor(self, older: str | Commit, newer: str | Commit) -> bool:
        ids = commit_id_of(older), commit_id_of(newer)
        return self._gate.read(*ids).lineage.is_ancestor(*ids)

    def merge_base(self, left: str | Commit, right: str | Commit) -> Commit | None:
        ids = commit_id_of(left), commit_id_of(right)
        return self._gate.read(*ids).lineage.merge_base(*ids)


class Recoveries:
    """What recovery did, and what it left alone."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate

    def list(self) -> Sequence[AuditRow]:
        self._gate.administer()
        return self._engine.recovery.audit.rows()

    def pending(self) -> Sequence[Pending]:
        self._gate.administer()
        return self._engine.recovery.pending()


class Operations:
    """What runs now through this open graph: queries, exports and writes."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate

    def list(self) -> Sequence[Operation]:
        """What is running, the oldest first."""
        self._gate.administer()
        return self._engine.running.list()

    def cancel(self, operation_id: str) -> Operation:
        """Stop what runs at its next step. A query fails with ``query.cancelled``, a write with
        ``operation.cancelled`` and without a trace; a commit that is being published is finished.
        """
        self._gate.administer()
        return self._engine.running.cancel(operation_id)


class Graph(GraphAt):
    """An open graph. Thread-safe; use it as a context manager, or just drop it."""

    def __init__(self, engine: Engine, *, actor: str | None = None, guard: Guard = OPEN) -> None:
        super().__init__(engine, MAIN, actor=actor, guard=guard)
        gate = self._gate
        self.branches = Branches(engine, actor, gate)
        self.tags = Tags(engine, actor, gate)
        self.commits = Commits(gate)
        self.changes = Changes(gate)
        self.recoveries = Recoveries(engine, gate)
        self.operations = Operations(engine, gate)

    def acting_as(self, actor: str) -> Graph:
        """The same open graph in the name of somebody else. Cheap: make one per request."""
        return Graph(self._engine, actor=actor, guard=self._gate.guard)

    @property
    def guard(self) -> Guard:
        """What is asked before anything is done, for whoever has to ask earlier."""
        return self._gate.guard

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    @property
    def uri(self) -> str:
        return self._engine.root.objects.uri

    @property
    def id(self) -> str:
        """The graph's own id, the same wherever it is moved to."""
        return self._engine.root.stamp.graph_id

    def at(self, target: Target) -> GraphAt:
        """The graph at a branch, a commit, a tag, ``BRANCH@TIME`` or ``BRANCH@vN``; also at a
        commit or a branch that the graph handed out, and at a ``datetime`` of main."""
        target = target_text(target)
        self._gate.read(target).resolver.resolve(target)
        return GraphAt(self._engine, target, actor=self._actor, guard=self._gate.guard)

    @property
    def budget(self) -> Budget:
        """What a query may cost when its call does not say."""
        return self._engine.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._engine.budget = budget

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
        commit. ``idempotency_key`` makes a repeated request answer with its first commit.
        ``dry_run`` validates and counts, and writes nothing.
        """
        gate = self._gate.acting_as(actor)
        gate.change(branch)
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
        return run_mutation(
            self._engine,
            request,
            seen=gate.seen_to_change(branch),
            allow=lambda types: gate.change(branch, types=types),
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
        """Load many entities as one commit on a branch, or leave the graph as it is.

        ``source`` is a path or several, an open file, bytes, an iterable of records, an Arrow
        table, a pandas or polars frame, or a mapping from type names to such. ``mode`` is
        ``append`` (every entity is new), ``merge`` (existing ones are replaced) or ``overwrite``
        (the input is all there is of its types). ``type`` names the one type of a table.
        ``from_`` makes the branch from another target if it does not exist; it stays only if
        the load succeeds. What is wrong with the data is a ``ValidationFailure`` that names every
        record.
        """
        gate = self._gate.acting_as(actor)
        gate.load(branch, from_, mode)
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
        return load(
            self._engine,
            request,
            lambda types: gate.change(branch, types=types),
            seen=gate.seen_to_change(branch),
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

        ``backfill`` says where rows that exist get a property from: ``{"Person.full_name":
        "name"}`` copies another property, ``{"Person.country": '"NL"'}`` is a constant.
        ``allow_data_loss`` makes drops hard: the next cleanup may take the data from history, too.
        ``dry_run`` plans and checks the data, and writes nothing.
        """
        self._gate.acting_as(actor).apply_schema(branch)
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
    ) -> Diff:
        """What differs between two targets: iterate over it, or ask for its ``summary``."""
        before, after = target_text(before), target_text(after)
        return diff(self._gate.read(before, after), DiffRequest(before, after, kinds, types, ops))

    def blame(
        self,
        type: str,  # noqa: A002 - the words of the graph
        id: str,  # noqa: A002
        *,
        target: Target = MAIN,
        limit: int = 1_000,
    ) -> EntityHistory:
        """Every commit that changed one entity, newest first."""
        target = target_text(target)
        return blame(self._gate.read(target), BlameRequest(type, id, target, limit))

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

        ``preview`` tells conflicts and a summary, and writes nothing. Conflicts are decided by a
        ``strategy`` (``ours`` is the branch that is merged into), or one by one: ``resolutions`` is
        a list of ``{"conflict_id": …, "take": "ours" | "theirs" | {"value": {…}}}``.
        """
        gate = self._gate.acting_as(actor)
        gate.merge(source, into, preview=preview, delete_branch=delete_branch)
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
        """Undo on a branch what one commit did, and keep what happened since."""
        commit_id = commit_id_of(commit_id)
        self._gate.acting_as(actor).change_from(commit_id, branch)
        choices = parse_choices(strategy, resolutions)
        request = PickRequest(
            commit_id, branch, choices, preview, actor or self._actor, message, if_commit
        )
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
        """Do on a branch what one commit did elsewhere."""
        commit_id = commit_id_of(commit_id)
        self._gate.acting_as(actor).change_from(commit_id, into)
        choices = parse_choices(strategy, resolutions)
        request = PickRequest(
            commit_id, into, choices, preview, actor or self._actor, message, if_commit
        )
        return cherry_pick(self._engine, request)

    def ensure_indices(
        self,
        *,
        branch: str = MAIN,
        types: Sequence[str] | None = None,
        force: bool = False,
        actor: str | None = None,
    ) -> EnsureResult:
        """Build the indexes that a branch lacks and extend those that do not cover its rows, as one
        commit. ``force`` leaves none out because it would not pay."""
        self._gate.acting_as(actor).administer()
        return ensure_indices(self._engine, branch, types=types, force=force, actor=actor)

    def refresh(self) -> Sequence[AuditRow]:
        """Resolve what unfinished writers left behind; what was done."""
        self._gate.administer()
        self._engine.root.require_writable()
        return self._engine.recovery.sweep()

    def status(self) -> Status:
        """What this graph is, how large it is, and what needs attention."""
        return describe(self._gate.read_names())

    @property
    def actor(self) -> str | None:
        """Who writes when a call does not say."""
        return self._actor

    def close(self) -> None:
        """Write down what is cheaper to keep than to find again. Closing twice is fine."""
        if not self._engine.root.read_only:
            self._engine.lineage.archive()
