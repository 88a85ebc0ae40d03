"""Looking after what unfinished writers left behind.

Runs on read-write open, at the entry of every writer before it captures, and on ``refresh``. With
nothing left behind it costs one listing. An intent whose writer may still live is left alone, one
that cannot be read is kept and reported; neither blocks anybody.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.status import AuditRow, PendingIntent, RecoveryOutcome
from omnigraph.coordination.heartbeat import HEARTBEATS
from omnigraph.errors import Conflict, GraphError, NotFound, OperationVoid, StorageFault
from omnigraph.recovery.audit import Audit
from omnigraph.recovery.fence import OperationStatus, fence, operation_status, recovery_commit_of
from omnigraph.recovery.intents import Intent, IntentKeys, IntentStore
from omnigraph.recovery.quarantine import Healer
from omnigraph.runtime.faults import reach
from omnigraph.versioning import layout
from omnigraph.versioning.publish import publish

if TYPE_CHECKING:
    from omnigraph.api.refs import BranchRef
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Recovery"]

_log = logging.getLogger("omnigraph.recovery")


class Recovery:
    """Recovery of one open graph. Thread-safe: every step is idempotent."""

    def __init__(self, root: GraphRoot, heads: Heads, lineage: Lineage) -> None:
        self._root = root
        self._heads = heads
        self._lineage = lineage
        self.intents = IntentStore(root.objects)
        self.audit = Audit(root.objects)
        root.heal = Healer(root, self.audit).heal
        self._lock = threading.Lock()
        self._read: dict[CommitId, Intent] = {}
        # The heartbeat that was seen first, and when, on this process's own clock.
        self._seen: dict[CommitId, tuple[bytes, float]] = {}
        self._reported: set[CommitId] = set()
        self._tidied = False

    def sweep(self) -> list[AuditRow]:
        """Resolve every abandoned intent; what was done. A read-only graph is left as it is."""
        if self._root.read_only:
            return []
        self._remove_temporaries()
        done = []
        pending = self.intents.pending()
        self._forget_all_but(set(pending))
        for keys in pending.values():
            try:
                row = self._resolve(keys)
            except GraphError as error:
                # Unreadable, undecidable, or the branch is too busy: it stays, it blocks nobody
                # (INV-5), and it is reported.
                self._report(keys.id, error)
                continue
            if row is not None:
                done.append(row)
        return done

    def _remove_temporaries(self) -> None:
        """Remove the unfinished small objects of killed writers, once per open graph."""
        if self._tidied:
            return
        self._tidied = True
        limits, now = self._root.limits, self._root.clock.now_micros()
        before = now - int(limits.temporary_grace_seconds * 1_000_000)
        try:
            self._root.objects.remove_temporaries(layout.OBJECT_PREFIXES, before_micros=before)
        except StorageFault as fault:
            # They harm nobody; the next open tries again.
            _log.warning("unfinished writes could not be removed: %s", fault)

    def pending(self) -> list[PendingIntent]:
        """List the objects left in ``__recovery/``, for people."""
        found = []
        for keys in self.intents.pending().values():
            try:
                intent = self._intent(keys)
            except (StorageFault, NotFound) as error:
                found.append(PendingIntent(keys.id, f"unreadable: {error}"))
                continue
            draft = intent.publication.draft
            reason = "abandoned" if self._is_abandoned(keys, intent) else "in flight"
            found.append(
                PendingIntent(keys.id, reason, draft.branch, draft.kind.value, draft.actor)
            )
        return found

    def _resolve(self, keys: IntentKeys) -> AuditRow | None:
        if HEARTBEATS.is_active(keys.id):
            return None
        if not (keys.armed or keys.staging):
            # A heartbeat or a confirmation whose intent is gone: the last crumbs of a settled one.
            self.intents.remove_crumbs(keys.id)
            return None
        try:
            intent = self._intent(keys)
        except NotFound:
            # Settled by its owner since the listing.
            return None
        if not self._is_abandoned(keys, intent):
            return None
        return self._settle(intent)

    def _settle(self, intent: Intent) -> AuditRow:
        outcome, moved = self._decide(intent)
        row = self._row(intent, outcome, moved)
        self.audit.record(row)
        reach("recovery.audited")
        self.intents.remove(intent.id)
        reach("recovery.intent_removed")
        return row

    def _decide(self, intent: Intent) -> tuple[RecoveryOutcome, dict[TypeId, Pin]]:
        """Published, complete, or not completable; acts on the last two."""
        publication = intent.publication
        moved = self.intents.read_confirmation(intent.id)
        try:
            fate = operation_status(self._root, self._heads, self._lineage, publication)
        except NotFound:
            # The manifest of the branch is gone: of a deleted branch by cleanup, of an open one by
            # damage, which an operator may repair.
            if any(ref.open for ref in self._refs_of(publication.incarnation)):
                raise
            fate = OperationStatus.MOOT
        reach("recovery.classified")
        if fate is OperationStatus.OPEN and self._is_complete(intent, moved):
            try:
                complete = replace(publication, moved={**publication.moved, **(moved or {})})
                publish(self._root, self._heads, complete)
                reach("recovery.published")
                fate = OperationStatus.PUBLISHED
            except OperationVoid:
                fate = OperationStatus.VOID
            except Conflict:
                # A precondition no longer holds: the world went on without this operation.
                fate = OperationStatus.OPEN
        if fate is OperationStatus.OPEN:
            fate = fence(self._root, self._heads, self._lineage, publication)
        return _OUTCOMES[fate], moved or {}

    def _refs_of(self, incarnation: str) -> list[BranchRef]:
        return [ref for ref in self._root.refs.branches() if ref.incarnation == incarnation]

    def _is_complete(self, intent: Intent, moved: dict[TypeId, Pin] | None) -> bool:
        """It confirmed, and every planned table reached the version that the confirmation names."""
        if moved is None or {table.type_id for table in intent.tables} != set(moved):
            return False
        try:
            return all(
                self._root.tables.operation_of(pin.path, pin.version) == intent.id
                and self._root.tables.open(pin) is not None
                for pin in moved.values()
            )
        except GraphError:
            return False

    def _is_abandoned(self, keys: IntentKeys, intent: Intent) -> bool:
        if intent.owner.is_gone():
            return True
        if intent.owner.is_this_process():
            # Nobody knows better than we do whether we are still at work on it.
            return not HEARTBEATS.is_active(keys.id)
        limits, clock = self._root.limits, self._root.clock
        age = (clock.now_micros() - intent.created_at_micros) / 1_000_000
        if age > limits.void_memory_seconds:
            # Its owner gives up by itself long before; short-lived observers need a rule as well.
            return True
        beat = self.intents.heartbeat(keys.id) if keys.alive else b""
        now = clock.monotonic()
        with self._lock:
            seen, since = self._seen.setdefault(keys.id, (beat, now))
            if seen != beat:
                self._seen[keys.id] = (beat, now)
                return False
        return now - since >= limits.intent_term_seconds

    def _intent(self, keys: IntentKeys) -> Intent:
        with self._lock:
            known = self._read.get(keys.id)
        if known is None:
            known = self.intents.read(keys)
            with self._lock:
                self._read[keys.id] = known
        return known

    def _report(self, operation: CommitId, error: GraphError) -> None:
        with self._lock:
            if operation in self._reported:
                return
            self._reported.add(operation)
        _log.warning("the intent of operation %s is left as it is: %s", operation, error)

    def _forget_all_but(self, pending: set[CommitId]) -> None:
        with self._lock:
            self._reported &= pending
            for memory in (self._read, self._seen):
                for gone in memory.keys() - pending:
                    del memory[gone]

    def _row(self, intent: Intent, outcome: RecoveryOutcome, moved: dict[TypeId, Pin]) -> AuditRow:
        draft = intent.publication.draft
        tables = tuple(
            {
                "type_id": table.type_id,
                "from": table.pin.version,
                "to": moved[table.type_id].version if table.type_id in moved else None,
            }
            for table in intent.tables
        )
        return AuditRow(
            intent.id,
            outcome,
            self._root.clock.now_micros(),
            draft.branch,
            draft.kind.value,
            draft.actor,
            tables,
            recovery_commit_id=recovery_commit_of(self._root, self._heads, intent.publication),
        )


_OUTCOMES = {
    OperationStatus.PUBLISHED: RecoveryOutcome.ROLLED_FORWARD,
    OperationStatus.VOID: RecoveryOutcome.ROLLED_BACK,
    OperationStatus.MOOT: RecoveryOutcome.ORPHANED_BRANCH_DISCARDED,
}
