"""Running write transactions: retries, locks and leases around the phases.

A transaction that loses a race is retried on the newer head when its writer allows it: inserts,
appends and merges are prepared again, updates and deletes report a conflict.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING

from omnigraph.coordination.heartbeat import HEARTBEATS
from omnigraph.coordination.lease import LeaseManager
from omnigraph.coordination.locks import lock_manager_of
from omnigraph.coordination.owner import current_owner
from omnigraph.errors import GraphError, PinChanged, StaleHead
from omnigraph.recovery.intents import Intent, PlannedTable
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.runtime.faults import reach
from omnigraph.versioning.chain import is_unchanged_since
from omnigraph.writer.phases import COMMITTING
from omnigraph.writer.phases.abort import abort
from omnigraph.writer.phases.capture import capture, capture_snapshot
from omnigraph.writer.phases.finish import LANDED_NOTE, finish
from omnigraph.writer.phases.preconditions import require_files_kept, require_unmoved
from omnigraph.writer.phases.prepare import new_publication, prepare
from omnigraph.writer.plan import PreparedWrite, parse_request
from omnigraph.writer.table_conflicts import conflicts_by_type_name
from omnigraph.writer.transaction import Pace, WriteContext, WriteTransaction

if TYPE_CHECKING:
    from omnigraph.recovery.sweep import Recovery
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot
    from omnigraph.writer.plan import Writer, WriteRequest

__all__ = ["WriteTransactions"]

_log = logging.getLogger("omnigraph.writer")


class WriteTransactions:
    """Runs write transactions on one open graph. Thread-safe."""

    def __init__(self, root: GraphRoot, heads: Heads, lineage: Lineage, recovery: Recovery) -> None:
        self._root = root
        self._context = WriteContext(root, heads, lineage, recovery)
        self.locks = lock_manager_of(root.objects.uri)
        self.leases = LeaseManager(root)

    def run(self, request: WriteRequest, writer: Writer) -> Manifest | None:
        """Write; returns the manifest of the commit, or None when nothing changed."""
        self._root.require_writable()
        request = parse_request(request)
        self._context.recovery.sweep()
        return self._run_with_retries(request, writer)

    def run_long(self, request: WriteRequest, writer: Writer) -> Manifest | None:
        """Run a writer that may stage for longer than the grace age of cleanup (a Spark job).

        It is announced before its first file and renews a heartbeat, so cleanup keeps its files. It
        stops when recovery has voided it all the same.
        """
        self._root.require_writable()
        request = parse_request(request)
        self._context.recovery.sweep()
        intents, limits = self._context.recovery.intents, self._root.limits
        job = self._announcement(request, writer)
        with HEARTBEATS.renewing(intents, job.id, limits.heartbeat_seconds):
            try:
                intents.announce(job)
                reach("attempt.announced")
                return self._run_with_retries(request, writer, announced=job.id)
            finally:
                self._withdraw(job.id)

    def _run_with_retries(
        self, request: WriteRequest, writer: Writer, announced: CommitId | None = None
    ) -> Manifest | None:
        retries = self._root.limits.reprepare_rounds
        pace = Pace()
        for retry in range(retries + 1):
            # After a lost race, a quick writer holds lock and lease from its capture on: then only
            # the next writer in the queue prepares, none in vain. The last retry does so in any
            # case, so that a slow writer succeeds beside one that never pauses; a long job does
            # once it has caught up with the commits of its own duration.
            early = retry > 0 and (
                retry == retries or pace.is_quick or (announced is not None and retry > 1)
            )
            try:
                with ExitStack() as stack:
                    transaction = WriteTransaction(
                        self._context, request, writer, stack, pace, announced
                    )
                    return self._run_once(transaction, early=early)
            except (StaleHead, PinChanged):
                self.leases.note_contention(request.branch)
                if retry == retries or not self._may_retry(request, writer, pace):
                    raise
                self._root.clock.sleep(0.002 * (retry + 1) * (1 + secrets.randbelow(100) / 100))
        raise AssertionError  # pragma: no cover - the last retry returns or raises

    def _run_once(self, transaction: WriteTransaction, *, early: bool) -> Manifest | None:
        if early:
            self._enter_early(transaction)
        if not _prepare(transaction):
            return None
        if not early:
            self._enter(transaction)
        try:
            require_unmoved(transaction)
        except (StaleHead, PinChanged):
            if early or not self._may_prepare_inside(transaction):
                raise
            if not _prepare(transaction):
                return None
            require_unmoved(transaction)
        require_files_kept(transaction)
        with conflicts_by_type_name(transaction.view):
            return self._commit(transaction)

    def _may_prepare_inside(self, transaction: WriteTransaction) -> bool:
        """Whether to prepare again inside of the locks; a retry would queue for them again."""
        return transaction.pace.is_quick and self._may_retry(
            transaction.request, transaction.writer, transaction.pace
        )

    def _may_retry(self, request: WriteRequest, writer: Writer, pace: Pace) -> bool:
        """Return whether a lost race may be met by a preparation on the newer head.

        A condition is checked again by the capture. Without one, an update or a delete is prepared
        again only where nothing but maintenance and recovery came between.
        """
        if writer.reprepares or request.if_commit is not None:
            return True
        if pace.captured is None:
            return False
        head = self._context.heads.of_incarnation(pace.captured.incarnation)
        return is_unchanged_since(self._root, head, pace.captured.commit.id)

    def _enter_early(self, transaction: WriteTransaction) -> None:
        """Take lock and lease before the capture."""
        branch, is_quick = transaction.request.branch, transaction.pace.is_quick
        if is_quick:
            # Threads of one process wait for each other without requests to storage.
            wait = self._root.limits.lease_wait_seconds
            transaction.stack.enter_context(self.locks.held(branch, wait_seconds=wait))
        transaction.stack.enter_context(self.leases.held(branch, long=not is_quick))

    def _enter(self, transaction: WriteTransaction) -> None:
        """Take lock and, on a contended branch, lease for a prepared change."""
        branch, wait = transaction.request.branch, self._root.limits.lease_wait_seconds
        transaction.stack.enter_context(self.locks.held(branch, wait_seconds=wait))
        transaction.stack.enter_context(self.leases.held_if_contended(branch))

    def _commit(self, transaction: WriteTransaction) -> Manifest:
        """Run the phases that leave traces. A failure is made definite before it is reported."""
        check_cancelled()
        intents, limits = self._context.recovery.intents, self._root.limits
        with HEARTBEATS.renewing(intents, transaction.operation, limits.heartbeat_seconds):
            try:
                for phase in COMMITTING[:-1]:
                    phase(transaction)
            except BaseException as failure:
                landed = abort(transaction, failure)
                if landed is None:
                    raise
                if not isinstance(failure, Exception):
                    # An interrupt ends the program all the same; a note reports the commit.
                    failure.add_note(LANDED_NOTE.format(transaction.operation))
                    finish(transaction)
                    raise
                transaction.manifest = landed
            finish(transaction)
        return transaction.manifest

    def _announcement(self, request: WriteRequest, writer: Writer) -> Intent:
        """Describe a long job, which may touch any table, before it begins."""
        view = capture_snapshot(self._context, request)
        return Intent(
            new_publication(self._root, request, writer, view, PreparedWrite()),
            tuple(PlannedTable(type_id, pin) for type_id, pin in view.head.pins.items()),
            current_owner(),
            self._root.clock.now_micros(),
        )

    def _withdraw(self, job: CommitId) -> None:
        try:
            self._context.recovery.intents.remove(job, ("staging.json",))
        except GraphError:
            # It can have no effect any more: recovery removes it.
            _log.warning("the announcement of job %s could not be removed", job)


def _prepare(transaction: WriteTransaction) -> bool:
    """Run the phases without traces; False when nothing would change."""
    capture(transaction)
    return prepare(transaction)
