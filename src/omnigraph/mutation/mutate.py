"""Execution of a mutation query: all its statements in one commit, or none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import Counts, WriterKind
from omnigraph.api.queries import QueryRequest
from omnigraph.api.writes import MutationRequest, MutationResult
from omnigraph.catalog.model import TypeId
from omnigraph.changeset.staging import count_changes, stage_changes
from omnigraph.compiler import bind_params, select_query
from omnigraph.errors import Forbidden, InvalidInput
from omnigraph.integrity.evaluate import evaluate_changes
from omnigraph.integrity.violations import redact_hidden
from omnigraph.ir.queries import Insert, InsertMode, MutationIR
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import Source
from omnigraph.mutation.statements import PendingChanges
from omnigraph.policy.actions import Action
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.session.idempotency import digest_of, find_earlier, run_once
from omnigraph.session.query import compile_on
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.api.commits import Commit
    from omnigraph.catalog.model import Catalog
    from omnigraph.integrity.changes import ChangeSet
    from omnigraph.integrity.evaluate import Evaluation
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["run_mutation"]


def run_mutation(
    engine: Engine,
    request: MutationRequest,
    *,
    seen: Engine | None = None,
    allow: Callable[[Sequence[str]], None] | None = None,
) -> MutationResult:
    """Run a mutation query as one commit.

    The catalog of ``seen`` compiles it, and ``allow`` authorises the types that it changes before
    anything is written."""
    writer = _MutationWriter(engine, request, seen or engine, allow)
    with engine.running.during("mutate", request.branch, request.actor, name=request.name):
        return writer.dry_run_result() if request.dry_run else _commit(engine, request, writer)


def _commit(engine: Engine, request: MutationRequest, writer: _MutationWriter) -> MutationResult:
    order = WriteRequest(
        request.branch,
        request.actor,
        request.message,
        request.if_commit,
        request.idempotency_key,
    )
    if request.idempotency_key is None:
        manifest = engine.transactions.run(order, writer)
        return writer.result(manifest.commit if manifest else None)
    commit = run_once(
        engine,
        replace(order, request_digest=_digest(request)),
        lambda order: engine.transactions.run(order, writer),
    )
    return writer.result(commit)


def _digest(request: MutationRequest) -> str:
    return digest_of("mutate", request.text, request.name, request.params)


class _MutationWriter:
    """Runs the statements of a mutation against the snapshot that a transaction captured."""

    kind = WriterKind.MUTATION

    def __init__(
        self,
        engine: Engine,
        request: MutationRequest,
        seen: Engine,
        allow: Callable[[Sequence[str]], None] | None,
    ) -> None:
        self._engine = engine
        self._request = request
        self._seen = seen
        self._allow = allow
        self._name = request.name or ""
        self._inserts_only = False

    @property
    def reprepares(self) -> bool:
        """Inserts depend on nothing that they read; updates and deletes decide by it."""
        return self._inserts_only

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        pending = self._run(view.snapshot)
        changes = pending.changes()
        evaluation = self._validate(changes, view.snapshot)
        return stage_changes(changes, evaluation, view.snapshot, reads=pending.reads)

    def dry_run_result(self) -> MutationResult:
        """Validate and count; write nothing, not even a data file."""
        snapshot = self._engine.snapshot(self._request.branch)
        key = self._request.idempotency_key
        if key is not None:
            earlier = find_earlier(self._engine, self._request.branch, key, _digest(self._request))
            if earlier is not None:
                return replace(self.result(earlier), dry_run=True)
        asked = self._request
        require_commit(self._engine.root, asked.branch, snapshot.manifest, asked.if_commit)
        changes = self._run(snapshot).changes()
        evaluation = self._validate(changes, snapshot)
        counts = count_changes(changes, evaluation, snapshot)
        return MutationResult(
            self._request.branch, self._name, counts, self._request.actor, None, dry_run=True
        )

    def result(self, commit: Commit | None) -> MutationResult:
        counts = commit.counts if commit else Counts()
        return MutationResult(
            self._request.branch,
            self._name or self._find_name(),
            counts,
            self._request.actor,
            commit,
        )

    def _validate(self, changes: ChangeSet, snapshot: Snapshot) -> Evaluation:
        """Validate a change, and raise violations without revealing hidden properties."""
        evaluation = evaluate_changes(changes, snapshot)
        if self._seen is not self._engine:
            seen = self._seen.root.catalog(snapshot.manifest.commit.schema)
            redact_hidden(evaluation.report, snapshot.catalog, seen)
        evaluation.raise_if_broken()
        return evaluation

    def _find_name(self) -> str:
        """The name of the query, where it did not have to be run again."""
        source = Source(self._request.text, self._request.source_name)
        return select_query(parse_queries(source), self._request.name).name

    def _run(self, snapshot: Snapshot) -> PendingChanges:
        ir = self._compile(snapshot)
        pending = PendingChanges(
            snapshot,
            bind_params(ir, self._request.params),
            micros_to_datetime(self._engine.root.clock.now_micros()),
            self._engine.root.limits,
        )
        for statement in ir.statements:
            pending.run(statement)
        return pending

    def _compile(self, snapshot: Snapshot) -> MutationIR:
        request = self._request
        seen = snapshot
        if self._seen is not self._engine:
            seen = open_snapshot(self._seen.root, snapshot.manifest)
        ir = compile_on(
            self._seen,
            seen,
            QueryRequest(request.text, name=request.name, source_name=request.source_name),
        )
        if not isinstance(ir, MutationIR):
            raise InvalidInput(
                "query.reads", f"query {ir.name!r} only reads", remedy="run it with `query`"
            )
        if self._allow is not None:
            types = {statement.type_id for statement in ir.statements}
            self._allow(sorted(seen.catalog.types[TypeId(key)].name for key in types))
        _require_whole_rows(ir, snapshot.catalog, seen.catalog)
        self._name = ir.name
        self._inserts_only = all(isinstance(item, Insert) for item in ir.statements)
        return ir


def _require_whole_rows(ir: MutationIR, whole: Catalog, seen: Catalog) -> None:
    """Refuse to replace rows of a type whose properties are partly hidden by policy."""
    for statement in ir.statements:
        if not isinstance(statement, Insert) or statement.mode is not InsertMode.REPLACE:
            continue
        entity = whole.types[TypeId(statement.type_id)]
        if seen.types[entity.id] != entity:
            raise Forbidden(
                "policy.denied",
                f"`replace {entity.name}` would erase properties that the policy hides from you",
                details={"action": Action.CHANGE.value, "types": [entity.name]},
                remedy="use `insert`, which keeps what it does not name",
            )
