"""The location of a graph, as every process of a job needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from omnigraph.graph.open import open_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.objects import ObjectStore
    from omnigraph.ports.tables import TableStore
    from omnigraph.versioning.root import GraphRoot

__all__ = ["GraphLocation"]


@dataclass(frozen=True)
class GraphLocation:
    """An address and the options that open it.

    It travels to executors inside functions, never as an option of a plan, and its ``repr`` hides
    the storage options, which may contain secrets."""

    uri: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    # The policy that authorises access through the data source, and the actor.
    policy: str | None = None
    actor: str | None = None

    @staticmethod
    def of(root: GraphRoot) -> GraphLocation:
        return GraphLocation(root.objects.uri, root.storage_options)

    @property
    def objects(self) -> ObjectStore:
        return self._ports[0]

    @property
    def tables(self) -> TableStore:
        return self._ports[1]

    @property
    def _ports(self) -> tuple[ObjectStore, TableStore]:
        options = self.storage_options
        return _open(self.uri, None if options is None else tuple(sorted(options.items())))


@cache
def _open(uri: str, options: tuple[tuple[str, str], ...] | None) -> tuple[ObjectStore, TableStore]:
    """Open the ports once per process: Spark reuses Python workers, and with them open tables."""
    return open_ports(uri, None if options is None else dict(options))
