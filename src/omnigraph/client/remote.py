"""A remote graph, synchronous: every method drives its coroutine in ``remote_async``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from omnigraph.client.blocking import blocking, iterate, run
from omnigraph.client.connection import Connection
from omnigraph.client.failures import not_served
from omnigraph.client.namespaces_async import (
    AsyncBranches,
    AsyncChanges,
    AsyncCommits,
    AsyncOperations,
    AsyncTags,
)
from omnigraph.client.reads_async import AsyncRemoteGraphAt
from omnigraph.client.remote_async import AsyncRemoteGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import EntityChange
    from omnigraph.api.commits import Commit
    from omnigraph.api.targets import Target
    from omnigraph.catalog.model import Catalog

__all__ = ["RemoteGraph", "RemoteGraphAt"]

A_co = TypeVar("A_co", covariant=True)


class _Blocking(Generic[A_co]):
    def __init__(self, asynchronous: A_co) -> None:
        self.asynchronous = asynchronous


class RemoteBranches(_Blocking[AsyncBranches]):
    """The branches of a graph."""

    create = blocking(AsyncBranches.create)
    list = blocking(AsyncBranches.list)
    delete = blocking(AsyncBranches.delete)
    reset = blocking(AsyncBranches.reset)


class RemoteTags(_Blocking[AsyncTags]):
    """Permanent names of commits."""

    create = blocking(AsyncTags.create)
    list = blocking(AsyncTags.list)
    delete = blocking(AsyncTags.delete)


class RemoteCommits(_Blocking[AsyncCommits]):
    """The history of a graph."""

    list = blocking(AsyncCommits.list)
    show = blocking(AsyncCommits.show)
    is_ancestor = blocking(AsyncCommits.is_ancestor)
    merge_base = blocking(AsyncCommits.merge_base)
    graph = blocking(AsyncCommits.graph)


class RemoteChanges(_Blocking[AsyncChanges]):
    """The changes of a graph, commit by commit."""

    of_commit = blocking(AsyncChanges.of_commit)
    poll = blocking(AsyncChanges.poll)
    baseline = blocking(AsyncChanges.baseline)

    def all_of_commit(self, commit_id: str | Commit) -> Iterator[EntityChange]:
        """Iterate over the changes of one commit, page after page."""
        return iterate(self.asynchronous.all_of_commit(commit_id))


class RemoteOperations(_Blocking[AsyncOperations]):
    """Running queries, exports and writes of the server."""

    list = blocking(AsyncOperations.list)
    cancel = blocking(AsyncOperations.cancel)


class RemoteRecoveries:
    """Not supported: recovery requires the storage of the graph."""

    def list(self) -> NoReturn:
        raise not_served("the audit of recoveries")

    def pending(self) -> NoReturn:
        raise not_served("listing unfinished writes")


class RemoteGraphAt(_Blocking[AsyncRemoteGraphAt]):
    """The read-only view of a remote graph at one target."""

    query = blocking(AsyncRemoteGraphAt.query)
    stream = blocking(AsyncRemoteGraphAt.stream)
    explain = blocking(AsyncRemoteGraphAt.explain)
    profile = blocking(AsyncRemoteGraphAt.profile)
    snapshot = blocking(AsyncRemoteGraphAt.snapshot)
    plan_schema = blocking(AsyncRemoteGraphAt.plan_schema)
    export = blocking(AsyncRemoteGraphAt.export)
    nodes = blocking(AsyncRemoteGraphAt.nodes)
    edges = blocking(AsyncRemoteGraphAt.edges)
    to_networkx = blocking(AsyncRemoteGraphAt.to_networkx)
    blob = blocking(AsyncRemoteGraphAt.blob)

    @property
    def schema(self) -> str:
        """The schema at this target, as ``.pg``."""
        return run(self.asynchronous.schema())

    @property
    def catalog(self) -> Catalog:
        """The schema at this target, built from its text; its stable ids differ from those of the
        graph.
        """
        return run(self.asynchronous.catalog())

    def indexes(self) -> NoReturn:
        raise not_served("listing indexes")


class RemoteGraph(RemoteGraphAt):
    """A remote graph. Thread-safe; use it as a context manager, or close it."""

    mutate = blocking(AsyncRemoteGraph.mutate)
    load = blocking(AsyncRemoteGraph.load)
    apply_schema = blocking(AsyncRemoteGraph.apply_schema)
    diff = blocking(AsyncRemoteGraph.diff)
    blame = blocking(AsyncRemoteGraph.blame)
    merge = blocking(AsyncRemoteGraph.merge)
    revert = blocking(AsyncRemoteGraph.revert)
    cherry_pick = blocking(AsyncRemoteGraph.cherry_pick)
    status = blocking(AsyncRemoteGraph.status)
    stored_queries = blocking(AsyncRemoteGraph.stored_queries)
    invoke_query = blocking(AsyncRemoteGraph.invoke_query)
    served_graphs = blocking(AsyncRemoteGraph.served_graphs)

    def __init__(self, connection: Connection) -> None:
        graph = AsyncRemoteGraph(connection)
        super().__init__(graph)
        self._connection = connection
        self.branches = RemoteBranches(graph.branches)
        self.tags = RemoteTags(graph.tags)
        self.commits = RemoteCommits(graph.commits)
        self.changes = RemoteChanges(graph.changes)
        self.operations = RemoteOperations(graph.operations)
        self.recoveries = RemoteRecoveries()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteGraph {self.uri}>"

    @property
    def uri(self) -> str:
        return self._connection.address.uri

    @property
    def id(self) -> str:
        """The graph's id; it does not change when the graph is moved."""
        return self.status().graph_id

    @property
    def actor(self) -> str | None:
        """The actor of the token, known from the first response on."""
        return self._connection.actor

    def at(self, target: Target) -> RemoteGraphAt:
        """The graph at a branch, a commit, a tag, ``BRANCH@TIME`` or ``BRANCH@vN``."""
        at = RemoteGraphAt(AsyncRemoteGraphAt(self._connection, target))
        at.snapshot()
        return at

    def with_timeout(self, seconds: float | None) -> RemoteGraph:
        """Return a graph on the same connection with another timeout."""
        connection = self._connection
        return RemoteGraph(Connection(connection.transport, connection.address, seconds))

    def ensure_indices(self, **_: object) -> NoReturn:
        raise not_served("building indexes")

    def refresh(self) -> NoReturn:
        raise not_served("recovery")

    def close(self) -> None:
        """Close the connection. Idempotent."""
        run(self._connection.transport.close())
