"""The storage of a cluster: where its records and its graphs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cluster.catalogue import Catalogue
from omnigraph.cluster.ledger import STATE, LedgerStore
from omnigraph.cluster.lock import LOCKS, ClusterLock
from omnigraph.cluster.records import Approvals, Intents
from omnigraph.cluster.reporting import refuse
from omnigraph.errors import GraphError
from omnigraph.graph.open import open_store
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from omnigraph.cluster.ledger import Revision
    from omnigraph.ports.objects import ObjectStore

__all__ = ["ClusterRoot", "open_root"]


class ClusterRoot:
    """The records of a cluster, and the locations of its graphs."""

    def __init__(
        self, uri: str, objects: ObjectStore, storage_options: Mapping[str, str] | None
    ) -> None:
        self.uri = uri
        self.storage_options = storage_options
        self.ledger = LedgerStore(objects)
        self.lock = ClusterLock(objects)
        self.catalogue = Catalogue(objects)
        self.intents = Intents(objects)
        self.approvals = Approvals(objects)

    def graph_uri(self, graph: str) -> str:
        return f"{self.uri}/graphs/{graph}.omni"

    def graph_objects(self, graph: str) -> ObjectStore:
        return open_store(self.graph_uri(graph), self.storage_options, durable=True)

    def state_observations(
        self, revision: Revision | None, *, acquired: str | None = None
    ) -> dict[str, Any]:
        """Return the JSON form of ledger and lock."""
        body: dict[str, Any] = {
            "state_path": revision.key if revision else f"{STATE}/",
            "lock_path": LOCKS,
            "state_found": revision is not None,
            "applied_config_digest": revision.ledger.config_digest if revision else None,
            "state_revision": revision.number if revision else 0,
            "state_cas": revision.cas if revision else None,
            "resource_count": len(revision.ledger.entries) if revision else 0,
            "locked": False,
            "lock_acquired": acquired is not None,
            "acquired_lock_id": acquired,
        }
        lock = self.lock.current() if acquired is None else None
        return {**body, **lock.to_json(SYSTEM_CLOCK.now_micros())} if lock else body


def open_root(
    directory: Path, storage: str | None, storage_options: Mapping[str, str] | None = None
) -> ClusterRoot:
    """Open the root of a cluster; a relative path starts at its directory."""
    where = storage or "."
    location = where if "://" in where else str(directory / where)
    try:
        objects = open_store(location, storage_options, durable=True)
    except GraphError as error:
        refuse("storage_root_invalid", "storage", error.message, remedy=error.remedy)
    return ClusterRoot(objects.uri, objects, storage_options)
