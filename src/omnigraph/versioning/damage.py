"""Damage to the newest manifest of a branch.

A commit that may have been acknowledged is never discarded by a program. A branch whose newest
manifest is unreadable or missing is read-only until an operator decides: its older commits stay
readable by id and by tag, other branches are unaffected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import GraphError, StorageFault
from omnigraph.frozen import frozen
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.commits import CommitRef
    from omnigraph.api.refs import BranchRef, TagRef
    from omnigraph.catalog.model import TypeId
    from omnigraph.errors import NotFound
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "HEAD_DAMAGE",
    "Refs",
    "branch_damaged",
    "branch_name_of",
    "commit_damaged",
    "last_readable",
    "missing_table",
]

# Faults of reading a manifest that repeating the read does not cure.
HEAD_DAMAGE = frozenset({"manifest.malformed"})

# A damaged branch is searched this far back for a readable commit.
_STEPS_BACK_MAX = 32
# Clocks of machines that create branches and commits differ by less.
_CLOCK_SKEW_MICROS = 600 * 1_000_000


@frozen
class Refs:
    """The tags and branches of a graph at one moment."""

    tags: tuple[TagRef, ...]
    branches: tuple[BranchRef, ...]

    @staticmethod
    def read(root: GraphRoot) -> Refs:
        return Refs(tuple(root.refs.tags()), tuple(root.refs.branches()))

    def naming(
        self, root: GraphRoot, incarnation: str, version: int, *, since_micros: int = 0
    ) -> str | None:
        """Find a tag or a branch that names this version of a branch, or a later one.

        Branches that were created before ``since_micros`` are not considered.
        """
        for tag in self.tags:
            if tag.incarnation == incarnation and tag.version >= version:
                return f"tag {tag.name!r} names it"
        for ref in self._forks(incarnation, since_micros):
            first = _read(root, ref.incarnation, 1)
            if first is not None and _is_at_or_after(first.commit.ref, incarnation, version):
                return f"branch {ref.name!r} was created from it"
        return None

    def _forks(self, incarnation: str, since_micros: int) -> Iterator[BranchRef]:
        for ref in self.branches:
            created_after = ref.created_at_micros + _CLOCK_SKEW_MICROS >= since_micros
            if ref.fork_incarnation == incarnation and created_after:
                yield ref


def last_readable(root: GraphRoot, incarnation: str) -> Manifest | None:
    """Find the newest manifest of a branch that can be read."""
    try:
        newest = root.store.newest(incarnation)
    except GraphError:
        return None
    for version in range(newest, max(newest - _STEPS_BACK_MAX, 0), -1):
        found = _read(root, incarnation, version)
        if found is not None:
            return found
    return None


def branch_damaged(root: GraphRoot, incarnation: str, problem: str, reason: str) -> StorageFault:
    """Build the error of a branch whose newest manifest is unreadable or missing."""
    name = branch_name_of(root, incarnation)
    place = layout.manifest_path(incarnation)
    readable = last_readable(root, incarnation)
    remedy = f"bring the newest object of {place} back from a copy of the graph"
    details = {"branch": name, "place": place, "problem": problem, "reason": reason}
    if readable is not None:
        commit = readable.commit.id
        details["last_readable_commit"] = commit
        remedy += (
            f"; commit {commit} and older ones can be read, and "
            f"`omnigraph branch create NAME --from {commit}` continues from there"
        )
    return StorageFault(
        "branch.damaged",
        f"branch {name!r} is read-only, its newest commit is damaged: {problem}; {reason}",
        details=details,
        remedy=remedy,
    )


def commit_damaged(root: GraphRoot, ref: CommitRef, problem: str, reason: str) -> StorageFault:
    """Build the error of a named commit whose manifest is unreadable, missing or another one."""
    newest = last_readable(root, ref.incarnation)
    if newest is None or newest.version < ref.version:
        return branch_damaged(root, ref.incarnation, problem, reason)
    place = layout.manifest(ref.incarnation, ref.version)
    return StorageFault(
        "commit.damaged",
        f"commit {ref.id} cannot be read: {problem}; {reason}",
        details={"commit_id": ref.id, "place": place, "version": ref.version, "reason": reason},
        remedy=f"bring {place} back from a copy of the graph; other commits are unaffected",
    )


def missing_table(
    root: GraphRoot, manifest: Manifest, type_id: TypeId, missing: NotFound
) -> GraphError:
    """Build the error of a pinned table version that does not exist.

    It is damage, unless the branch has dropped the type since: cleanup removes such data, and
    otherwise only versions that no readable commit pins.
    """
    newest = last_readable(root, manifest.incarnation)
    if newest is not None and newest.version > manifest.version and type_id not in newest.pins:
        return missing
    pin = manifest.pins[type_id]
    file = str(missing.details.get("file", pin.path))
    return StorageFault(
        "table.damaged",
        f"table {pin.path}: version {pin.version}, which commit {manifest.commit.id} pins, is "
        f"missing: {file}",
        details={"table": pin.path, "version": pin.version, "file": file},
        remedy=f"bring {file} back from a copy of the graph; other tables, and commits that pin "
        "other versions, stay readable",
    )


def _read(root: GraphRoot, incarnation: str, version: int) -> Manifest | None:
    try:
        return root.manifest(incarnation, version)
    except GraphError:
        return None


def _is_at_or_after(ref: CommitRef, incarnation: str, version: int) -> bool:
    return ref.incarnation == incarnation and ref.version >= version


def branch_name_of(root: GraphRoot, incarnation: str) -> str:
    """Find the name of a branch; its incarnation where no readable ref names it."""
    names = [ref.name for ref in root.refs.branches() if ref.incarnation == incarnation]
    return names[0] if names else incarnation
