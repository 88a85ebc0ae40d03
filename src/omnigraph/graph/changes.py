"""``graph.changes``: the feed of a branch, the changes of a commit, baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import commit_id_of
from omnigraph.api.names import MAIN
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.api.change_pages import CommitChanges, FeedPage
    from omnigraph.api.changes import EntityChange
    from omnigraph.api.commits import Commit
    from omnigraph.graph.authorize import Authorizer
    from omnigraph.history.baseline import SnapshotBaseline

__all__ = ["Changes"]


class Changes:
    """The changes of a graph, commit by commit."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def of_commit(
        self,
        commit_id: str | Commit,
        *,
        limit: int | None = None,
        page_token: str | None = None,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> CommitChanges:
        """Return a page of the changes of one commit, relative to its first parent."""
        from omnigraph.api.change_pages import CommitChangesRequest
        from omnigraph.history.commit_changes import commit_changes

        commit_id = commit_id_of(commit_id)
        request = CommitChangesRequest(commit_id, limit, page_token, kinds, types, ops)
        return commit_changes(self._authorizer.read(commit_id), request)

    def all_of_commit(self, commit_id: str | Commit) -> Iterator[EntityChange]:
        """Iterate over the changes of one commit, page after page."""
        page = self.of_commit(commit_id)
        yield from page.block.changes
        while page.next_page_token is not None:
            page = self.of_commit(commit_id, page_token=page.next_page_token)
            yield from page.block.changes

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
    ) -> FeedPage:
        """Return the next page of a branch's feed, from ``cursor`` or from ``start``.

        ``start`` is ``now`` (the default), ``beginning`` or ``after:<commit id>``.
        """
        from omnigraph.api.change_pages import PollRequest
        from omnigraph.history.feed import poll

        request = PollRequest(branch, cursor, start, page_token, limit, commits, kinds, types, ops)
        return poll(self._authorizer.read(branch), request)

    def baseline(
        self,
        *,
        branch: str = MAIN,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> SnapshotBaseline:
        """Return the snapshot of a branch's head, and the cursor that continues from it."""
        from omnigraph.api.change_pages import BaselineRequest
        from omnigraph.history.baseline import take_baseline

        request = BaselineRequest(branch, kinds, types, ops)
        return take_baseline(self._authorizer.export(branch), request)
