"""Checks between the phases, which end a transaction before it leaves traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, OperationVoid
from omnigraph.versioning.publish import require_preconditions
from omnigraph.writer.table_conflicts import conflicts_by_type_name

if TYPE_CHECKING:
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["require_files_kept", "require_unmoved"]


def require_unmoved(transaction: WriteTransaction) -> None:
    """Check the preconditions of the publish early, when the head has moved since the capture."""
    context, view = transaction.context, transaction.view
    head = context.heads.of_incarnation(view.ref.incarnation)
    if head.commit.id != view.head.commit.id:
        with conflicts_by_type_name(view):
            require_preconditions(context.root, transaction.publication, head)


def require_files_kept(transaction: WriteTransaction) -> None:
    """Check that cleanup has kept the staged files: of a short write by age, else by its job."""
    if transaction.announced is None:
        _require_young(transaction)
    elif not transaction.context.recovery.intents.still_announced(transaction.announced):
        job = transaction.announced
        raise OperationVoid(
            "attempt.given_up",
            f"job {job} was taken for dead, so its staged files may be gone; nothing changed",
            remedy="run it again; let the driver run without long pauses",
            details={"job": job},
        )


def _require_young(transaction: WriteTransaction) -> None:
    root = transaction.context.root
    if root.clock.monotonic() - transaction.started > root.limits.cleanup_grace_seconds / 2:
        raise Conflict(
            "attempt.too_old",
            "the write took so long to prepare that its files may be gone; nothing changed",
            remedy="run it again, or load with the Spark engine, which announces long jobs",
        )
