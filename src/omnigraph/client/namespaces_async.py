"""The namespaces of a remote graph, asynchronous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.commit_listing import CommitFilter, CommitGraph, CommitPage
from omnigraph.api.commits import Commit, WriterKind, commit_id_of
from omnigraph.api.names import MAIN, BranchName
from omnigraph.api.refs import BranchInfo, BranchRef, RefList, TagRef
from omnigraph.api.targets import Target, target_text
from omnigraph.client import decoding as answers
from omnigraph.client import history_decoding as histories
from omnigraph.client.connection import Requester
from omnigraph.client.requests import delete, get, path_of, post
from omnigraph.client.results import RemoteBaseline, spool
from omnigraph.errors import GraphError
from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from omnigraph.api.change_pages import CommitChanges, FeedPage
    from omnigraph.api.changes import EntityChange
    from omnigraph.api.merges import ResetResult

__all__ = ["AsyncBranches", "AsyncChanges", "AsyncCommits", "AsyncOperations", "AsyncTags"]


class AsyncBranches(Requester):
    """The branches of a graph."""

    async def create(self, name: str, *, source: Target = MAIN) -> BranchRef:
        """Create a branch from ``source``: a branch, a commit, a tag or a point in time."""
        said = (
            await self._send(post("/branches", {"name": name, "from": target_text(source)}))
        ).body
        fork = said["graph_commit_id"]
        return BranchRef(BranchName(said["name"]), 0, "", True, 0, fork)  # noqa: FBT003

    async def list(self) -> RefList[BranchInfo]:
        """List the open branches with their heads; ``damaged`` holds the unreadable ones."""
        body = await self._get("/branches")
        heads: dict[str, str] = body["heads"]
        commits: dict[str, Commit] = {}
        for name, head in heads.items():
            if head not in commits:
                commits[head] = await self._head(name, head)
        return RefList(
            [answers.branch_of(name, commits[head]) for name, head in heads.items()],
            answers.damage_of(body),
        )

    async def delete(self, name: str, *, actor: str | None = None, force: bool = False) -> None:
        """Delete a branch; ``force`` allows it while branches forked from it are open."""
        answers.refuse_actor(actor)
        await self._send(delete(f"/branches{path_of(name)}", force=force))

    async def reset(
        self,
        name: str,
        *,
        to: Target,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> ResetResult:
        """Restore the state of another target on a branch, as a new commit."""
        answers.refuse_actor(actor)
        body = {"to": target_text(to), "message": message, "if_commit": if_commit}
        return answers.reset_of(await self._post(f"/branches{path_of(name)}/reset", body))

    async def _head(self, name: str, commit_id: str) -> Commit:
        """Return a head with its parents, as far as they can be read."""
        try:
            return answers.commit_of(await self._get(f"/commits{path_of(commit_id)}"))
        except GraphError:
            return answers.named_commit(commit_id, branch=name, kind=WriterKind.MUTATION)


class AsyncTags(Requester):
    """Permanent names of commits."""

    async def create(self, name: str, *, at: Target = MAIN, actor: str | None = None) -> TagRef:
        answers.refuse_actor(actor)
        return answers.tag_of(await self._post("/tags", {"name": name, "at": target_text(at)}))

    async def list(self) -> RefList[TagRef]:
        body = await self._get("/tags")
        return RefList(map(answers.tag_of, body["tags"]), answers.damage_of(body))

    async def delete(self, name: str) -> None:
        await self._send(delete(f"/tags{path_of(name)}"))


class AsyncCommits(Requester):
    """The history of a graph."""

    async def list(self, wanted: CommitFilter | None = None) -> CommitPage:
        """List commits, newest first."""
        asked = wanted or CommitFilter()
        said = {
            "branch": target_text(asked.target),
            "actor": asked.actor,
            "kind": asked.kind,
            "since": None if asked.since_micros is None else format_micros(asked.since_micros),
            "until": None if asked.until_micros is None else format_micros(asked.until_micros),
            "limit": asked.limit,
            "page_token": asked.page_token,
            "hide_maintenance": asked.hide_maintenance or None,
        }
        return answers.commits_of(await self._get("/commits", **said))

    async def show(self, commit_id: str | Commit) -> Commit:
        path = f"/commits{path_of(commit_id_of(commit_id))}"
        return answers.commit_of(await self._get(path))

    async def graph(self, *, limit: int = 100) -> CommitGraph:
        """Return the last commits of all branches with their parents; a notebook draws them."""
        heads: dict[str, str] = (await self._get("/branches"))["heads"]
        names: dict[str, list[str]] = {}
        for name, head in heads.items():
            names.setdefault(head, []).append(name)
        for tag in (await self._get("/tags"))["tags"]:
            names.setdefault(tag["graph_commit_id"], []).append(f"tag {tag['name']}")
        found: dict[str, Commit] = {}
        for name in heads:
            page = await self.list(CommitFilter(target=name, limit=limit))
            found |= {commit.id: commit for commit in page.commits}
        newest = sorted(found.values(), key=lambda each: (-each.time_micros, each.id))[:limit]
        return CommitGraph(tuple(newest), {key: tuple(said) for key, said in names.items()})

    async def is_ancestor(self, older: str | Commit, newer: str | Commit) -> bool:
        """Whether a commit equals another one or precedes it; requests each commit between them."""
        wanted = await self.show(older)
        start = await self.show(newer)
        seen: set[str] = {start.id}
        waiting = [start]
        while waiting:
            commit = waiting.pop()
            if commit.id == wanted.id:
                return True
            for parent in _parents(commit):
                # A commit that is older than the ancestor cannot descend from it.
                if parent not in seen and parent[:10] >= wanted.id[:10]:
                    seen.add(parent)
                    waiting.append(await self.show(parent))
        return False

    async def merge_base(self, left: str | Commit, right: str | Commit) -> Commit | None:
        """Return the newest common ancestor of two commits; requests each commit on the way."""
        sides: dict[str, set[int]] = {}
        waiting: dict[str, Commit] = {}
        for side, given in enumerate((left, right)):
            commit = await self.show(given)
            waiting[commit.id] = commit
            sides.setdefault(commit.id, set()).add(side)
        while waiting:
            commit = waiting.pop(max(waiting, key=lambda each: (waiting[each].time_micros, each)))
            if sides[commit.id] == {0, 1}:
                return commit
            for parent in _parents(commit):
                if parent not in sides:
                    waiting[parent] = await self.show(parent)
                sides.setdefault(parent, set()).update(sides[commit.id])
        return None


def _parents(commit: Commit) -> list[str]:
    return [ref.id for ref in (commit.parent, commit.merged_parent) if ref is not None]


class AsyncChanges(Requester):
    """The changes of a graph, commit by commit."""

    async def of_commit(
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
        path = f"/commits{path_of(commit_id_of(commit_id))}/changes"
        scope = {"kind": [*kinds], "type": [*types], "op": [*ops]}
        answer = await self._send(get(path, limit=limit, page_token=page_token, **scope))
        return histories.commit_changes_of(answer.body)

    async def all_of_commit(self, commit_id: str | Commit) -> AsyncIterator[EntityChange]:
        """Iterate over the changes of one commit, page after page."""
        page = await self.of_commit(commit_id)
        while True:
            for change in page.block.changes:
                yield change
            if page.next_page_token is None:
                return
            page = await self.of_commit(commit_id, page_token=page.next_page_token)

    async def poll(
        self,
        *,
        branch: str = MAIN,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        limit: int | None = None,
        commits: int = FEED_COMMITS,  # noqa: ARG002 - the server looks at as many as it likes
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> FeedPage:
        """Return the next page of a branch's feed, from ``cursor`` or from ``start``.

        ``start`` is ``now`` (the default), ``beginning`` or ``after:<commit id>``.
        """
        said: dict[str, Any] = {
            "branch": branch,
            "cursor": cursor,
            "start": start,
            "page_token": page_token,
            "limit": limit,
            "kind": [*kinds],
            "type": [*types],
            "op": [*ops],
        }
        return histories.feed_of(await self._get("/changes", **said))

    async def baseline(
        self,
        *,
        branch: str = MAIN,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> RemoteBaseline:
        """Return the snapshot of a branch's head, and the cursor that continues from it."""
        held = spool()
        body = {"branch": branch, "kind": [*kinds], "type": [*types], "op": [*ops]}
        await self._send(post("/changes/baseline", body, repeatable=True, sink=held.write))
        return RemoteBaseline.of(held)


class AsyncOperations(Requester):
    """The running queries, exports and writes of the server."""

    async def list(self) -> Sequence[answers.RemoteOperation]:
        """List the running operations, oldest first."""
        found = (await self._get("/operations"))["operations"]
        return [answers.RemoteOperation.of(body) for body in found]

    async def cancel(self, operation_id: str) -> answers.RemoteOperation:
        """Cancel an operation at its next step.

        A query fails with ``query.cancelled``. A write fails with ``operation.cancelled`` and has
        no effect; a commit that is being published is completed.
        """
        answer = await self._send(delete(f"/operations{path_of(operation_id)}"))
        return answers.RemoteOperation.of(answer.body)
