"""Targets: the texts that name a point of history.

``main`` a branch · ``01J…`` a commit · ``v1.2`` a tag · ``main@2026-11-01T12:00:00Z`` the branch as
it was at that time · ``main@v17`` a version of its manifest. In Python also what the graph itself
hands out: a commit, its ref, a branch, a tag; and a ``datetime``, which means main at that time.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from omnigraph.api.commits import CommitRef
from omnigraph.api.names import MAIN
from omnigraph.api.targets import Target, target_text
from omnigraph.errors import InvalidInput, NotFound, StorageFault
from omnigraph.runtime.clock import datetime_to_micros
from omnigraph.runtime.ids import is_ulid
from omnigraph.versioning.damage import HEAD_DAMAGE, commit_damaged, last_readable

if TYPE_CHECKING:
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "Resolver",
]


_VERSION = re.compile(r"v([0-9]{1,18})")


class Resolver:
    """Finds the manifest of a target."""

    def __init__(self, root: GraphRoot, heads: Heads, lineage: Lineage) -> None:
        self._root = root
        self._heads = heads
        self._lineage = lineage

    def resolve(self, target: Target) -> Manifest:
        """The manifest of a target, or a typed error."""
        if target == MAIN:
            return self._heads.of_branch(MAIN)[1]
        target = target_text(target)
        branch, at, moment = target.partition("@")
        if at:
            return self._moment_of(branch, moment, target)
        if is_ulid(target.upper()):
            return self._commit(target.upper())
        try:
            return self._heads.of_branch(target)[1]
        except NotFound as missing:
            if missing.code != "branch.missing":
                raise
            tag = self._root.refs.tag(target)
            if tag is not None:
                ref = CommitRef(tag.commit, tag.incarnation, tag.version)
                return self._manifest_at(ref, named_by=f"tag {tag.name!r} names it")
            raise NotFound(
                "target.missing",
                f"{target!r:.100} is neither a branch nor a tag",
                remedy="see `omnigraph branch list` and `omnigraph tag list`",
            ) from None

    def _moment_of(self, branch: str, moment: str, target: str) -> Manifest:
        ref, head = self._heads.of_branch(branch)
        version = _VERSION.fullmatch(moment)
        if version:
            return self._version(ref.incarnation, int(version[1]), head, target)
        limit = _parse_time(moment, target)
        commit = self._lineage.newest_at(head.commit, limit)
        if commit is None:
            raise NotFound(
                "target.before_history", f"branch {branch!r} has no commit as old as {moment}"
            )
        return self._manifest_at(commit.ref)

    def _version(self, incarnation: str, version: int, head: Manifest, target: str) -> Manifest:
        if version == 0 or version > head.version:
            raise NotFound(
                "target.version_missing",
                f"{target!r}: the branch has versions 1 to {head.version}",
            )
        if version == 1:
            # A fork begins with a copy of a commit that is at home elsewhere.
            return self._root.manifest(incarnation, version)
        try:
            manifest = self._root.manifest(incarnation, version)
            if version < head.version:
                # A stale writer may have put a manifest under a number that cleanup had removed.
                parent = self._root.manifest(incarnation, version + 1).commit.parent
                if parent is None or parent.id != manifest.commit.id:
                    raise _reclaimed(target)
        except NotFound as missing:
            raise _reclaimed(target) from missing
        return manifest

    def _commit(self, commit_id: str) -> Manifest:
        return self._manifest_at(self._lineage.get(commit_id).ref)

    def _manifest_at(self, ref: CommitRef, *, named_by: str | None = None) -> Manifest:
        """The manifest of a commit. Cleanup removes neither the newest commit of a branch nor what
        a tag names: that such a commit is absent is damage."""
        reason = named_by or "the history of the graph contains it"
        try:
            manifest = self._root.manifest(ref.incarnation, ref.version)
        except NotFound as missing:
            newest = last_readable(self._root, ref.incarnation)
            if named_by is None and (newest is None or newest.version >= ref.version):
                raise _reclaimed(ref.id) from None
            raise commit_damaged(self._root, ref, missing.message, reason) from missing
        except StorageFault as fault:
            if fault.code not in HEAD_DAMAGE:
                raise
            raise commit_damaged(self._root, ref, fault.message, reason) from fault
        if manifest.commit.id != ref.id:
            if named_by is None:
                raise _reclaimed(ref.id)
            problem = f"version {ref.version} is commit {manifest.commit.id}"
            raise commit_damaged(self._root, ref, problem, reason)
        return manifest


def _reclaimed(what: str) -> NotFound:
    return NotFound(
        "snapshot.reclaimed",
        f"the data of commit {what} was removed by cleanup",
        remedy="tag commits that must stay readable",
        details={"target": what},
    )


def _parse_time(text: str, target: str) -> int:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "target.bad_time",
            f"{target!r}: {text!r} is neither a time nor a version",
            remedy="write BRANCH@2026-11-01T12:00:00Z or BRANCH@v17",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return datetime_to_micros(moment)
