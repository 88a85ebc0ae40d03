"""A graph of a server, for code that awaits: the same verbs, run by another loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from omnigraph.api.names import MAIN
from omnigraph.client.drivers import awaited
from omnigraph.client.graph_selection import find_graph
from omnigraph.client.history_verbs import (
    BranchVerbs,
    ChangeVerbs,
    CommitVerbs,
    OperationVerbs,
    TagVerbs,
)
from omnigraph.client.transport_async import AsyncTransport
from omnigraph.client.verbs import GraphVerbs, ReadVerbs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from omnigraph.api.changes import EntityChange
    from omnigraph.api.commits import Commit
    from omnigraph.api.targets import Target
    from omnigraph.client.address import Address
    from omnigraph.client.requests import HttpRequest, Steps

__all__ = ["AsyncRemoteGraph", "AsyncRemoteGraphAt"]

T = TypeVar("T")


class AsyncSession:
    """A connection, the graph it is about, and how long a call may take."""

    def __init__(self, transport: AsyncTransport, address: Address, timeout: float | None) -> None:
        self.transport = transport
        self.address = address
        self.timeout = timeout

    async def run(self, steps: Steps[T]) -> T:
        """Send what the steps ask for, until they end."""
        if self.address.graph is None:
            self.address = self.address.named(await self._drive(find_graph()))
        return await self._drive(steps)

    async def _drive(self, steps: Steps[T]) -> T:
        try:
            request: HttpRequest = next(steps)
            while True:
                try:
                    answer = await self.transport.send(self.address, request, self.timeout)
                except Exception as error:  # noqa: BLE001 - the steps may know what to do about it
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class _Part:
    def __init__(self, session: AsyncSession, verbs: Any) -> None:
        self._session = session
        self.verbs = verbs

    async def run(self, steps: Steps[T]) -> T:
        return await self._session.run(steps)


class AsyncBranches(_Part):
    """The branches of a graph."""

    create = awaited(BranchVerbs.create)
    list = awaited(BranchVerbs.list)
    delete = awaited(BranchVerbs.delete)
    reset = awaited(BranchVerbs.reset)


class AsyncTags(_Part):
    """Names for commits that never move."""

    create = awaited(TagVerbs.create)
    list = awaited(TagVerbs.list)
    delete = awaited(TagVerbs.delete)


class AsyncCommits(_Part):
    """The history of a graph."""

    list = awaited(CommitVerbs.list)
    show = awaited(CommitVerbs.show)
    is_ancestor = awaited(CommitVerbs.is_ancestor)
    merge_base = awaited(CommitVerbs.merge_base)
    graph = awaited(CommitVerbs.graph)


class AsyncChanges(_Part):
    """The changes of a graph, commit by commit."""

    of_commit = awaited(ChangeVerbs.of_commit)
    poll = awaited(ChangeVerbs.poll)
    baseline = awaited(ChangeVerbs.baseline)

    async def all_of_commit(self, commit_id: str | Commit) -> AsyncIterator[EntityChange]:
        """Everything that one commit changed, page after page."""
        page = await self.of_commit(commit_id)
        while True:
            for change in page.block.changes:
                yield change
            if page.next_page_token is None:
                return
            page = await self.of_commit(commit_id, page_token=page.next_page_token)


class AsyncOperations(_Part):
    """What runs now on the server: queries, exports and writes."""

    list = awaited(OperationVerbs.list)
    cancel = awaited(OperationVerbs.cancel)


class AsyncRemoteGraphAt(_Part):
    """A graph of a server at one target: everything that reads."""

    query = awaited(ReadVerbs.query)
    stream = awaited(ReadVerbs.stream)
    explain = awaited(ReadVerbs.explain)
    profile = awaited(ReadVerbs.profile)
    snapshot = awaited(ReadVerbs.snapshot)
    schema = awaited(ReadVerbs.schema)
    catalog = awaited(ReadVerbs.catalog)
    plan_schema = awaited(ReadVerbs.plan_schema)
    export = awaited(ReadVerbs.export)
    nodes = awaited(ReadVerbs.nodes)
    edges = awaited(ReadVerbs.edges)
    to_networkx = awaited(ReadVerbs.to_networkx)
    blob = awaited(ReadVerbs.blob)


class AsyncRemoteGraph(AsyncRemoteGraphAt):
    """A graph of a server. ``schema`` and ``catalog`` are calls here, since they are awaited."""

    mutate = awaited(GraphVerbs.mutate)
    load = awaited(GraphVerbs.load)
    apply_schema = awaited(GraphVerbs.apply_schema)
    diff = awaited(GraphVerbs.diff)
    blame = awaited(GraphVerbs.blame)
    merge = awaited(GraphVerbs.merge)
    revert = awaited(GraphVerbs.revert)
    cherry_pick = awaited(GraphVerbs.cherry_pick)
    status = awaited(GraphVerbs.status)
    stored_queries = awaited(GraphVerbs.stored_queries)
    invoke_query = awaited(GraphVerbs.invoke_query)

    def __init__(
        self,
        address: Address,
        *,
        token: str | None = None,
        timeout: float | None = None,
    ) -> None:
        session = AsyncSession(AsyncTransport(token), address, timeout)
        super().__init__(session, GraphVerbs(MAIN))
        self.branches = AsyncBranches(session, BranchVerbs())
        self.tags = AsyncTags(session, TagVerbs())
        self.commits = AsyncCommits(session, CommitVerbs())
        self.changes = AsyncChanges(session, ChangeVerbs())
        self.operations = AsyncOperations(session, OperationVerbs())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncRemoteGraph {self.uri}>"

    @property
    def uri(self) -> str:
        return self._session.address.uri

    def at(self, target: Target) -> AsyncRemoteGraphAt:
        """The graph at a target; whether there is such a one is told by the first call."""
        return AsyncRemoteGraphAt(self._session, ReadVerbs(target))

    async def aclose(self) -> None:
        """Close the connection. Closing twice is fine."""
        await self._session.transport.close()
