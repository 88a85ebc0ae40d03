"""Abort: a failed transaction is made definite, or is found published after all.

A failure before ``arm`` leaves only unreferenced files. After it, recovery may complete the
operation on behalf of a writer that seems dead, so the writer voids it before it reports the
failure: what was reported as failed never becomes visible. An outcome that cannot be decided is
``OutcomeUnknown``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, GraphError, OutcomeUnknown
from omnigraph.recovery.fence import OperationStatus, fence
from omnigraph.versioning.chain import find_commit

if TYPE_CHECKING:
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["abort"]


def abort(transaction: WriteTransaction, failure: BaseException) -> Manifest | None:
    """Void a failed operation; returns the manifest of its commit if it is published."""
    if isinstance(failure, OutcomeUnknown):
        # The intent stays, so that recovery can decide later.
        return None
    if _needs_fence(transaction, failure):
        try:
            status = _fence(transaction)
        except GraphError as error:
            operation, draft = transaction.operation, transaction.publication.draft
            raise OutcomeUnknown(
                "commit.outcome_unknown",
                f"commit {operation} failed and could not be voided: {error}",
                remedy="look for the commit id before you repeat the write",
                details={"commit_id": operation, "branch": draft.branch},
            ) from failure
        if status is OperationStatus.PUBLISHED:
            return _published(transaction)
    _remove_intent(transaction)
    return None


def _needs_fence(transaction: WriteTransaction, failure: BaseException) -> bool:
    """Return whether the commit may be visible, or may become so in spite of this writer.

    A conflict is a definite answer of the publish: no swap has landed.
    """
    if transaction.may_be_published and not isinstance(failure, Conflict):
        return True
    return transaction.may_be_complete and not _void(transaction)


def _void(transaction: WriteTransaction) -> bool:
    """Confirm that the operation is void; False when recovery was faster, or storage fails."""
    try:
        return transaction.context.recovery.intents.confirm(transaction.operation, None)
    except GraphError:
        return False


def _fence(transaction: WriteTransaction) -> OperationStatus:
    context = transaction.context
    return fence(context.root, context.heads, context.lineage, transaction.publication)


def _remove_intent(transaction: WriteTransaction) -> None:
    intents = transaction.context.recovery.intents
    try:
        # The intent goes first: a confirmation without an intent means that the owner gave up.
        intents.remove(transaction.operation, ("json", "confirmed.json"))
    except GraphError:
        # Void or incomplete, it can only be rolled back.
        return


def _published(transaction: WriteTransaction) -> Manifest:
    context, publication = transaction.context, transaction.publication
    head = context.heads.of_incarnation(publication.incarnation)
    own = transaction.operation
    _, commit = find_commit(context.root, head, own, until=publication.captured.id)
    ref = (commit or context.lineage.get(own)).ref
    return context.root.manifest(ref.incarnation, ref.version)
