"""Cherry-pick and revert: one commit applied to a branch, as a three-way merge.

Picking a commit is a merge whose base is the commit's parent; reverting it is a merge of the parent
whose base is the commit. A merge commit counts with its first parent. A commit that changed the
schema applies schema changes as well; any other one only moves entities, and the branch keeps its
schema. A physical commit has no effect to repeat or undo.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.api.merges import PickRequest, PickResult
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.merging.plan import MergePlan
from omnigraph.merging.result import merge_conflict
from omnigraph.merging.schema import keep_schema, merge_schemas
from omnigraph.merging.snapshots import MergeSnapshots
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["cherry_pick", "revert"]


def cherry_pick(engine: Engine, request: PickRequest) -> PickResult:
    """Apply the changes of a commit to a branch."""
    return _run(engine, request, WriterKind.CHERRY_PICK)


def revert(engine: Engine, request: PickRequest) -> PickResult:
    """Undo the changes of a commit on a branch, and keep all later ones."""
    return _run(engine, request, WriterKind.REVERT)


def _run(engine: Engine, request: PickRequest, kind: WriterKind) -> PickResult:
    commit = engine.lineage.get(request.commit)
    if commit.parent is None:
        raise InvalidInput(
            "commit.parentless",
            f"commit {commit.id} is the first one and has no parent",
            remedy="create a branch at it (branch create --from), or reset one to it",
        )
    writer = _PickWriter(engine, request, commit, kind)
    if commit.kind.is_physical:
        return writer.without_effect()
    if request.preview:
        return writer.preview()
    message = request.message or f"{_VERBS[kind]} {commit.id}"
    with engine.running.during(kind.value, request.branch, request.actor, name=commit.id):
        manifest = engine.transactions.run(
            WriteRequest(request.branch, request.actor, message, request.if_commit), writer
        )
    return writer.result(manifest)


class _PickWriter:
    """Applies the difference between a commit and its parent to the captured head."""

    reprepares = True

    def __init__(
        self, engine: Engine, request: PickRequest, commit: Commit, kind: WriterKind
    ) -> None:
        self.kind = kind
        self._engine = engine
        self._request = request
        self._result = PickResult(
            request.branch, commit, None, actor=request.actor, verb=_VERBS[kind].lower()
        )

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        plan = self._plan(view.snapshot)
        if self._result.conflicts:
            what = f"{self._result.verb} {self._result.picked.id} on {self._request.branch!r}"
            raise merge_conflict(what, self._result.conflicts, self._request.choices)
        prepared = plan.stage()
        done = (prepared.effects, prepared.created, prepared.dropped, plan.redefines)
        return prepared if any(done) else None

    def without_effect(self) -> PickResult:
        """Return the result for a commit without entity changes, after checking the request."""
        self._require_commit(self._engine.heads.of_branch(self._request.branch)[1])
        self._request.choices.require_known(())
        return replace(self._result, preview=self._request.preview)

    def preview(self) -> PickResult:
        ours = self._engine.snapshot(self._request.branch)
        self._require_commit(ours.manifest)
        self._plan(ours)
        return replace(self._result, preview=True)

    def result(self, manifest: Manifest | None) -> PickResult:
        return replace(self._result, commit=manifest.commit if manifest else None)

    def _require_commit(self, head: Manifest) -> None:
        request = self._request
        require_commit(self._engine.root, request.branch, head, request.if_commit)

    def _plan(self, ours: Snapshot) -> MergePlan:
        before, after = self._snapshots()
        if self.kind is WriterKind.REVERT:
            before, after = after, before
        snapshots = MergeSnapshots(before, ours, after)
        evolves = before.manifest.commit.schema != after.manifest.commit.schema
        choices = self._request.choices
        schema = merge_schemas(snapshots, choices) if evolves else keep_schema(snapshots)
        plan = MergePlan(snapshots, schema, bytes_max=self._engine.root.limits.load_bytes_max)
        conflicts = tuple(plan.resolve_conflicts(choices))
        counted = self._request.preview
        types = () if schema.conflicts else plan.outcomes(counted=counted)
        self._result = replace(self._result, types=types, conflicts=conflicts)
        return plan

    def _snapshots(self) -> tuple[Snapshot, Snapshot]:
        """Return the snapshots of the commit's parent and of the commit."""
        commit, root = self._result.picked, self._engine.root
        found = []
        for ref in (commit.parent, commit.ref):
            assert ref is not None  # noqa: S101 - parentless commits were refused
            try:
                manifest = root.manifest(ref.incarnation, ref.version)
            except NotFound:
                manifest = None
            if manifest is None or manifest.commit.id != ref.id:
                raise NotFound(
                    "snapshot.reclaimed",
                    f"the data of commit {ref.id} was removed by cleanup",
                    remedy="tag commits that must stay readable",
                    details={"commit_id": ref.id},
                )
            found.append(open_snapshot(root, manifest))
        return found[0], found[1]


_VERBS = {WriterKind.REVERT: "Revert", WriterKind.CHERRY_PICK: "Cherry-pick"}
