"""The objects and table versions that a copy of a graph lacks.

The walk follows every link back from the newest manifests: parents, merged parents, and the home of
the commit at which a branch was forked. A manifest in the copy has all its ancestors there, so the
walk stops: its cost is proportional to the new commits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from omnigraph.api.commits import CommitRef
from omnigraph.api.names import MAIN
from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.versioning.heads import branch_missing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from omnigraph.api.refs import BranchRef, RefList, TagRef
    from omnigraph.ports.tables import Pin
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Inventory", "diverged", "find_refs", "find_tags", "take_inventory"]

R = TypeVar("R")


@dataclass
class Inventory:
    """The objects to copy. Manifests are in order: parents before children."""

    refs: list[BranchRef]
    # The newest manifest of every incarnation.
    heads: dict[str, CommitRef] = field(default_factory=dict)
    tags: list[TagRef] = field(default_factory=list)
    manifests: list[CommitRef] = field(default_factory=list)
    pins: set[Pin] = field(default_factory=set)
    schemas: set[str] = field(default_factory=set)

    @property
    def branches(self) -> dict[str, CommitRef]:
        """The open branches with their heads, by name."""
        ruling = {ref.name: ref for ref in self.refs}
        return {
            name: self.heads[ref.incarnation]
            for name, ref in sorted(ruling.items())
            if ref.open and ref.incarnation in self.heads
        }


def find_refs(source: GraphRoot, branches: Collection[str]) -> list[BranchRef]:
    """Return the refs of some branches and of main, which a graph requires.

    No names mean all branches, including deleted ones."""
    refs = _complete(source.refs.every_branch(), "branch")
    if not branches:
        return refs
    ruling: dict[str, BranchRef] = {ref.name: ref for ref in refs}
    for name in branches:
        if name not in ruling or not ruling[name].open:
            raise branch_missing(name)
    return [ref for ref in refs if ref.name in {*branches, MAIN}]


def find_tags(source: GraphRoot) -> list[TagRef]:
    """Return all tags."""
    return _complete(source.refs.tags(), "tag")


def _complete(refs: RefList[R], kind: str) -> list[R]:
    """Return a listing, or fail: a copy that lacks a ref would pass for a complete one."""
    for ref in refs.damaged:
        key = ref.fault.details["key"]
        raise StorageFault(
            "clone.unreadable_ref",
            f"{kind} {ref.name!r} cannot be copied: {ref.fault.message}",
            details={"name": ref.name, "key": key},
            remedy=f"bring {key} back from a copy of the graph, or move the file out of the graph "
            f"to give the {kind} up; then clone again",
        ) from ref.fault
    return list(refs)


def take_inventory(
    source: GraphRoot,
    copy: GraphRoot,
    refs: list[BranchRef],
    tags: list[TagRef],
    *,
    all_tags: bool,
) -> Inventory:
    """Collect everything that these refs lead to, with its tags; ``all_tags``: and the targets of
    all tags.

    Refs are read before the heads: a branch that is created later is not in the copy.
    """
    found = Inventory(refs)
    for incarnation in dict.fromkeys(ref.incarnation for ref in found.refs):
        _find_head(source, copy, incarnation, found)
    walk = _Walk(source, copy, found)
    walk.from_refs(found.heads.values())
    for tag in tags:
        ref = CommitRef(tag.commit, tag.incarnation, tag.version)
        if all_tags:
            walk.from_refs([ref])
        if walk.holds(ref):
            found.tags.append(tag)
    found.pins -= walk.complete
    return found


def diverged(copy: GraphRoot, why: str) -> Conflict:
    return Conflict(
        "clone.diverged",
        f"{copy.objects.uri} was written to since it was copied: {why}",
        remedy="clone to another address; the copy keeps its own commits",
    )


def _find_head(source: GraphRoot, copy: GraphRoot, incarnation: str, found: Inventory) -> None:
    try:
        version = source.store.newest(incarnation)
    except NotFound:
        # Cleanup has removed a branch that was deleted long ago.
        return
    head = source.manifest(incarnation, version)
    found.heads[incarnation] = CommitRef(head.commit.id, incarnation, version)
    if _newest(copy, incarnation) > version:
        raise diverged(copy, f"it has newer commits of branch {head.commit.branch!r}")


def _newest(root: GraphRoot, incarnation: str) -> int:
    try:
        return root.store.newest(incarnation)
    except NotFound:
        return 0


class _Walk:
    def __init__(self, source: GraphRoot, copy: GraphRoot, found: Inventory) -> None:
        self._source = source
        self._copy = copy
        self._found = found
        # Pins of the manifests at which the walk stopped: the copy has them.
        self.complete: set[Pin] = set()
        self._held: dict[str, int] = {}
        self._seen: dict[tuple[str, int], bool] = {}

    def holds(self, ref: CommitRef) -> bool:
        """Return whether the copy has a commit, or will have it."""
        place = (ref.incarnation, ref.version)
        return self._seen.get(place, False) or self._is_copied(ref)

    def from_refs(self, starts: Iterable[CommitRef]) -> None:
        waiting = [(ref, False) for ref in starts]
        while waiting:
            ref, is_expanded = waiting.pop()
            if is_expanded:
                self._found.manifests.append(ref)
                continue
            manifest = self._missing(ref)
            if manifest is not None:
                waiting.append((ref, True))
                waiting += [(parent, False) for parent in _links(manifest)]

    def _missing(self, ref: CommitRef) -> Manifest | None:
        """Return the manifest if the copy lacks it and the walk has not visited it."""
        place = (ref.incarnation, ref.version)
        if place in self._seen:
            return None
        self._seen[place] = True
        if self._is_copied(ref):
            return None
        manifest = self._read(ref)
        if manifest is None:
            self._seen[place] = False
            return None
        self._found.pins |= set(manifest.pins.values())
        self._found.schemas.add(manifest.commit.schema)
        return manifest

    def _read(self, ref: CommitRef) -> Manifest | None:
        """Return a manifest; None if cleanup removed it or its version number was reused."""
        try:
            manifest = self._source.manifest(ref.incarnation, ref.version)
        except NotFound:
            return None
        return manifest if manifest.commit.id == ref.id else None

    def _is_copied(self, ref: CommitRef) -> bool:
        if ref.incarnation not in self._held:
            self._held[ref.incarnation] = _newest(self._copy, ref.incarnation)
        if ref.version > self._held[ref.incarnation]:
            return False
        if not self._copy.store.exists(ref.incarnation, ref.version):
            return False
        standing = self._copy.manifest(ref.incarnation, ref.version)
        if standing.commit.id != ref.id:
            raise diverged(self._copy, f"it has commit {standing.commit.id} in place of {ref.id}")
        self.complete |= set(standing.pins.values())
        return True


def _links(manifest: Manifest) -> list[CommitRef]:
    """Return the links of a commit; its home differs if a branch was forked at it."""
    commit = manifest.commit
    here = (manifest.incarnation, manifest.version)
    found = [commit.parent, commit.merged_parent, commit.ref]
    return [ref for ref in found if ref is not None and (ref.incarnation, ref.version) != here]
