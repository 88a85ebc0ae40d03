"""Protocols of the namespaces of a graph: ``graph.branches``, ``graph.tags``, …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.api.names import MAIN
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.api.change_pages import CommitChanges, FeedPage
    from omnigraph.api.changes import EntityChange, TypeSummary
    from omnigraph.api.commit_listing import CommitFilter, CommitGraph, CommitPage
    from omnigraph.api.commits import Commit
    from omnigraph.api.merges import ResetResult
    from omnigraph.api.refs import BranchInfo, BranchRef, RefList, TagRef
    from omnigraph.api.status import AuditRow, PendingIntent
    from omnigraph.api.targets import Target

__all__ = [
    "Baseline",
    "BranchNamespace",
    "ChangeNamespace",
    "CommitNamespace",
    "Diff",
    "OperationInfo",
    "OperationNamespace",
    "RecoveryNamespace",
    "TagNamespace",
]


class BranchNamespace(Protocol):
    """The branches of a graph: ``graph.branches``."""

    def create(self, name: str, *, source: Target = MAIN) -> BranchRef: ...

    def list(self) -> RefList[BranchInfo]: ...

    def delete(self, name: str, *, actor: str | None = None, force: bool = False) -> None: ...

    def reset(
        self,
        name: str,
        *,
        to: Target,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> ResetResult: ...


class TagNamespace(Protocol):
    """Permanent names of commits: ``graph.tags``."""

    def create(self, name: str, *, at: Target = MAIN, actor: str | None = None) -> TagRef: ...

    def list(self) -> RefList[TagRef]: ...

    def delete(self, name: str) -> None: ...


class CommitNamespace(Protocol):
    """The history of a graph: ``graph.commits``."""

    def list(self, wanted: CommitFilter | None = None) -> CommitPage: ...

    def graph(self, *, limit: int = 100) -> CommitGraph: ...

    def show(self, commit_id: str | Commit) -> Commit: ...

    def is_ancestor(self, older: str | Commit, newer: str | Commit) -> bool: ...

    def merge_base(self, left: str | Commit, right: str | Commit) -> Commit | None: ...


class RecoveryNamespace(Protocol):
    """The audit of recovery, and unfinished writes: ``graph.recoveries``."""

    def list(self) -> Sequence[AuditRow]: ...

    def pending(self) -> Sequence[PendingIntent]: ...


class OperationNamespace(Protocol):
    """Running queries, exports and writes: ``graph.operations``."""

    def list(self) -> Sequence[OperationInfo]: ...

    def cancel(self, operation_id: str) -> OperationInfo: ...


class ChangeNamespace(Protocol):
    """The changes of a graph, commit by commit: ``graph.changes``."""

    def of_commit(
        self,
        commit_id: str | Commit,
        *,
        limit: int | None = None,
        page_token: str | None = None,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> CommitChanges: ...

    def all_of_commit(self, commit_id: str | Commit) -> Iterator[EntityChange]: ...

    def poll(
        self,
        *,
        branch: str = MAIN,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        limit: int | None = None,
        commits: int = FEED_COMMITS,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> FeedPage: ...

    def baseline(
        self,
        *,
        branch: str = MAIN,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> Baseline: ...


class Diff(Protocol):
    """The difference between two targets; iteration yields changes, nodes before edges."""

    def __iter__(self) -> Iterator[EntityChange]: ...

    def summary(self) -> list[TypeSummary]: ...

    def head_json(self) -> dict[str, Any]: ...

    def summary_json(self) -> list[dict[str, Any]]: ...

    def to_json(self) -> dict[str, Any]: ...


class Baseline(Protocol):
    """The snapshot of one commit as JSON lines, and the cursor that continues from it."""

    @property
    def snapshot_commit_id(self) -> str: ...

    @property
    def cursor(self) -> str: ...

    def records(self) -> Iterator[bytes]: ...

    def lines(self) -> Iterator[bytes]: ...

    def to_json(self) -> dict[str, Any]: ...


class OperationInfo(Protocol):
    """A running query, export or write."""

    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def actor(self) -> str | None: ...

    def to_json(self) -> dict[str, Any]: ...
