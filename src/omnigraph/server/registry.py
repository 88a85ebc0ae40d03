"""Which graphs are served, behind an interface: a list today, a cluster tomorrow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from omnigraph.api.names import GRAPH_ID_RULE, is_graph_id
from omnigraph.errors import GraphError, InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.policy.guard import ActorPolicy
    from omnigraph.server.stored import StoredQueries

__all__ = ["GraphList", "Quarantined", "Registry", "ServedGraph", "parse_graph_id"]


@dataclass(slots=True)
class ServedGraph:
    """An open graph under its id, with its stored queries."""

    id: str
    graph: EmbeddedGraph
    queries: StoredQueries
    _acting: dict[str, EmbeddedGraph] = field(default_factory=dict)

    def acting_as(self, actor: str | None) -> EmbeddedGraph:
        """Return the graph for an actor, cached: there are as many as tokens."""
        if actor is None:
            return self.graph
        found = self._acting.get(actor)
        if found is None:
            found = self._acting[actor] = self.graph.acting_as(actor)
        return found


@frozen
class Quarantined:
    """A configured graph that cannot be served; requests treat it as missing."""

    id: str
    error: Exception

    @property
    def reason(self) -> str:
        """The stable code of the fault; the log has the text."""
        return self.error.code if isinstance(self.error, GraphError) else "internal"


class Registry(Protocol):
    """The graphs of a server. Queried per request, since its content may change."""

    def get(self, graph_id: str) -> ServedGraph | None:
        """Return the graph of an id; None if it is not served."""
        ...

    def list(self) -> Sequence[ServedGraph]:
        """List all graphs, by id."""
        ...

    @property
    def quarantined(self) -> Sequence[Quarantined]:
        """List the graphs that cannot be served, by id."""
        ...

    @property
    def guard(self) -> ActorPolicy | None:
        """The policy of the listing; None: no actor may list the graphs."""
        ...

    def close(self) -> None:
        """Close the graphs."""
        ...


class GraphList:
    """A fixed list of graphs, given when the server starts."""

    def __init__(
        self,
        graphs: Iterable[ServedGraph],
        guard: ActorPolicy | None = None,
        *,
        quarantined: Iterable[Quarantined] = (),
    ) -> None:
        self._graphs = {served.id: served for served in sorted(graphs, key=lambda each: each.id)}
        self._guard = guard
        self.quarantined = tuple(sorted(quarantined, key=lambda each: each.id))

    def get(self, graph_id: str) -> ServedGraph | None:
        return self._graphs.get(graph_id)

    def list(self) -> Sequence[ServedGraph]:
        return tuple(self._graphs.values())

    @property
    def guard(self) -> ActorPolicy | None:
        return self._guard

    def close(self) -> None:
        for served in self._graphs.values():
            served.graph.close()


def parse_graph_id(text: str) -> str:
    """Parse an id that is safe in a path, or raise ``graph.bad_id``."""
    if not is_graph_id(text):
        raise InvalidInput(
            "graph.bad_id",
            f"{text[:80]!r} is not a valid graph id",
            remedy=f"name it: ID=PATH; {GRAPH_ID_RULE}",
        )
    return text
