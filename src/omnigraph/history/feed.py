"""The change feed of a branch: the blocks of its commits, oldest first, along first parents.

The graph keeps no state of its readers. A cursor names the last commit that was read, and is
given only where a commit is complete; a page that ends within a commit has a page token instead.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.api.change_pages import ChangeBlock, FeedPage, PollRequest
from omnigraph.changes.model import ChangeFilter
from omnigraph.changes.tokens import FeedCursor, FeedToken, filter_digest, rejected
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.frozen import frozen
from omnigraph.history.commit_changes import change_gap, changes_of, readable, schema_changes_of
from omnigraph.history.filters import parse_filter
from omnigraph.history.pages import page_budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import ChangePosition
    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine

__all__ = ["COMMITS_MAX", "poll"]

COMMITS_MAX = 512
_AFTER = "after:"


@frozen
class _Position:
    """The position of a poll: ``done`` is the last complete commit, ``cut`` the last to return."""

    done: str | None
    cut: Commit
    commits: int = 0
    after: ChangePosition | None = None


def poll(engine: Engine, request: PollRequest) -> FeedPage:
    """Return the next page of a branch's feed."""
    return _Poll(engine, request).run()


class _Poll:
    def __init__(self, engine: Engine, request: PollRequest) -> None:
        self._engine = engine
        self._request = request
        self._budget = page_budget(request.limit)
        self._require_one_start()
        ref, self._head = engine.heads.of_branch(request.branch)
        self._graph, self._incarnation = engine.root.stamp.graph_id, ref.incarnation
        self._wanted, self._scope = ChangeFilter(), ""

    def run(self) -> FeedPage:
        place = self._position()
        pending = self._pending(place)
        blocks: list[ChangeBlock] = []
        done, after = place.done, place.after
        for complete_commits, commit in enumerate(pending, place.commits):
            if self._budget.is_full or complete_commits >= self._request.commits:
                break
            with readable(commit, self._request.cursor):
                defined = schema_changes_of(self._engine, commit, self._wanted) if not after else ()
                source = changes_of(self._engine, commit, self._wanted, after=after)
                changes, complete = self._budget.fill(source)
            blocks.append(ChangeBlock(commit, tuple(changes), defined))
            if not complete:
                rest = _Position(done, place.cut, complete_commits, changes[-1].position)
                return FeedPage(tuple(blocks), next_page_token=self._token(rest))
            done, after = commit.id, None
        cursor = FeedCursor(self._graph, self._incarnation, self._scope, done or place.cut.id)
        return FeedPage(tuple(blocks), cursor.encode(), caught_up=done == place.cut.id)

    def _token(self, place: _Position) -> str:
        assert place.after is not None  # noqa: S101 - a page that ends within a commit holds a change of it
        return FeedToken(
            self._graph,
            self._incarnation,
            self._scope,
            place.done,
            place.cut.id,
            place.commits,
            place.after,
        ).encode()

    def _position(self) -> _Position:
        request, head = self._request, self._head.commit
        if request.page_token is not None:
            token = FeedToken.decode(request.page_token)
            self._require_bound(token.graph, token.incarnation)
            self._choose_filter(token.done or token.cut, token.scope)
            return _Position(token.done, self._cut(token.cut), token.commits, token.after)
        if request.cursor is not None:
            cursor = FeedCursor.decode(request.cursor)
            self._require_bound(cursor.graph, cursor.incarnation)
            self._choose_filter(cursor.commit, cursor.scope)
            return _Position(cursor.commit, head)
        done = self._start(request.start or "now")
        self._choose_filter(done)
        return _Position(done, head)

    def _cut(self, commit_id: str) -> Commit:
        """The head when the poll began. A reader of this branch need not be allowed to read others,
        and anybody can forge a token: the commit has to be one of this branch."""
        if commit_id == self._head.commit.id:
            return self._head.commit
        lineage = self._engine.lineage
        with suppress(NotFound):
            commit = lineage.get(commit_id)
            if lineage.positions(self._head.commit).holds(commit):
                return commit
        raise rejected(f"commit {commit_id:.100} is not in the history of {self._request.branch!r}")

    def _start(self, start: object) -> str | None:
        """The last commit that the feed omits; None: there is none."""
        if start == "now":
            return self._head.commit.id
        if start == "beginning":
            return None
        if isinstance(start, str) and start.startswith(_AFTER):
            return start.removeprefix(_AFTER).upper()
        raise InvalidInput(
            "changes.bad_start",
            f"{start!r} is not a valid start",
            remedy="now, beginning or after:<commit id>",
        )

    def _pending(self, place: _Position) -> Iterator[Commit]:
        """Yield the commits after ``done``, up to the cut, oldest first; read as they are used."""
        if place.done == place.cut.id:
            return
        line = self._engine.lineage.positions(place.cut)
        done: Commit | None = None
        if place.done is not None:
            with suppress(NotFound):
                done = self._engine.lineage.get(place.done)
        if done is None or not line.holds(done):
            missing = line.oldest_parent()
            if missing is not None:
                raise change_gap(missing, self._request.cursor)
            if place.done is not None:
                branch = self._request.branch
                raise rejected(f"commit {place.done} is not in the history of {branch!r}")
        try:
            yield from line.after(done)
        except NotFound as gone:
            if gone.code != "snapshot.reclaimed":
                raise
            raise change_gap(str(gone.details["commit_id"]), self._request.cursor) from gone

    def _require_bound(self, graph: str, incarnation: str) -> None:
        if graph != self._graph:
            raise rejected("it belongs to another graph")
        if incarnation != self._incarnation:
            raise rejected("it belongs to another branch, or to one that was deleted since")

    def _choose_filter(self, since: str | None, scope: str | None = None) -> None:
        """Resolve types by their current names, or by those at the reader's position.

        A reader of a feed need not know that a type was renamed or dropped since."""
        request = self._request
        catalogs = [self._engine.root.catalog(self._head.commit.schema)]
        if since is not None and request.types:
            with suppress(NotFound):
                schema = self._engine.lineage.get(since).schema
                catalogs.append(self._engine.root.catalog(schema))
        for order in (catalogs, catalogs[::-1]):
            wanted = parse_filter(request.kinds, request.types, request.ops, order)
            if scope in (None, filter_digest(wanted)):
                self._wanted, self._scope = wanted, filter_digest(wanted)
                return
        raise rejected("it belongs to another filter")

    def _require_one_start(self) -> None:
        request = self._request
        given = [each for each in (request.cursor, request.start, request.page_token) if each]
        if len(given) > 1:
            raise InvalidInput(
                "changes.two_starts",
                "cursor, start and page_token exclude each other",
                remedy="give one of cursor, start and page_token",
            )
        commits: object = request.commits
        if not isinstance(commits, int) or not 1 <= commits <= COMMITS_MAX:
            raise InvalidInput(
                "changes.bad_limit",
                f"a poll of {commits!r:.100} commits is out of range",
                remedy=f"use 1 to {COMMITS_MAX}",
            )
