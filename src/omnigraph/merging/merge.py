"""Merging of a branch into another: up to date, fast-forward or three-way, as one commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import CommitRef, WriterKind
from omnigraph.api.merges import MergeOutcome, MergeRequest, MergeResult
from omnigraph.api.names import MAIN
from omnigraph.errors import Conflict, GraphError, InvalidInput, NotFound
from omnigraph.merging.counts import count_types
from omnigraph.merging.pin_takeover import take_over_pins
from omnigraph.merging.plan import MergePlan
from omnigraph.merging.result import merge_conflict
from omnigraph.merging.schema import merge_schemas
from omnigraph.merging.snapshots import MergeSnapshots
from omnigraph.versioning.branches import delete_branch
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from omnigraph.api.commits import Commit
    from omnigraph.api.refs import BranchRef
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["merge_branches"]


def merge_branches(engine: Engine, request: MergeRequest) -> MergeResult:
    """Merge the head of a branch into another branch, as one commit or not at all."""
    _require_two_branches(engine, request)
    writer = _MergeWriter(engine, request)
    if request.preview:
        return writer.preview()
    with engine.running.during("merge", request.target, request.actor, name=request.source):
        manifest = engine.transactions.run(
            WriteRequest(request.target, request.actor, request.message, request.if_commit), writer
        )
    result = writer.result(manifest)
    return _delete_source(engine, request, writer.merged, result)


class _MergeWriter:
    """Merges the two heads at the time of each prepare."""

    kind = WriterKind.MERGE
    # Computed anew from both heads; choices identify the states that they refer to.
    reprepares = True

    def __init__(self, engine: Engine, request: MergeRequest) -> None:
        self._engine = engine
        self._request = request
        self._result = MergeResult(
            request.source, request.target, MergeOutcome.UP_TO_DATE, actor=request.actor
        )
        # The head of the source that was merged.
        self.merged: Manifest | None = None

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        prepared = self._prepare(view.snapshot, write=True)
        if prepared is None or self.merged is None:
            return None
        # The commit will name it: the process that published it may have died before it was safe.
        self._engine.root.store.make_durable(self.merged.incarnation, self.merged.version)
        return replace(
            prepared,
            merged_parent=_as_seen(self.merged),
            later_than_micros=self.merged.commit.time_micros,
        )

    def preview(self) -> MergeResult:
        """Compute the result without writing; conflicts are returned, not raised."""
        ours = self._engine.snapshot(self._request.target)
        asked = self._request
        require_commit(self._engine.root, asked.target, ours.manifest, asked.if_commit)
        self._prepare(ours, write=False)
        return replace(self._result, preview=True)

    def result(self, manifest: Manifest | None) -> MergeResult:
        return replace(self._result, commit=manifest.commit if manifest else None)

    def _prepare(self, ours: Snapshot, *, write: bool) -> PreparedWrite | None:
        engine, root = self._engine, self._engine.root
        self.merged = engine.resolver.resolve(self._request.source)
        mine, other = ours.manifest.commit, self.merged.commit
        if engine.lineage.descends(mine, other):
            self._result = replace(self._result, outcome=MergeOutcome.UP_TO_DATE)
            self._request.choices.require_known(())
            return None
        bases = engine.lineage.merge_bases(mine, other)
        if not bases:
            raise _unrelated(self._request)
        self._result = replace(self._result, base=bases[0])
        theirs = open_snapshot(root, self.merged)
        if bases[0].id == mine.id:
            self._request.choices.require_known(())
            return self._fast_forward(ours, theirs, write=write)
        first, *others = (open_snapshot(root, self._manifest_of(base)) for base in bases)
        return self._three_way(MergeSnapshots(first, ours, theirs, tuple(others)), write=write)

    def _fast_forward(self, ours: Snapshot, theirs: Snapshot, *, write: bool) -> PreparedWrite:
        prepared, types = take_over_pins(ours, theirs)
        if not write:
            types = count_types(types, ours, theirs)
        self._result = replace(self._result, outcome=MergeOutcome.FAST_FORWARD, types=types)
        return prepared

    def _three_way(self, snapshots: MergeSnapshots, *, write: bool) -> PreparedWrite | None:
        schema = merge_schemas(snapshots, self._request.choices)
        plan = MergePlan(snapshots, schema, bytes_max=self._engine.root.limits.load_bytes_max)
        conflicts = plan.resolve_conflicts(self._request.choices)
        if conflicts and write:
            what = f"merging {self._request.source!r} into {self._request.target!r}"
            raise merge_conflict(what, conflicts, self._request.choices)
        types = () if schema.conflicts else plan.outcomes(counted=not write)
        self._result = replace(
            self._result, outcome=MergeOutcome.MERGED, types=types, conflicts=tuple(conflicts)
        )
        return plan.stage() if write else None

    def _manifest_of(self, base: Commit) -> Manifest:
        """Return the merge base at its home, or its copy at the fork of one of the two branches."""
        root = self._engine.root
        homes = [(base.ref.incarnation, base.ref.version)]
        for name in (self._request.source, self._request.target):
            ref = root.refs.branch(name)
            if ref is not None and ref.fork_commit == base.id:
                homes.append((ref.incarnation, 1))
        for home in homes:
            try:
                manifest = root.manifest(*home)
            except NotFound:
                continue
            if manifest.commit.id == base.id:
                return manifest
        raise NotFound(
            "merge.base_reclaimed",
            f"the data of the merge base {base.id} was removed by cleanup; nothing was changed",
            remedy="load the changes of the source into the target instead",
            details={"commit_id": base.id},
        )


def _delete_source(
    engine: Engine, request: MergeRequest, merged: Manifest | None, result: MergeResult
) -> MergeResult:
    """Delete the source branch. The merge is published, so a failure is reported, not raised."""
    if not request.delete_branch or merged is None:
        return result
    try:
        delete_branch(
            engine.root,
            engine.heads,
            request.source,
            actor=request.actor,
            if_commit=merged.commit.id,
        )
    except Exception as error:  # noqa: BLE001 - see the docstring
        return replace(result, branch_deleted=False, branch_delete_error=str(error) or repr(error))
    return replace(result, branch_deleted=True)


def _require_two_branches(engine: Engine, request: MergeRequest) -> None:
    # Look up both first: a missing branch cannot be merged with itself.
    source = _require_branch(engine, request.source)
    target = _require_branch(engine, request.target)
    if source.incarnation == target.incarnation:
        raise InvalidInput(
            "merge.same_branch",
            f"branch {request.source!r} cannot be merged into itself",
            remedy="name two different branches",
        )
    if request.delete_branch and source.name == MAIN:
        raise InvalidInput(
            "branch.main",
            "main cannot be deleted, not even after a merge; nothing was changed",
            remedy="merge it without deleting it",
        )


def _require_branch(engine: Engine, name: str) -> BranchRef:
    """Return a branch; for a commit or a tag, the error suggests creating a branch at it."""
    try:
        return engine.heads.of_branch(name)[0]
    except NotFound as missing:
        try:
            commit = engine.resolver.resolve(name).commit
        except GraphError:
            raise missing from None
        raise NotFound(
            missing.code,
            f"{name!r} is not a branch but a commit, and only branches can be merged",
            remedy=f"create a branch at it (branch create NAME --from {commit.id}) and merge that, "
            "or cherry-pick the commit",
        ) from None


def _unrelated(request: MergeRequest) -> GraphError:
    return Conflict(
        "merge.unrelated",
        f"branches {request.source!r} and {request.target!r} have no common ancestor "
        "in the available history",
        remedy="load the data of the source into the target instead",
    )


def _as_seen(manifest: Manifest) -> CommitRef:
    """Return the reference of a commit on its branch."""
    return CommitRef(manifest.commit.id, manifest.incarnation, manifest.version)
