"""Capture: one snapshot that the whole transaction is computed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.runtime.faults import reach
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.publish import require_new_key
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import WriteSnapshot

if TYPE_CHECKING:
    from omnigraph.writer.plan import WriteRequest
    from omnigraph.writer.transaction import WriteContext, WriteTransaction

__all__ = ["capture", "capture_snapshot"]


def capture(transaction: WriteTransaction) -> None:
    """Capture branch, head, schema and pins, and check the condition of the request."""
    transaction.started = transaction.context.root.clock.monotonic()
    transaction.view = capture_snapshot(transaction.context, transaction.request)
    transaction.pace.captured = transaction.view.head
    reach("attempt.captured")


def capture_snapshot(context: WriteContext, request: WriteRequest) -> WriteSnapshot:
    """Return the snapshot of a request's branch."""
    root = context.root
    ref, head = context.heads.of_branch(request.branch)
    context.heads.require_newest(head)
    require_commit(root, request.branch, head, request.if_commit)
    if request.idempotency_key is not None and request.key_new_at is not None:
        # The publish checks the key since this capture only, and an earlier one may have failed.
        require_new_key(root, request.idempotency_key, head, since=request.key_new_at)
    return WriteSnapshot(ref, head, open_snapshot(root, head))
