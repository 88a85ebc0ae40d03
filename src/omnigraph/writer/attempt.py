"""One write, from capture to commit.

A failure before *arm* leaves nothing but unreferenced files. After it, the attempt itself removes
its intent, and voids itself first if it had confirmed, before it reports the failure: what was
reported as failed never becomes visible later. What cannot be decided is ``OutcomeUnknown``.
"""

from __future__ import annotations

import logging
import math
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.coordination.heartbeat import HEARTBEATS
from omnigraph.coordination.lease import Lease
from omnigraph.coordination.locks import lock_manager_of
from omnigraph.coordination.owner import current_owner
from omnigraph.errors import (
    Conflict,
    GraphError,
    OperationVoid,
    OutcomeUnknown,
    PinChanged,
    StaleHead,
)
from omnigraph.frozen import frozen
from omnigraph.recovery.fence import OperationStatus, fence
from omnigraph.recovery.intents import Intent, PlannedTable
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.runtime.concurrency import concurrently
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning.chain import find_commit, is_unchanged_since, require_commit
from omnigraph.versioning.publish import (
    ManifestDraft,
    Publication,
    publish,
    require_new_key,
    require_preconditions,
)
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.advance import advance_tables, foresee_tables
from omnigraph.writer.plan import PreparedWrite, Writer, WriteRequest, WriteSnapshot, parse_request
from omnigraph.writer.table_conflicts import conflicts_by_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.recovery.intents import Armed
    from omnigraph.recovery.sweep import Recovery
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["WriteTransactions"]

# A preparation that others may wait for: about what they would lose by preparing in vain.
_QUICK_SECONDS = 0.25

_log = logging.getLogger("omnigraph.writer")


