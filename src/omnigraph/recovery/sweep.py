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
from omnigraph.coordination import owner
from omnigraph.coordination.heartbeat import HEARTBEATS
from omnigraph.errors import Conflict, GraphError, NotFound, OperationVoid, StorageFault
from omnigraph.ports.tables import table_version
from omnigraph.recovery.audit import Audit
from omnigraph.recovery.completion import OwnerGaveUp, confirmed_pins
from omnigraph.recovery.fence import OperationStatus, fence, operation_status, recovery_commit_of
from omnigraph.recovery.intents import Intent, IntentKeys, IntentStore
from omnigraph.recovery.quarantine import Healer
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import ulid_micros
from omnigraph.versioning import layout
from omnigraph.versioning.publish import publish

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        self.intents = IntentStore(root.locks)
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
        except StorageFault:
            if not self._is_lost(keys):
                raise
            _log.warning("the intent of operation %s was lost in a power cut", keys.id)
            self.intents.remove(keys.id)
            return None
        if not self._is_abandoned(keys, intent):
            return None
        try:
            return self._settle(keys, intent)
        except OwnerGaveUp:
            return None

    def _is_lost(self, keys: IntentKeys) -> bool:
        """Return whether a power cut tore an intent: intents are not synced.

        Its owner died with it, and it never reported success without a publish.
        """
        booted = owner.booted_at_micros()
        from_before = booted is not None and ulid_micros(keys.id) < booted
        return from_before and not self._root.is_remote and self.intents.is_torn(keys)

    def _settle(self, keys: IntentKeys, intent: Intent) -> AuditRow:
        outcome, moved = self._decide(keys, intent)
        row = self._row(intent, outcome, moved)
        self.audit.record(row)
        reach("recovery.audited")
        self.intents.remove(intent.id)
        reach("recovery.intent_removed")
        return row

    def _decide(
        self, keys: IntentKeys, intent: Intent
    ) -> tuple[RecoveryOutcome, Mapping[TypeId, Pin]]:
        """Find an operation published, complete it, or void it."""
        publication = intent.publication
        try:
            fate = operation_status(self._root, self._heads, self._lineage, publication)
        except NotFound:
            # The manifest of the branch is gone: of a deleted branch by cleanup, of an open one by
            # damage, which an operator may repair.
            if any(ref.open for ref in self._refs_of(publication.incarnation)):
                raise
            fate = OperationStatus.MOOT
        reach("recovery.classified")
        pins: Mapping[TypeId, Pin] | None = None
        if fate is OperationStatus.OPEN and keys.armed:
            pins = confirmed_pins(self._root, self.intents, intent)
        if pins is not None:
            try:
                complete = replace(publication, moved={**publication.moved, **pins})
                publish(self._root, self._heads, complete)
                reach("recovery.published")
                fate = OperationStatus.PUBLISHED
            except OperationVoid:
                fate = OperationStatus.VOID
            except Conflict:
                # A precondition fails by now: the branch has moved on without this operation.
                fate = OperationStatus.OPEN
        if fate is OperationStatus.OPEN:
            fate = fence(self._root, self._heads, self._lineage, publication)
        return _OUTCOMES[fate], pins or {}

    def _refs_of(self, incarnation: str) -> list[BranchRef]:
        return [ref for ref in self._root.refs.branches() if ref.incarnation == incarnation]

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

    def _row(
        self, intent: Intent, outcome: RecoveryOutcome, moved: Mapping[TypeId, Pin]
    ) -> AuditRow:
        draft = intent.publication.draft
        tables = tuple(
            {
                "type_id": table.type_id,
                "from": table_version(table.pin),
                "to": table_version(table.pin) + 1 if table.type_id in moved else None,
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
