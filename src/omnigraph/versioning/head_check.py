"""The check for a missing successor of a branch's head.

Versions of a manifest are probed and listed by number, so a newest version that is missing leaves
no gap. A publish would give its number to another commit, and the missing one could not come back
from a copy. Two traces remain: refs that name it, and the transaction that Lance wrote before it.
The refs are read once per process. A transaction without a version leads to a search of the
lineage, of every branch and of the refs as they are then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.versioning import layout
from omnigraph.versioning.damage import Refs, find_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph.api.commits import Commit
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
        # Lists the commits of the lineage, which is built on heads and installs itself.
        self.archive: Callable[[], Iterable[Commit]] = tuple

    def accept(self, head: Manifest) -> None:
        """Record a head that needs no check: this process has published it."""
        self._checked.setdefault(head.incarnation, head.version)

    def missing_successor(self, head: Manifest) -> str | None:
        """Return what names a missing successor of a head, or None."""
        checked = self._checked.get(head.incarnation)
        if head.tombstone or (checked is not None and checked <= head.version):
            return None
        reason = self._named_by_refs(head)
        if reason is None and self._has_lost_transaction(head):
            reason = find_name(self._root, self.archive, head)
        if reason is None:
            self._checked[head.incarnation] = head.version
            return None
        path = layout.manifest_path(head.incarnation)
        # The head may have moved since it was read, and the name may be that of its successor.
        return reason if self._root.tables.latest_version(path) == head.version else None

    def _named_by_refs(self, head: Manifest) -> str | None:
        if self._refs is None:
            self._refs = Refs.read(self._root)
        return self._refs.naming(
            self._root, head.incarnation, head.version + 1, since_micros=head.commit.time_micros
        )

    def _has_lost_transaction(self, head: Manifest) -> bool:
        """Whether a commit on top of the head was begun, is not there, and is not pending."""
        path = layout.manifest_path(head.incarnation)
        begun = self._root.tables.unfinished(path, head.version)
        if not begun:
            return False
        keys = self._root.objects.list(layout.RECOVERY)
        pending = {key.rpartition("/")[2].partition(".")[0] for key in keys}
        return not pending.issuperset(begun)