class WriteTransactions:
    """Runs write attempts on one open graph. Thread-safe."""

    def __init__(self, root: GraphRoot, heads: Heads, lineage: Lineage, recovery: Recovery) -> None:
        self._root = root
        self._heads = heads
        self._lineage = lineage
        self._recovery = recovery
        self.locks = lock_manager_of(root.objects.uri)
        self.lease = Lease(root)

    def run(self, request: WriteRequest, writer: Writer) -> Manifest | None:
        """Write; the commit's manifest, or None when nothing changed."""
        self._root.require_writable()
        request = parse_request(request)
        self._recovery.sweep()
        return self._rounds(request, writer)

    def run_long(self, request: WriteRequest, writer: Writer) -> Manifest | None:
        """Like ``run``, for a writer that may stage for longer than cleanup waits (a Spark job).

        It is announced before its first file and kept warm, so nobody takes its files for garbage,
        however long it lasts. When it was given up for dead all the same, it stops.
        """
        self._root.require_writable()
        request = parse_request(request)
        self._recovery.sweep()
        intents, limits = self._recovery.intents, self._root.limits
        job = self._announcement(request, writer)
        with HEARTBEATS.renewing(intents, job.id, limits.heartbeat_seconds):
            try:
                intents.announce(job)
                reach("attempt.announced")
                return self._rounds(request, writer, announced=job.id)
            finally:
                self._withdraw(job.id)

    def _rounds(
        self, request: WriteRequest, writer: Writer, announced: CommitId | None = None
    ) -> Manifest | None:
        rounds = self._root.limits.reprepare_rounds
        pace = _Pace()
        for turn in range(rounds + 1):
            try:
                # Who has lost a race and prepares quickly holds the lease from capture on: of many
                # writers on one branch only the next would not have prepared in vain. The last
                # round does so in any case, so that a long preparation gets through beside a writer
                # that never pauses; and a long job, once it has caught up with what happened while
                # it was busy.
                early = turn > 0 and (
                    turn == rounds or pace.is_quick or (announced is not None and turn > 1)
                )
                return self._once(request, writer, pace, lease_early=early, announced=announced)
            except (StaleHead, PinChanged):
                if turn == rounds or not self._may_prepare_again(request, writer, pace):
                    raise
                self._root.clock.sleep(0.002 * (turn + 1) * (1 + secrets.randbelow(100) / 100))
        raise AssertionError  # pragma: no cover - the last turn returns or raises

    def _once(
        self,
        request: WriteRequest,
        writer: Writer,
        pace: _Pace,
        *,
        lease_early: bool,
        announced: CommitId | None,
    ) -> Manifest | None:
        with ExitStack() as stack:
            if lease_early:
                self._enter_early(stack, request, pace)
            started = self._root.clock.monotonic()
            ready = self._prepare(stack, request, writer, pace)
            if ready is None:
                return None
            if not lease_early:
                self._enter(stack, request, ready.prepared)
            try:
                self._require_unmoved(ready)
            except (StaleHead, PinChanged):
                if (
                    lease_early
                    or not pace.is_quick
                    or not self._may_prepare_again(request, writer, pace)
                ):
                    raise
                # In another round it would stand at the end of the queue again.
                ready = self._prepare(stack, request, writer, pace)
                if ready is None:
                    return None
                self._require_unmoved(ready)
            if announced is None:
                self._require_young(started)
            else:
                self._require_announced(announced)
            with conflicts_by_type_name(ready.view):
                return self._commit(ready)

    def _may_prepare_again(self, request: WriteRequest, writer: Writer, pace: _Pace) -> bool:
        """Whether a lost race may be met by a preparation on the newer head.

        A condition is checked again by the capture. Without one, a writer that decided on what it
        read prepares again only where nothing but maintenance and recovery came between.
        """
        if writer.reprepares or request.if_commit is not None:
            return True
        if pace.captured is None:
            return False
        head = self._heads.of_incarnation(pace.captured.incarnation)
        return is_unchanged_since(self._root, head, pace.captured.commit.id)

    def _prepare(
        self, stack: ExitStack, request: WriteRequest, writer: Writer, pace: _Pace
    ) -> _Ready | None:
        started = self._root.clock.monotonic()
        view = self._capture(request)
        pace.captured = view.head
        reach("attempt.captured")
        prepared = writer.prepare(view)
        pace.seconds = self._root.clock.monotonic() - started
        if prepared is None:
            return None
        reach("attempt.prepared")
        # Files and intent wait for the same disk: they do so together.
        synced = concurrently(partial(self._sync_staged, prepared), apart=self._root.durable)
        return _Ready(
            view,
            prepared,
            self._publication(request, writer, view, prepared),
            stack.enter_context(synced),
        )

    def _enter_early(self, stack: ExitStack, request: WriteRequest, pace: _Pace) -> None:
        """Take the lease for a preparation, and keep it for what follows."""
        if pace.is_quick:
            # The threads of one process wait for each other without asking storage.
            wait = self._root.limits.lease_wait_seconds
            stack.enter_context(
                self.locks.held(branch=request.branch, tables=(), wait_seconds=wait)
            )
        stack.enter_context(self.lease.held(long=not pace.is_quick))

    def _enter(self, stack: ExitStack, request: WriteRequest, prepared: PreparedWrite) -> None:
        """Take gates and lease for what was prepared. Whoever has the lease already takes no gate:
        others wait for it inside theirs."""
        stack.enter_context(
            self.locks.held(
                branch=request.branch,
                tables=[effect.type_id for effect in prepared.effects],
                wait_seconds=self._root.limits.lease_wait_seconds,
                schema=prepared.new_schema is not None,
            )
        )
        stack.enter_context(self.lease.held())

    def _sync_staged(self, prepared: PreparedWrite) -> None:
        if self._root.durable:
            self._root.tables.sync((), [effect.staged for effect in prepared.effects])

    def _capture(self, request: WriteRequest) -> WriteSnapshot:
        ref, head = self._heads.of_branch(request.branch)
        self._heads.require_newest(head)
        require_commit(self._root, request.branch, head, request.if_commit)
        if request.idempotency_key is not None and request.key_new_at is not None:
            # The publish looks back to this capture only, and this may not be the first one.
            require_new_key(self._root, request.idempotency_key, head, since=request.key_new_at)
        return WriteSnapshot(ref, head, open_snapshot(self._root, head))

    def _require_young(self, started: float) -> None:
        """Cleanup keeps unreferenced files for a grace age; a writer that took half of it stops."""
        if self._root.clock.monotonic() - started > self._root.limits.cleanup_grace_seconds / 2:
            raise Conflict(
                "attempt.too_old",
                "the write took so long to prepare that its files may be gone; nothing changed",
                remedy="run it again, or load with the Spark engine, which announces long jobs",
            )

    def _announcement(self, request: WriteRequest, writer: Writer) -> Intent:
        """What a long job says before it begins: who it is, and that it may touch any table."""
        view = self._capture(request)
        return Intent(
            self._publication(request, writer, view, PreparedWrite()),
            tuple(PlannedTable(type_id, pin) for type_id, pin in view.head.pins.items()),
            current_owner(),
            self._root.clock.now_micros(),
        )

    def _require_announced(self, job: CommitId) -> None:
        """Its files are only safe while the announcement stands."""
        if not self._recovery.intents.still_announced(job):
            raise OperationVoid(
                "attempt.given_up",
                f"job {job} was taken for dead, so its staged files may be gone; nothing changed",
                remedy="run it again; let the driver run without long pauses",
                details={"job": job},
            )

    def _withdraw(self, job: CommitId) -> None:
        try:
            self._recovery.intents.remove(job, ("staging.json",))
        except GraphError:
            # It says nothing that could become true any more: recovery removes it.
            _log.warning("the announcement of job %s could not be removed", job)

    def _publication(
        self, request: WriteRequest, writer: Writer, view: WriteSnapshot, prepared: PreparedWrite
    ) -> Publication:
        touched = {effect.type_id for effect in prepared.effects}
        watched = touched | prepared.reads | set(prepared.created) | prepared.dropped
        pins = view.head.pins
        return Publication(
            draft=ManifestDraft(
                id=new_ulid(self._root.clock),
                branch=request.branch,
                kind=writer.kind,
                actor=request.actor,
                message=request.message,
                counts=prepared.counts,
                merged_parent=prepared.merged_parent,
                later_than_micros=prepared.later_than_micros,
                idempotency_key=request.idempotency_key,
                request_digest=request.request_digest,
                hard_drops=prepared.hard_drops,
            ),
            incarnation=view.ref.incarnation,
            captured=view.head.commit.ref,
            schema=view.head.commit.schema,
            moved=dict(prepared.created),
            dropped=prepared.dropped,
            expected={key: pins[key].fingerprint if key in pins else None for key in watched},
            new_schema=prepared.new_schema,
            if_commit=request.if_commit,
        )

    def _commit(self, ready: _Ready) -> Manifest:
        """Arm, advance, publish, settle. Nobody can stop it once it has confirmed."""
        check_cancelled()
        prepared, publication = ready.prepared, ready.publication
        operation = publication.draft.id
        intents, limits = self._recovery.intents, self._root.limits
        hoped = foresee_tables(self._root, prepared.effects)
        intent = Intent(
            publication,
            tuple(PlannedTable(effect.type_id, effect.pin) for effect in prepared.effects),
            current_owner(),
            self._root.clock.now_micros(),
            hoped or {},
        )
        with HEARTBEATS.renewing(intents, operation, limits.heartbeat_seconds):
            confirmed = False
            try:
                armed = intents.arm(intent)
                reach("attempt.armed")
                ready.staged_synced()
                reach("attempt.staged_synced")
                moved = advance_tables(self._root, prepared.effects, operation, hoped)
                if self._root.durable:
                    staged = [effect.staged for effect in prepared.effects]
                    self._root.tables.sync(moved.values(), staged)
                reach("attempt.advanced")
                self._require_unmoved(ready)
                check_cancelled()
                confirmed = True
                manifest = self._publish(armed, moved)
                reach("attempt.published")
            except BaseException as failure:
                landed = self._give_up(publication, failure, confirmed=confirmed)
                if landed is None:
                    raise
                if not isinstance(failure, Exception):
                    # An interrupt ends the program all the same; its note tells what became of it.
                    failure.add_note(_landed(operation))
                    self._settle(operation)
                    raise
                manifest = landed
            self._settle(operation)
        return manifest

    def _publish(self, armed: Armed, moved: Mapping[TypeId, Pin]) -> Manifest:
        """The confirmation stands before the swap; the head is looked at meanwhile."""
        complete = _complete(armed.intent.publication, moved)
        confirm = partial(self._recovery.intents.confirm, armed, moved)
        with concurrently(confirm, apart=self._root.durable) as confirmed:

            def ready() -> None:
                confirmed()
                reach("attempt.confirmed")

            return publish(self._root, self._heads, complete, ready=ready)

    def _require_unmoved(self, ready: _Ready) -> None:
        """Lose early: before the tables move, and before a confirmation would have to be voided."""
        head = self._heads.of_incarnation(ready.view.ref.incarnation)
        if head.commit.id != ready.view.head.commit.id:
            with conflicts_by_type_name(ready.view):
                require_preconditions(self._root, ready.publication, head)

    def _give_up(
        self, publication: Publication, failure: BaseException, *, confirmed: bool
    ) -> Manifest | None:
        """Make a failure definite, or find that it was none: then the landed commit is returned."""
        operation = publication.draft.id
        if isinstance(failure, OutcomeUnknown):
            # The intent stays: whoever can tell later will settle it.
            return None
        if confirmed:
            try:
                fate = fence(self._root, self._heads, self._lineage, publication)
            except GraphError as error:
                raise OutcomeUnknown(
                    "commit.outcome_unknown",
                    f"commit {operation} failed and could not be voided: {error}",
                    remedy="look for the commit id before you repeat the write",
                    details={"commit_id": operation, "branch": publication.draft.branch},
                ) from failure
            if fate is OperationStatus.PUBLISHED:
                return self._published(publication)
        try:
            self._recovery.intents.remove(operation)
        except GraphError:
            # Unconfirmed or void, it can only be rolled back: leaving it changes nothing.
            return None
        return None

    def _published(self, publication: Publication) -> Manifest:
        head = self._heads.of_incarnation(publication.incarnation)
        own = publication.draft.id
        _, commit = find_commit(self._root, head, own, until=publication.captured.id)
        ref = (commit or self._lineage.get(own)).ref
        return self._root.manifest(ref.incarnation, ref.version)

    def _settle(self, operation: CommitId) -> None:
        """The commit is safe: what goes wrong while tidying must not be reported as its failure."""
        try:
            self._recovery.intents.remove(operation, ("confirmed.json",))
            reach("attempt.settled_confirmation")
            self._recovery.intents.remove(operation, ("json",))
            reach("attempt.settled")
        except BaseException as failure:
            # Recovery removes what is left.
            _log.warning("commit %s is safe, but its intent could not be removed", operation)
            if not isinstance(failure, Exception):
                failure.add_note(_landed(operation))
                raise


@frozen
class _Ready:
    """A prepared change and the commit that it wants to become; ``staged_synced`` waits until its
    files are as durable as the graph wants them."""

    view: WriteSnapshot
    prepared: PreparedWrite
    publication: Publication
    staged_synced: Callable[[], None]


@dataclass(slots=True)
class _Pace:
    """The head of the last preparation of an attempt, and how long it took."""

    seconds: float = math.inf
    captured: Manifest | None = None

    @property
    def is_quick(self) -> bool:
        """Whether others can wait for it."""
        return self.seconds < _QUICK_SECONDS


def _complete(publication: Publication, moved: Mapping[TypeId, Pin]) -> Publication:
    return replace(publication, moved={**publication.moved, **moved})


def _landed(operation: CommitId) -> str:
    return f"commit {operation} had landed"
