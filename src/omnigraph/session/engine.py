"""The components of an open graph."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, Any

from omnigraph.api.names import MAIN
from omnigraph.compiler import CompileCache
from omnigraph.recovery.sweep import Recovery
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.lru_cache import LruCache
from omnigraph.session.prepared_queries import PreparedQueries
from omnigraph.session.running_operations import RunningOperations
from omnigraph.versioning.heads import Heads
from omnigraph.versioning.lineage import Lineage
from omnigraph.versioning.snapshot import Snapshot, open_snapshot
from omnigraph.versioning.targets import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from omnigraph.api.targets import Target
    from omnigraph.catalog.model import Catalog
    from omnigraph.changes.compare import Differences
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.versioning.root import GraphRoot
    from omnigraph.writer.run import WriteTransactions

__all__ = ["TRAVERSAL_VARIABLE", "Engine"]

TRAVERSAL_VARIABLE = "OMNIGRAPH_TRAVERSAL_MODE"


class Engine:
    """The wired components of one open graph. Thread-safe, as each component is."""

    def __init__(self, root: GraphRoot, *, embedder: Embedder | None = None) -> None:
        self.root = root
        self.embedder = embedder
        self.heads = Heads(root)
        self.lineage = Lineage(root, self.heads)
        self.resolver = Resolver(root, self.heads, self.lineage)
        self.recovery = Recovery(root, self.heads, self.lineage)
        # The visibility of the actor; writers validate against the whole graph.
        self._whole = root
        self._transactions: WriteTransactions | None = None
        self.compiled = CompileCache()
        self.prepared = PreparedQueries(self.compiled)
        self.running = RunningOperations()
        self._last_snapshot: Snapshot | None = None
        # ``csr`` or ``indexed`` for every query; by default the planner chooses.
        self.traversal = os.environ.get(TRAVERSAL_VARIABLE)
        # The default budget of queries.
        self.budget = Budget()
        # Differences between pins, cached for the following pages of a long result.
        self.compared: LruCache[Any, Differences] = LruCache(8)
        # Engines of the same graph with restricted views, by view.
        self._seen: LruCache[Hashable, Engine] = LruCache(128)

    @property
    def transactions(self) -> WriteTransactions:
        """Runs write transactions.

        Imported and created for the first write, so that readers do not wait.
        """
        if self._transactions is None:
            from omnigraph.writer.run import WriteTransactions  # noqa: PLC0415

            # Two threads may both create one; their shared state is keyed by location, not by
            # object.
            self._transactions = WriteTransactions(
                self._whole, self.heads, self.lineage, self.recovery
            )
        return self._transactions

    def seen_through(self, who: Hashable, reduce: Callable[[Catalog], Catalog]) -> Engine:
        """Return an engine with a restricted view; ``who`` is the cache key of the view."""
        return self._seen.get_or_make(who, lambda: self._reduced(reduce))

    def _reduced(self, reduce: Callable[[Catalog], Catalog]) -> Engine:
        seen = copy(self)
        seen.root = self.root.seen_through(reduce)
        # Separate caches: queries compiled with a wider view must not be found.
        seen.compiled = CompileCache()
        seen.prepared = PreparedQueries(seen.compiled)
        seen.compared = LruCache(8)
        seen._last_snapshot = None  # noqa: SLF001 - of the copy
        return seen

    def snapshot(self, target: Target = MAIN) -> Snapshot:
        """Return the snapshot of a target; a branch is read at its newest head."""
        manifest = self.resolver.resolve(target)
        last = self._last_snapshot
        if last is None or last.manifest is not manifest:
            last = self._last_snapshot = open_snapshot(self.root, manifest)
        return last
