"""Reset of a branch to another snapshot, as a new commit that keeps the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.api.merges import ResetRequest, ResetResult
from omnigraph.merging.pin_takeover import take_over_pins
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["reset_branch"]


def reset_branch(engine: Engine, request: ResetRequest) -> ResetResult:
    """Give a branch the tables and the schema of another snapshot, by pins alone."""
    wanted = engine.resolver.resolve(request.to)
    message = request.message or f"Reset to {wanted.commit.id}"
    with engine.running.during("reset", request.branch, request.actor, name=request.to):
        manifest = engine.transactions.run(
            WriteRequest(request.branch, request.actor, message, request.if_commit),
            _ResetWriter(engine, wanted),
        )
    commit = manifest.commit if manifest else None
    return ResetResult(request.branch, request.to, wanted.commit, commit, request.actor)


class _ResetWriter:
    kind = WriterKind.RESET
    # The decision depends on the contents of the branch.
    reprepares = False

    def __init__(self, engine: Engine, wanted: Manifest) -> None:
        self._root = engine.root
        self._wanted = wanted

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        prepared, _ = take_over_pins(view.snapshot, open_snapshot(self._root, self._wanted))
        if not (prepared.created or prepared.dropped or prepared.new_schema):
            return None
        self._require_readable(prepared)
        return prepared

    def _require_readable(self, prepared: PreparedWrite) -> None:
        """Reject a target whose tables are damaged or were removed by cleanup."""
        wanted = open_snapshot(self._root, self._wanted)
        for type_id in prepared.created:
            wanted.table(type_id)
