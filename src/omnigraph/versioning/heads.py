"""Finding the newest commit of a branch cheaply.

A cached head is fresh when the number after it does not exist: one probe instead of a listing, the
same cost after ten commits and after ten thousand. A head that was not looked at for long is
searched for again, because cleanup may have removed the numbers directly above it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.api.names import MAIN
from omnigraph.errors import GraphError, NotFound, StorageFault
from omnigraph.versioning.damage import HEAD_DAMAGE, branch_damaged
from omnigraph.versioning.head_check import HeadCheck

if TYPE_CHECKING:
    from omnigraph.api.refs import BranchRef
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Heads"]


@dataclass(slots=True)
class _Known:
    """A head that was seen, and when it was last known to be the newest."""

    head: Manifest
    seen: float


class Heads:
    """The newest manifests of a graph's branches. Thread-safe; one per open graph."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._refs: dict[str, BranchRef] = {}
        self._known: dict[str, _Known] = {}
        # The highest version that this process has ever seen.
        self._highest: dict[str, int] = {}
        # The highest version of each branch that something in memory names, and what names it.
        self._named: dict[str, tuple[int, str]] = {}
        self._check = HeadCheck(root)

    def of_branch(self, name: str) -> tuple[BranchRef, Manifest]:
        """The open branch of a name and its head, fresh; ``branch.missing`` otherwise."""
        if not isinstance(name, str):
            raise branch_missing(name)
        ref = self._refs.get(name)
        if ref is not None:
            head = self.of_incarnation(ref.incarnation)
            if not head.tombstone:
                return ref, head
        return self._of_ruling_ref(name)

    def of_incarnation(self, incarnation: str) -> Manifest:
        """The newest manifest of one branch incarnation, tombstone included."""
        head = self._of_incarnation(incarnation)
        named = self._named.get(incarnation)
        if named is None or named[0] <= head.version:
            return head
        # The head may have moved since it was read.
        self.forget(incarnation)
        head = self._of_incarnation(incarnation)
        if named[0] <= head.version:
            return head
        raise self._successor_missing(head, named[1])

    def of_ref(self, ref: BranchRef) -> Manifest:
        """The newest manifest of a branch whose ref stands: that it is missing is damage."""
        try:
            return self.of_incarnation(ref.incarnation)
        except NotFound as error:
            raise branch_damaged(
                self._root, ref.incarnation, error.message, "its ref names it"
            ) from error

    def require_newest(self, head: Manifest) -> None:
        """Raise ``branch.damaged`` when a successor of a head is known to be missing.

        Costs requests for the first head of a branch in a process. Later reads of a damaged branch
        fail as well, without requests.
        """
        reason = self._check.missing_successor(head)
        if reason is not None:
            self.note_name(head.incarnation, head.version + 1, reason)
            raise self._successor_missing(head, reason)

    def note_name(self, incarnation: str, version: int, reason: str) -> None:
        """Remember that something names a version of a branch: it cannot be absent."""
        with self._lock:
            if version > self._named.get(incarnation, (0, ""))[0]:
                self._named[incarnation] = (version, reason)

    def learn(self, manifest: Manifest, *, seen: float | None = None) -> None:
        """Remember a head that was just published, unless another thread knows a newer one.
        ``seen`` is when it was known to be the newest; now by default."""
        self._root.manifests.put((manifest.incarnation, manifest.version), manifest)
        self._remember(manifest, self._root.clock.monotonic() if seen is None else seen)
        self._check.accept(manifest)

    def learn_ref(self, ref: BranchRef) -> None:
        """Remember what a name stands for, until its branch is seen to be deleted."""
        with self._lock:
            self._refs[ref.name] = ref

    def forget(self, incarnation: str) -> None:
        """Drop the cached head, so that the next read searches for the newest one."""
        with self._lock:
            self._known.pop(incarnation, None)

    def _of_incarnation(self, incarnation: str) -> Manifest:
        known = self._known.get(incarnation)
        # Every read of a branch comes through here: one probe, and little else.
        if known is not None and self._is_newest(known):
            return known.head
        try:
            return self._newest(incarnation, known)
        except StorageFault as fault:
            self.forget(incarnation)
            raise self._damaged(incarnation, fault) from fault

    def _is_newest(self, known: _Known) -> bool:
        """Whether a cached head is the newest: recently seen, and without a successor."""
        now = self._root.clock.monotonic()
        if now - known.seen >= self._root.limits.head_relist_seconds:
            return False
        if self._root.store.exists(known.head.incarnation, known.head.version + 1):
            return False
        known.seen = now
        return True

    def _newest(self, incarnation: str, known: _Known | None) -> Manifest:
        now, seen = self._root.clock.monotonic(), self._highest.get(incarnation, 0)
        start = self._hinted(incarnation) if known is None else known.head.version
        version = self._root.store.newest(incarnation, start=start)
        if version < seen:
            problem = f"version {seen} is missing"
            raise branch_damaged(self._root, incarnation, problem, "it was read before")
        head = self._root.manifest(incarnation, version)
        merged = head.commit.merged_parent
        if merged is not None:
            self.note_name(merged.incarnation, merged.version, f"commit {head.commit.id} merged it")
        self._remember(head, now)
        return head

    def _hinted(self, incarnation: str) -> int:
        """A number to start from. One that the branch had cannot be absent."""
        hint = self._root.store.hint(incarnation)
        self.note_name(incarnation, hint, f"version {hint} was published")
        return hint

    def _remember(self, head: Manifest, seen: float) -> None:
        """``seen`` is a moment before the probe that found the head: a thread may sleep between
        the reply and this call."""
        with self._lock:
            known = self._known.get(head.incarnation)
            if known is None or head.version >= known.head.version:
                self._known[head.incarnation] = _Known(head, seen)
            highest = self._highest.get(head.incarnation, 0)
            self._highest[head.incarnation] = max(head.version, highest)

    def _successor_missing(self, head: Manifest, reason: str) -> StorageFault:
        problem = f"version {head.version + 1} or a later one is missing"
        return branch_damaged(self._root, head.incarnation, problem, reason)

    def _damaged(self, incarnation: str, fault: StorageFault) -> StorageFault:
        """The fault that a reader of the branch gets: damage names the branch and a remedy."""
        if fault.code not in HEAD_DAMAGE:
            return fault
        return branch_damaged(
            self._root, incarnation, fault.message, "it may have been acknowledged"
        )

    def _of_ruling_ref(self, name: str) -> tuple[BranchRef, Manifest]:
        ref = self._root.refs.branch(name)
        if ref is None or not ref.open:
            raise branch_missing(name)
        head = self.of_ref(ref)
        if head.tombstone:
            raise branch_missing(name)
        self.learn_ref(ref)
        return ref, head


def branch_missing(name: str) -> GraphError:
    """Build the error for a name that is no open branch."""
    if name == MAIN:
        # main cannot be deleted: without it the directory is damaged, not merely different.
        return StorageFault("graph.main_missing", "the graph has no main branch: it is damaged")
    return NotFound(
        "branch.missing", f"there is no branch {name!r:.100}", remedy="see `omnigraph branch list`"
    )
