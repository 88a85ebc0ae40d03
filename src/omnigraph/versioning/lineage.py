"""Lineage: every commit of the graph, found by id, filtered, compared.

The truth is the parent chain of the manifests. The table ``_graph_commits.lance`` is derived from
it: an index while the manifests exist, and the archive of commits whose manifests cleanup has
removed. Reading catches up with the heads; a writable graph also appends what it found, at most one
writer at a time, and a row that two processes appended counts once.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.api.commits import Commit, CommitRef, commit_id_of
from omnigraph.errors import AlreadyExists, Conflict, GraphError, NotFound, StorageFault
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import ancestry, layout
from omnigraph.versioning.branches import list_branches
from omnigraph.versioning.chain import read_commit
from omnigraph.versioning.damage import last_readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Lineage"]

# Appending for every commit would make each of them pay; so many may stay out of the index.
_UNINDEXED_MAX = 32
# A short walk reads the manifests that it meets. A longer one is helped by the table.
_READ_SINGLY_MAX = 64


class Lineage:
    """The commits of one open graph. Thread-safe."""

    def __init__(self, root: GraphRoot, heads: Heads) -> None:
        self._root = root
        self._heads = heads
        self._lock = threading.Lock()
        # Closed under ancestry at every instant, because it is read without the lock: a commit
        # enters after all its ancestors that can be found. Written by ``_learn`` only.
        self._commits: dict[str, Commit] = {}
        # Commits read on the way to a merge base; nothing is implied about their ancestors.
        self._met: dict[str, Commit] = {}
        self._indexed: set[str] = set()
        # Rows of the table whose ancestors could not be read.
        self._stored: dict[str, Commit] = {}
        self._loaded = False

    def get(self, commit: str | Commit | CommitRef) -> Commit:
        """A commit by id, or ``commit.missing``."""
        commit_id = commit_id_of(commit)
        found = self._commits.get(commit_id)
        if found is not None:
            return found
        missing: GraphError = NotFound(
            "commit.missing",
            f"there is no commit {commit_id:.100}",
            remedy="see `omnigraph commit list`",
        )
        try:
            self.refresh()
        except StorageFault as fault:
            missing = fault
        found = self._commits.get(commit_id)
        if found is None:
            raise missing
        return found

    def knows(self, commit_id: str) -> bool:
        """Whether a commit was ever part of the graph, as far as manifests and archive show."""
        try:
            self.get(commit_id)
        except NotFound:
            return False
        return True

    def history(self, head: Manifest) -> Iterator[Commit]:
        """The commits of a branch along first parents, newest first."""
        return self.line(head.commit)

    def line(self, newest: Commit) -> Iterator[Commit]:
        """A commit and its first parents, newest first, as far as they are known."""
        self._follow(newest)
        commit: Commit | None = newest
        while commit is not None:
            yield commit
            commit = self._commits.get(commit.parent.id) if commit.parent else None

    def is_ancestor(self, older: str | Commit | CommitRef, newer: str | Commit | CommitRef) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        return self.descends(self.get(newer), self.get(older))

    def merge_base(
        self, left: str | Commit | CommitRef, right: str | Commit | CommitRef
    ) -> Commit | None:
        """Return the base of a merge of two commits; see ``ancestry.merge_base``."""
        return ancestry.merge_base(self.get(left), self.get(right), self.parents)

    def descends(self, newer: Commit, older: Commit) -> bool:
        """Whether ``newer`` is ``older`` or descends from it."""
        return ancestry.descends(newer, older, self.parents)

    def merge_bases(self, left: Commit, right: Commit) -> list[Commit]:
        """The best common ancestors, the latest first; looks no further back than it must."""
        return ancestry.best_common_ancestors(left, right, self.parents)

    def parents(self, commit: Commit) -> list[Commit]:
        """The parents that can be found: in memory, on disk, or in the archive."""
        found = []
        for ref in (commit.parent, commit.merged_parent):
            parent = self._find(ref) if ref is not None else None
            if parent is not None:
                found.append(parent)
        return found

    def refresh(self) -> None:
        """Catch up with every open branch and every tag. Damage in the past of one of them is
        raised when the others have been followed."""
        branches = list_branches(self._root, self._heads, check=False)
        tags = self._root.refs.tags()
        heads = [info.head.commit for info in branches]
        damage: StorageFault | None = None
        for entry in (*branches.damaged, *tags.damaged):
            damage = damage or entry.fault
            heads.extend(self._readable_of(entry.name))
        for tag in tags:
            try:
                ref = CommitRef(tag.commit, tag.incarnation, tag.version)
                commit = read_commit(self._root, ref)
            except StorageFault as fault:
                damage = damage or fault
                continue
            if commit is not None:
                heads.append(commit)
        for head in heads:
            try:
                self._follow(head)
            except StorageFault as fault:
                damage = damage or fault
        if damage is not None:
            raise damage

    def _readable_of(self, branch: str) -> Iterator[Commit]:
        """The newest readable commit of a damaged branch, if there is one."""
        with suppress(GraphError):
            ref = self._root.refs.branch(branch)
            head = last_readable(self._root, ref.incarnation) if ref is not None else None
            if head is not None:
                yield head.commit

    def archive(self) -> int:
        """Append every known commit that the table does not hold; how many were appended."""
        self._load()
        with self._lock:
            missing = [c for key, c in self._commits.items() if key not in self._indexed]
        if missing:
            self._append(missing)
        return len(missing)

    def adopt(self, commits: Iterable[Commit]) -> None:
        """Take in commits that another copy of this graph knows, and keep them: here, too, their
        manifests may be gone by now."""
        self._load()
        self._learn({commit.id: commit for commit in commits})
        self.archive()

    def known(self) -> list[Commit]:
        """The commits that are known without a look at the branches, and those of the table."""
        self._load()
        with self._lock:
            return [*self._commits.values(), *self._stored.values()]

    def remembers(self, commit_id: str) -> bool:
        """Whether a commit is known without a look at the branches."""
        self._load()
        return commit_id in self._commits

    def _find(self, ref: CommitRef) -> Commit | None:
        found = self._commits.get(ref.id) or self._met.get(ref.id)
        if found is not None:
            return found
        found = read_commit(self._root, ref)
        if found is None:
            self._load()
            return self._commits.get(ref.id)
        with self._lock:
            self._met[ref.id] = found
            walk_is_long = len(self._met) == _READ_SINGLY_MAX
        if walk_is_long:
            self._load()
        return found

    def _follow(self, newest: Commit) -> None:
        """Learn a commit and all its ancestors: from the table, then from the manifests."""
        self._load()
        self._learn(self._with_ancestors([newest], {}))
        if not self._root.read_only and len(self._commits) - len(self._indexed) > _UNINDEXED_MAX:
            # Nobody asked for it: a reader gets its answer whether it works or not.
            with suppress(GraphError):
                self.archive()

    def _with_ancestors(
        self, starts: Iterable[Commit], stored: Mapping[str, Commit]
    ) -> dict[str, Commit]:
        """Collect the commits and those of their ancestors that are not known yet, without making
        any of them known: other threads take a known commit for one with a complete past."""
        found: dict[str, Commit] = {}
        waiting = deque(starts)
        while waiting:
            commit = waiting.popleft()
            if commit.id in found or commit.id in self._commits:
                continue
            found[commit.id] = commit
            for ref in (commit.parent, commit.merged_parent):
                if ref is None or ref.id in found or ref.id in self._commits:
                    continue
                parent = stored.get(ref.id) or read_commit(self._root, ref)
                if parent is not None:
                    waiting.append(parent)
        return found

    def _learn(self, found: Mapping[str, Commit]) -> None:
        """Make commits known, ancestors first: a commit is later than its parents."""
        with self._lock:
            for commit in sorted(found.values(), key=lambda commit: commit.time_micros):
                self._commits.setdefault(commit.id, commit)
        for commit in found.values():
            self._note(commit.merged_parent)
            self._note(commit.ref)

    def _note(self, ref: CommitRef | None) -> None:
        if ref is not None:
            reason = f"the history of the graph contains it as commit {ref.id}"
            self._heads.note_name(ref.incarnation, ref.version, reason)

    def _load(self) -> None:
        """Read the table once, and complete it from the manifests: it may have been lost and begun
        anew by a process that appended the newest commits only."""
        if self._loaded:
            return
        bodies = self._read_table()
        if bodies is None:
            # It may hold commits that nothing else does: the next reader tries again.
            return
        try:
            rows = [Commit.from_json(parse_json(body)) for body in bodies]
        except MALFORMED:
            return
        stored: dict[str, Commit] = {commit.id: commit for commit in rows}
        for commit in rows:
            self._note(commit.ref)
        try:
            found = self._with_ancestors(stored.values(), stored)
        except StorageFault:
            # Readers of the damaged line meet the fault there; the others do without.
            self._stored = stored
            return
        self._learn(found)
        with self._lock:
            self._indexed |= stored.keys()
            self._loaded = True

    def _read_table(self) -> list[str] | None:
        """The stored commits; none when there is no table, and None when it cannot be read: it is
        derived from the manifests, and never required.
        """
        for _ in range(2):
            try:
                pin = self._root.tables.latest(layout.LINEAGE_TABLE)
                bodies: list[str] = self._root.tables.open(pin).scan(["body"])["body"].to_pylist()
            except NotFound:
                return []
            except StorageFault as fault:
                if not self._root.heal(fault):
                    break
            except GraphError:
                break
            else:
                return bodies
        return None

    def _append(self, commits: list[Commit]) -> None:
        try:
            self._append_once(commits)
        except StorageFault as fault:
            if not self._root.heal(fault):
                raise
            self._append_once(commits)

    def _append_once(self, commits: list[Commit]) -> None:
        tables = self._root.tables
        operation = new_ulid(self._root.clock)
        rows = _rows(commits)
        try:
            try:
                tables.append(layout.LINEAGE_TABLE, rows, operation_id=operation)
            except NotFound:
                tables.create(layout.LINEAGE_TABLE, rows.schema, operation_id=operation)
                tables.append(layout.LINEAGE_TABLE, rows, operation_id=operation)
        except (AlreadyExists, Conflict):
            # Somebody else is at it; the next reader tries again.
            return
        reach("lineage.appended")
        with self._lock:
            self._indexed |= {commit.id for commit in commits}


def _rows(commits: list[Commit]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - see manifest.to_rows

    return pa.table(
        {
            "id": [commit.id for commit in commits],
            "branch": [commit.branch for commit in commits],
            "actor": pa.array([commit.actor for commit in commits], pa.string()),
            "kind": [commit.kind.value for commit in commits],
            "time_micros": [commit.time_micros for commit in commits],
            "body": [json.dumps(commit.to_json(), sort_keys=True) for commit in commits],
        }
    )
