"""Damage to the newest manifest of a branch.

A commit that may have been acknowledged is never discarded by a program. A branch whose newest
manifest is unreadable or missing is read-only until an operator decides: its older commits stay
readable by id and by tag, other branches are unaffected. ``reason_to_keep`` is the only place that
decides; it does not depend on how manifests are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import GraphError, StorageFault
from omnigraph.frozen import frozen
from omnigraph.versioning import layout
from omnigraph.versioning.chain import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from omnigraph.api.commits import Commit, CommitRef
    from omnigraph.api.refs import BranchRef, DamagedRef, TagRef
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
    "find_name",
    "last_readable",
    "missing_table",
    "named_by_commit",
    "reason_to_keep",
]

# Faults of reading a manifest that repeating the read does not cure.
HEAD_DAMAGE = frozenset({"table.torn", "table.damaged", "manifest.malformed"})

# A damaged branch is searched this far back for a readable commit.
_STEPS_BACK_MAX = 32
# Clocks of machines that create branches and commits differ by less.
_CLOCK_SKEW_MICROS = 600 * 1_000_000


def reason_to_keep(
    root: GraphRoot, known: Callable[[], Iterable[Commit]], incarnation: str, version: int
) -> str | None:
    """Decide whether an unreadable newest version of a branch may be set aside.

    Returns why it must stay, or None when nothing shows that its commit was acknowledged. ``known``
    lists the commits that the lineage has. Reads the history since the version before, which is
    acceptable because damage is rare.
    """
    if root.keeps_acknowledged:
        return "the graph promises to keep every acknowledged commit"
    before = _read(root, incarnation, version - 1)
    if before is None:
        return "the version before it cannot be read either"
    return find_name(root, known, before)


def find_name(
    root: GraphRoot, known: Callable[[], Iterable[Commit]], before: Manifest
) -> str | None:
    """Find what names a successor of a manifest, or may name one: an unreadable ref counts.

    A commit is later than its parents, so only commits later than ``before`` are read.
    """
    incarnation, version = before.incarnation, before.version + 1
    since = before.commit.time_micros
    try:
        refs = Refs.read(root)
        return (
            refs.naming(root, incarnation, version, since_micros=since)
            or named_by_commit(_commits_after(root, known, since), incarnation, version)
            or refs.possibly_naming(root, incarnation, since_micros=since)
        )
    except StorageFault as fault:
        return f"the history that could name it cannot be read: {fault.message}"


@frozen
class Refs:
    """The tags and branches of a graph at one moment."""

    tags: tuple[TagRef, ...]
    branches: tuple[BranchRef, ...]
    damaged: tuple[DamagedRef, ...] = ()

    @staticmethod
    def read(root: GraphRoot) -> Refs:
        tags, branches = root.refs.tags(), root.refs.branches()
        return Refs(tuple(tags), tuple(branches), (*tags.damaged, *branches.damaged))

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

    def possibly_naming(
        self, root: GraphRoot, incarnation: str, *, since_micros: int
    ) -> str | None:
        """Find a ref, or the first commit of a fork, that cannot be read and may name a version."""
        for damaged in self.damaged:
            return f"it may be named by a ref that cannot be read: {damaged.fault.message}"
        for ref in self._forks(incarnation, since_micros):
            if _read(root, ref.incarnation, 1) is None:
                return f"branch {ref.name!r}, whose first commit cannot be read, may start from it"
        return None

    def _forks(self, incarnation: str, since_micros: int) -> Iterator[BranchRef]:
        for ref in self.branches:
            created_after = ref.created_at_micros + _CLOCK_SKEW_MICROS >= since_micros
            if ref.fork_incarnation == incarnation and created_after:
                yield ref


def named_by_commit(commits: Iterable[Commit], incarnation: str, version: int) -> str | None:
    """Find a commit that is, or descends from, this version of a branch or a later one."""
    for commit in commits:
        for ref in (commit.ref, commit.parent, commit.merged_parent):
            if ref is not None and _is_at_or_after(ref, incarnation, version):
                return f"the history of the graph contains it as commit {ref.id}"
    return None


def last_readable(root: GraphRoot, incarnation: str) -> Manifest | None:
    """Find the newest manifest of a branch that can be read."""
    try:
        newest = root.tables.latest_version(layout.manifest_path(incarnation))
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
    remedy = f"bring the newest file of {place}/_versions back from a copy of the graph"
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
    place = layout.manifest_path(ref.incarnation)
    return StorageFault(
        "commit.damaged",
        f"commit {ref.id} cannot be read: {problem}; {reason}",
        details={"commit_id": ref.id, "place": place, "version": ref.version, "reason": reason},
        remedy=f"bring version {ref.version} of {place} back from a copy of the graph; other "
        "commits are unaffected",
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


def _commits_after(
    root: GraphRoot, known: Callable[[], Iterable[Commit]], since_micros: int
) -> Iterator[Commit]:
    """Every commit later than a time that the lineage or a chain of manifests contains."""
    yield from known()
    for incarnation in root.refs.incarnations():
        head = last_readable(root, incarnation)
        for commit in walk(root, head) if head is not None else ():
            if commit.time_micros <= since_micros:
                break
            yield commit


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
