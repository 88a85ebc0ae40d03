"""A graph of a server, for code that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from omnigraph.api.names import MAIN
from omnigraph.client.drivers import waited
from omnigraph.client.graph_selection import find_graph, list_graphs
from omnigraph.client.history_verbs import (
    BranchVerbs,
    ChangeVerbs,
    CommitVerbs,
    OperationVerbs,
    TagVerbs,
)
from omnigraph.client.transport import Transport
from omnigraph.client.verbs import GraphVerbs, ReadVerbs, not_served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import EntityChange
    from omnigraph.api.commits import Commit
    from omnigraph.api.targets import Target
    from omnigraph.catalog.model import Catalog
    from omnigraph.client.address import Address
    from omnigraph.client.requests import HttpRequest, Steps

__all__ = ["RemoteGraph", "RemoteGraphAt"]

T = TypeVar("T")


class RemoteSession:
    """A connection, the graph it is about, and how long a call may take."""

    def __init__(self, transport: Transport, address: Address, timeout: float | None) -> None:
        self.transport = transport
        self.address = address
        self.timeout = timeout
        # Whom the server takes the token for, once it has answered.
        self.actor: str | None = None

    def run(self, steps: Steps[T]) -> T:
        """Send what the steps ask for, until they end."""
        if self.address.graph is None:
            self.address = self.address.named(self._drive(find_graph()))
        return self._drive(steps)

    def run_flat(self, steps: Steps[T]) -> T:
        """The same for what is asked of the server and not of a graph."""
        return self._drive(steps)

    def _drive(self, steps: Steps[T]) -> T:
        try:
            request: HttpRequest = next(steps)
            while True:
                try:
                    answer = self.transport.send(self.address, request, self.timeout)
                except Exception as error:  # noqa: BLE001 - the steps may know what to do about it
                    request = steps.throw(error)
                else:
                    self.actor = answer.actor or self.actor
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class _Part:
    def __init__(self, session: RemoteSession, verbs: Any) -> None:
        self._session = session
        self.verbs = verbs

    def run(self, steps: Steps[T]) -> T:
        return self._session.run(steps)


class RemoteBranches(_Part):
    """The branches of a graph."""

    create = waited(BranchVerbs.create)
    list = waited(BranchVerbs.list)
    delete = waited(BranchVerbs.delete)
    reset = waited(BranchVerbs.reset)


class RemoteTags(_Part):
    """Names for commits that never move."""

    create = waited(TagVerbs.create)
    list = waited(TagVerbs.list)
    delete = waited(TagVerbs.delete)


class RemoteCommits(_Part):
    """The history of a graph."""

    list = waited(CommitVerbs.list)
    show = waited(CommitVerbs.show)
    is_ancestor = waited(CommitVerbs.is_ancestor)
    merge_base = waited(CommitVerbs.merge_base)
    graph = waited(CommitVerbs.graph)


class RemoteChanges(_Part):
    """The changes of a graph, commit by commit."""

    of_commit = waited(ChangeVerbs.of_commit)
    poll = waited(ChangeVerbs.poll)
    baseline = waited(ChangeVerbs.baseline)

    def all_of_commit(self, commit_id: str | Commit) -> Iterator[EntityChange]:
        """Everything that one commit changed, page after page."""
        page = self.of_commit(commit_id)
        yield from page.block.changes
        while page.next_page_token is not None:
            page = self.of_commit(commit_id, page_token=page.next_page_token)
            yield from page.block.changes


class RemoteOperations(_Part):
    """What runs now on the server: queries, exports and writes."""

    list = waited(OperationVerbs.list)
    cancel = waited(OperationVerbs.cancel)


class RemoteRecoveries:
    """What recovery did is for whoever has the storage."""

    def list(self) -> NoReturn:
        raise not_served("the audit of recoveries")

    def pending(self) -> NoReturn:
        raise not_served("the intents in flight")


class RemoteGraphAt(_Part):
    """A graph of a server at one target: everything that reads."""

    query = waited(ReadVerbs.query)
    stream = waited(ReadVerbs.stream)
    explain = waited(ReadVerbs.explain)
    profile = waited(ReadVerbs.profile)
    snapshot = waited(ReadVerbs.snapshot)
    plan_schema = waited(ReadVerbs.plan_schema)
    export = waited(ReadVerbs.export)
    nodes = waited(ReadVerbs.nodes)
    edges = waited(ReadVerbs.edges)
    to_networkx = waited(ReadVerbs.to_networkx)
    blob = waited(ReadVerbs.blob)

    @property
    def schema(self) -> str:
        """The schema at this target, as ``.pg``."""
        return self.run(self.verbs.schema())  # type: ignore[no-any-return]

    @property
    def catalog(self) -> Catalog:
        """The schema at this target, built from its text: its ids are not those of the graph."""
        return self.run(self.verbs.catalog())  # type: ignore[no-any-return]

    def indexes(self) -> NoReturn:
        raise not_served("the coverage of indexes")


class RemoteGraph(RemoteGraphAt):
    """A graph of a server. Thread-safe; use it as a context manager, or close it."""

    mutate = waited(GraphVerbs.mutate)
    load = waited(GraphVerbs.load)
    apply_schema = waited(GraphVerbs.apply_schema)
    diff = waited(GraphVerbs.diff)
    blame = waited(GraphVerbs.blame)
    merge = waited(GraphVerbs.merge)
    revert = waited(GraphVerbs.revert)
    cherry_pick = waited(GraphVerbs.cherry_pick)
    status = waited(GraphVerbs.status)
    stored_queries = waited(GraphVerbs.stored_queries)
    invoke_query = waited(GraphVerbs.invoke_query)

    def __init__(
        self,
        address: Address,
        *,
        token: str | None = None,
        timeout: float | None = None,
        transport: Transport | None = None,
    ) -> None:
        session = RemoteSession(transport or Transport(token), address, timeout)
        super().__init__(session, GraphVerbs(MAIN))
        self.branches = RemoteBranches(session, BranchVerbs())
        self.tags = RemoteTags(session, TagVerbs())
        self.commits = RemoteCommits(session, CommitVerbs())
        self.changes = RemoteChanges(session, ChangeVerbs())
        self.operations = RemoteOperations(session, OperationVerbs())
        self.recoveries = RemoteRecoveries()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteGraph {self.uri}>"

    @property
    def uri(self) -> str:
        return self._session.address.uri

    @property
    def id(self) -> str:
        """The graph's own id, the same wherever it is moved to."""
        return self.status().graph_id

    @property
    def actor(self) -> str | None:
        """Who acts is said by the token, and known from the first answer on."""
        return self._session.actor

    def at(self, target: Target) -> RemoteGraphAt:
        """The graph at a branch, a commit, a tag, ``BRANCH@TIME`` or ``BRANCH@vN``."""
        at = RemoteGraphAt(self._session, ReadVerbs(target))
        at.snapshot()
        return at

    def served_graphs(self) -> list[str]:
        """The graphs of the server, by name, whichever of them this is."""
        return self._session.run_flat(list_graphs())

    def with_timeout(self, seconds: float | None) -> RemoteGraph:
        """The same connection, with another patience."""
        session = self._session
        return RemoteGraph(session.address, timeout=seconds, transport=session.transport)

    def ensure_indices(self, **_: object) -> NoReturn:
        raise not_served("the building of indexes")

    def refresh(self) -> NoReturn:
        raise not_served("recovery")

    def close(self) -> None:
        """Close the connection. Closing twice is fine."""
        self._session.transport.close()
