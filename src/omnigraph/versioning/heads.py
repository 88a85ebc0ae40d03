"""Finding the newest commit of a branch cheaply.

A cached head is fresh when the version after it does not exist: one probe instead of a listing, the
same cost after ten commits and after ten thousand. A long-idle cache is listed again, because
cleanup may have removed the versions directly above it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError, NotFound, StorageFault
from omnigraph.versioning import layout
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.refs import BranchRef
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Heads"]

# After this many steps forward a listing is cheaper than probing on.
_STEPS_MAX = 16


class Heads:
    """The newest manifests of a graph's branches. Thread-safe; one per open graph."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._refs: dict[str, BranchRef] = {}
        # incarnation → (version, when it was last known by a listing or by our own publish)
        self._known: dict[str, tuple[int, float]] = {}

    def of_branch(self, name: str) -> tuple[BranchRef, Manifest]:
        """The open branch of a name and its head, fresh; ``branch.missing`` otherwise."""
        if not isinstance(name, str):
            raise branch_missing(name)
        with self._lock:
            ref = self._refs.get(name)
        if ref is not None:
            head = self.of_incarnation(ref.incarnation)
            if not head.tombstone:
                return ref, head
        return self._of_ruling_ref(name)

    def of_incarnation(self, incarnation: str) -> Manifest:
        """The newest manifest of one branch incarnation, tombstone included."""
        try:
            return self._root.manifest(incarnation, self._newest_version(incarnation))
        except (NotFound, StorageFault) as fault:
            # Torn; or what was cached has been set aside by somebody else since.
            self.forget(incarnation)
            if isinstance(fault, StorageFault) and not self._root.heal(fault):
                raise
        return self._root.manifest(incarnation, self._newest_version(incarnation))

    def of_ref(self, ref: BranchRef) -> Manifest:
        """The newest manifest of a branch whose ref stands: that it is missing is damage."""
        try:
            return self.of_incarnation(ref.incarnation)
        except NotFound as error:
            raise StorageFault(
                "branch.manifest_missing",
                f"branch {ref.name!r} has lost its manifest: {error.message}",
                remedy=f"bring {layout.manifest_path(ref.incarnation)} back from a copy",
                details={"branch": ref.name},
            ) from error

    def learn(self, manifest: Manifest) -> None:
        """Remember a head that was just published."""
        self._root.manifests.put((manifest.incarnation, manifest.version), manifest)
        with self._lock:
            self._remember(manifest.incarnation, manifest.version)

    def forget(self, incarnation: str) -> None:
        """Drop what is known, so that the next question lists."""
        with self._lock:
            self._known.pop(incarnation, None)

    def _of_ruling_ref(self, name: str) -> tuple[BranchRef, Manifest]:
        ref = self._root.refs.branch(name)
        if ref is None or not ref.open:
            raise branch_missing(name)
        head = self.of_ref(ref)
        if head.tombstone:
            raise branch_missing(name)
        with self._lock:
            self._refs[name] = ref
        return ref, head

    def _newest_version(self, incarnation: str) -> int:
        path = layout.manifest_path(incarnation)
        with self._lock:
            known = self._known.get(incarnation)
        now = self._root.clock.monotonic()
        if known is not None and now - known[1] < self._root.limits.head_relist_seconds:
            version = known[0]
            for _ in range(_STEPS_MAX):
                if not self._root.tables.has_version(path, version + 1):
                    return self._step_to(incarnation, version)
                version += 1
        version = self._root.tables.latest_version(path)
        with self._lock:
            self._remember(incarnation, version)
        return version

    def _step_to(self, incarnation: str, version: int) -> int:
        with self._lock:
            if version >= self._known.get(incarnation, (0, 0.0))[0]:
                self._remember(incarnation, version)
        return version

    def _remember(self, incarnation: str, version: int) -> None:
        self._known[incarnation] = (version, self._root.clock.monotonic())


def branch_missing(name: str) -> GraphError:
    """What to say of a name that is no open branch."""
    if name == MAIN:
        # main cannot be deleted: without it the directory is damaged, not merely different.
        return StorageFault("graph.main_missing", "the graph has no main branch: it is damaged")
    return NotFound(
        "branch.missing", f"there is no branch {name!r:.100}", remedy="see `omnigraph branch list`"
    )
