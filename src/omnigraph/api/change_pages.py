"""Requests and results of diff, feed, baseline and blame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.api.change_json import cause_to_json, change_to_json, schema_change_to_json
from omnigraph.api.names import MAIN
from omnigraph.frozen import frozen
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.api.changes import (
        EntityChange,
        SchemaChange,
    )
    from omnigraph.api.commits import Commit

__all__ = [
    "BaselineRequest",
    "BlameRequest",
    "ChangeBlock",
    "CommitChanges",
    "CommitChangesRequest",
    "DiffRequest",
    "EntityHistory",
    "FeedPage",
    "PollRequest",
]


@dataclass(frozen=True)
class ChangeBlock:
    """Changes with the commit that made them; a page may hold only some of them."""

    commit: Commit
    changes: tuple[EntityChange, ...]
    # Changes of definitions precede those of entities, on the first page of a commit.
    schema_changes: tuple[SchemaChange, ...] = ()

    def __repr__(self) -> str:
        return f"<ChangeBlock {self.commit.id}, {len(self.changes)} changes>"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"cause": cause_to_json(self.commit)}
        if self.schema_changes:
            body["schema_changes"] = [*map(schema_change_to_json, self.schema_changes)]
        return {**body, "changes": [*map(change_to_json, self.changes)]}


@dataclass(frozen=True)
class CommitChanges:
    """One page of the changes of a commit."""

    block: ChangeBlock
    next_page_token: str | None

    def to_json(self) -> dict[str, Any]:
        body = self.block.to_json()
        return {**body, "next_page_token": self.next_page_token} if self.next_page_token else body


@frozen
class CommitChangesRequest:
    commit: str
    limit: int | None = None
    page_token: str | None = None
    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    ops: Sequence[str] = ()


@frozen
class PollRequest:
    """The position to continue from: at most one of ``cursor``, ``start`` and ``page_token``.

    ``start`` is ``now`` (the default), ``beginning`` or ``after:<commit id>``.
    """

    branch: str = MAIN
    cursor: str | None = None
    start: str | None = None
    page_token: str | None = None
    limit: int | None = None
    commits: int = FEED_COMMITS
    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    ops: Sequence[str] = ()


@dataclass(frozen=True)
class FeedPage:
    """A page of a feed.

    It either ends within a commit and has a page token, or it has a cursor; ``caught_up`` then
    reports whether the cursor is at the newest commit of the moment at which the poll began.
    """

    blocks: tuple[ChangeBlock, ...]
    cursor: str | None = None
    caught_up: bool | None = None
    next_page_token: str | None = None

    def __repr__(self) -> str:
        end = "caught up" if self.caught_up else "more pages"
        return f"<FeedPage of {len(self.blocks)} commits, {end}>"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"blocks": [block.to_json() for block in self.blocks]}
        if self.next_page_token is not None:
            return {**body, "next_page_token": self.next_page_token}
        return {**body, "cursor": self.cursor, "caught_up": self.caught_up}


@frozen
class BaselineRequest:
    """The branch and the scope of a baseline.

    Kinds and types limit the snapshot; operations limit only the feed that follows it.
    """

    branch: str = MAIN
    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    ops: Sequence[str] = ()


@frozen
class DiffRequest:
    """Two targets, and a filter of the changes between them."""

    before: str
    after: str
    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    ops: Sequence[str] = ()


@frozen
class BlameRequest:
    type: str
    id: str
    target: str = MAIN
    limit: int = 1_000


@dataclass(frozen=True)
class EntityHistory:
    """Changes of one entity with their commits, newest first.

    A commit of a merged branch is listed as well as the merge that included its change: each
    changed the entity relative to its own first parent. Commits whose changes a merge discarded are
    omitted. ``reaches_back_to`` is the commit before which cleanup has removed the history.
    """

    type: str
    id: str
    entries: tuple[tuple[Commit, EntityChange], ...]
    reaches_back_to: str | None = None
    more: bool = False

    def __repr__(self) -> str:
        return f"<EntityHistory of {self.type} {self.id!r}, {len(self.entries)} commits>"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": self.type,
            "id": self.id,
            "history": [
                {"cause": cause_to_json(commit), "change": change_to_json(change)}
                for commit, change in self.entries
            ],
        }
        if self.reaches_back_to is not None:
            body["reaches_back_to"] = self.reaches_back_to
        return {**body, "more": True} if self.more else body
