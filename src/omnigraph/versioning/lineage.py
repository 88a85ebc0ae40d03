"""Lineage: every commit of the graph, found by id, by time and along parents.

The manifests are the index. The numbers of a branch are contiguous and their times ascend, so a
commit is found by bisection: by its time, or by its id, which begins with the time at which its
operation began. Nothing here reads a history as a whole to find a part of it.

The table ``_graph_commits.lance`` is the archive of commits whose manifests cleanup has removed. It
is read when a manifest is missing, and written by ``archive`` only.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from omnigraph.api.commits import Commit, CommitRef, commit_id_of
from omnigraph.api.names import MAIN
from omnigraph.errors import AlreadyExists, Conflict, GraphError, NotFound, StorageFault
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.runtime.lru_cache import LruCache
from omnigraph.versioning import ancestry, layout
from omnigraph.versioning.branch_line import BranchLine, find_in_branch
from omnigraph.versioning.branches import list_branches
from omnigraph.versioning.chain import read_commit
from omnigraph.versioning.damage import last_readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from omnigraph.ports.tables import Pin
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Lineage"]

# About a kilobyte each.
_CACHED_COMMITS_MAX = 16_384


class Lineage:
    """The commits of one open graph. Thread-safe."""

    def __init__(self, root: GraphRoot, heads: Heads) -> None:
        self._root = root
        self._heads = heads
        self._lock = threading.Lock()
        self._commits: LruCache[str, Commit] = LruCache(_CACHED_COMMITS_MAX)
        # The archive by id; None until it is needed, or while it cannot be read.
        self._archived: dict[str, Commit] | None = None
        self._archive_pin: Pin | None = None

    def get(self, commit: str | Commit | CommitRef) -> Commit:
        """A commit by id, or ``commit.missing``."""
        commit_id = commit_id_of(commit)
        found = self._commits.get(commit_id)
        if found is None:
            found = self._search(commit_id)
        return found

    def knows(self, commit_id: str) -> bool:
        """Whether a commit was ever part of the graph, as far as manifests and archive show."""
        try:
            self.get(commit_id)
        except NotFound:
            return False
        return True

    def history(self, head: Manifest) -> Iterator[Commit]:
        """The commits of a branch along first parents, newest first; read as they are needed."""
        return self.line(head.commit)

    def line(self, newest: Commit) -> Iterator[Commit]:
        """A commit and its first parents, newest first, as far as they are known."""
        commit: Commit | None = newest
        while commit is not None:
            yield commit
            self._learn(commit)
            parent = self._find(commit.parent) if commit.parent else None
            # A parent is older; a damaged manifest that is its own ancestor ends the line.
            is_older = parent is not None and parent.time_micros < commit.time_micros
            commit = parent if is_older else None

    def positions(self, newest: Commit) -> BranchLine:
        """The line of a commit with access by position and by time."""
        return BranchLine(self._root, newest)

    def newest_at(self, newest: Commit, time_micros: int) -> Commit | None:
        """The newest commit of a line that is not later than a time."""
        found, oldest = self.positions(newest).newest_at(time_micros)
        if found is not None or oldest is None:
            return found
        # Older commits may be in the archive.
        return next((c for c in self.line(oldest) if c.time_micros <= time_micros), None)

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

    # --- the whole graph --------------------------------------------------------------------------

    def refresh(self) -> list[Commit]:
        """Read every commit that an open branch or a tag leads to. Damage of one of them is raised
        when the others have been followed."""
        found: dict[str, Commit] = {}
        damage: StorageFault | None = None
        for newest in self._starts():
            try:
                commit = newest if isinstance(newest, Commit) else self._require(newest)
                for each in self._ancestors(commit, found) if commit is not None else ():
                    found[each.id] = each
            except StorageFault as fault:
                damage = damage or fault
        if damage is not None:
            raise damage
        return list(found.values())

    def archive(self) -> int:
        """Append every commit that the archive does not hold; how many were appended."""
        archived = self._load(again=True)
        if archived is None:
            return 0
        missing = [commit for commit in self.refresh() if commit.id not in archived]
        if missing:
            self._append(missing)
        return len(missing)

    def only_archived(self) -> list[Commit]:
        """The archived commits that have no manifest any more."""
        commits = (self._load(again=True) or {}).values()
        return [commit for commit in commits if read_commit(self._root, commit.ref) is None]

    def adopt(self, commits: Iterable[Commit]) -> None:
        """Archive commits that only the archive of another copy of this graph holds."""
        archived = self._load() or {}
        missing = [commit for commit in commits if commit.id not in archived]
        if missing:
            self._append(missing)

    def _starts(self) -> Iterator[Commit | CommitRef | StorageFault]:
        branches = list_branches(self._root, self._heads, check=False)
        tags = self._root.refs.tags()
        yield from (info.head.commit for info in branches)
        yield from (CommitRef(tag.commit, tag.incarnation, tag.version) for tag in tags)
        for entry in (*branches.damaged, *tags.damaged):
            yield from self._readable_of(entry.name)
            yield entry.fault

    def _require(self, start: CommitRef | StorageFault) -> Commit | None:
        if isinstance(start, StorageFault):
            raise start
        return self._find(start)

    def _readable_of(self, branch: str) -> Iterator[Commit]:
        """The newest readable commit of a damaged branch, if there is one."""
        with suppress(GraphError):
            ref = self._root.refs.branch(branch)
            head = last_readable(self._root, ref.incarnation) if ref is not None else None
            if head is not None:
                yield head.commit

    def _ancestors(self, newest: Commit, known: dict[str, Commit]) -> Iterator[Commit]:
        """A commit and its ancestors that are not known yet; parents of known ones are known."""
        waiting = [newest]
        while waiting:
            commit = waiting.pop()
            if commit.id not in known:
                yield commit
                waiting += self.parents(commit)

    # --- finding ----------------------------------------------------------------------------------

    def _search(self, commit_id: str) -> Commit:
        """Find a commit by its id among the branches, main first, then in the archive."""
        problem: GraphError = NotFound(
            "commit.missing",
            f"there is no commit {commit_id:.100}",
            remedy="see `omnigraph commit list`",
        )
        for incarnation in self._incarnations():
            try:
                found = find_in_branch(self._root, self._heads, incarnation, commit_id)
            except NotFound:
                # Of a deleted branch, whose manifests cleanup has removed.
                continue
            except StorageFault as fault:
                problem = fault
                continue
            if found is not None:
                return self._learn(found)
        archived = self._archived_commit(commit_id)
        if archived is None:
            raise problem
        return archived

    def _incarnations(self) -> Iterator[str]:
        """Every incarnation of a branch, that of main first."""
        main = self._root.refs.branch(MAIN)
        first = [main.incarnation] if main is not None else []
        every = (ref.incarnation for ref in self._root.refs.every_branch())
        yield from dict.fromkeys(chain(first, every))

    def _find(self, ref: CommitRef) -> Commit | None:
        found = self._commits.get(ref.id)
        if found is not None:
            return found
        found = read_commit(self._root, ref)
        if found is not None:
            return self._learn(found)
        return self._archived_commit(ref.id)

    def _learn(self, commit: Commit) -> Commit:
        merged = commit.merged_parent
        if merged is not None:
            reason = f"commit {commit.id} merged it"
            self._heads.note_name(merged.incarnation, merged.version, reason)
        self._commits.put(commit.id, commit)
        return commit

    # --- the archive ------------------------------------------------------------------------------

    def _archived_commit(self, commit_id: str) -> Commit | None:
        found = (self._load() or {}).get(commit_id)
        # Another process may have archived it since.
        return found or (self._load(again=True) or {}).get(commit_id)

    def _load(self, *, again: bool = False) -> dict[str, Commit] | None:
        """Read the archive once, and again if it has grown; None while it cannot be read: it may
        hold commits that nothing else does, so the next reader tries again."""
        with self._lock:
            if self._archived is None or again:
                for _ in range(2):
                    try:
                        self._read_table()
                        break
                    except StorageFault as fault:
                        if not self._root.heal(fault):
                            break
                    except (GraphError, *MALFORMED):
                        break
            return self._archived

    def _read_table(self) -> None:
        try:
            pin = self._root.tables.latest(layout.LINEAGE_TABLE)
        except NotFound:
            self._archived = self._archived or {}
            return
        if self._archived is None or pin != self._archive_pin:
            table = self._root.tables.open(pin)
            bodies = table.scan(["body"]).column("body").to_pylist()
            rows = [Commit.from_json(parse_json(body)) for body in bodies]
            self._archived, self._archive_pin = {row.id: row for row in rows}, pin

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
            # Another process is appending; the next one tries again.
            return
        reach("lineage.appended")
        with self._lock:
            self._archived = {**(self._archived or {}), **{c.id: c for c in commits}}


def _rows(commits: list[Commit]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - only the archive needs it

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
