"""The check for a missing successor of a branch's head.

The newest manifest of a branch is found by its number, so one that is missing leaves no gap. A
publish would give its number to another commit, and the missing one could not come back from a
copy. Traces of it remain: the hint, which every cold read compares with the newest manifest, and
refs that name it. The refs are read once per process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.versioning.damage import Refs

if TYPE_CHECKING:
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["HeadCheck"]


class HeadCheck:
    """Checks heads, each branch once per process. Thread-safe: a race repeats a check."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._refs: Refs | None = None
        # The version of each branch that was found to be its newest.
        self._checked: dict[str, int] = {}

    def accept(self, head: Manifest) -> None:
        """Record a head that needs no check: this process has published it."""
        self._checked.setdefault(head.incarnation, head.version)

    def missing_successor(self, head: Manifest) -> str | None:
        """Return what names a missing successor of a head, or None."""
        checked = self._checked.get(head.incarnation)
        if head.tombstone or (checked is not None and checked <= head.version):
            return None
        reason = self._named_by_refs(head)
        # The head may have moved since it was read, and the name may be that of its successor.
        if reason is None or self._root.store.exists(head.incarnation, head.version + 1):
            self._checked[head.incarnation] = head.version
            return None
        return reason

    def _named_by_refs(self, head: Manifest) -> str | None:
        if self._refs is None:
            self._refs = Refs.read(self._root)
        return self._refs.naming(
            self._root, head.incarnation, head.version + 1, since_micros=head.commit.time_micros
        )
