"""An open graph with everything that its verbs need."""

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
    from omnigraph.writer.attempt import WriteTransactions

__all__ = ["TRAVERSAL_VARIABLE", "Engine"]

TRAVERSAL_VARIABLE = "OMNIGRAPH_TRAVERSAL_MODE"


class Engine:
    """The wired parts of one open graph. Thread-safe, as each part is."""

    def __init__(self, root: GraphRoot, *, embedder: Embedder | None = None) -> None:
        self.root = root
        self.embedder = embedder
        self.heads = Heads(root)
        self.lineage = Lineage(root, self.heads)
        self.resolver = Resolver(root, self.heads, self.lineage)
        self.recovery = Recovery(root, self.heads, self.lineage)
        # Writers see all of the graph, whoever else sees less of it.
        self._whole = root
        self._attempts: WriteTransactions | None = None
        self.compiled = CompileCache()
        self.prepared = PreparedQueries(self.compiled)
        self.running = RunningOperations()
        self._last_snapshot: Snapshot | None = None
        # ``csr`` or ``indexed`` for every query; without it the cheaper one is chosen each time.
        self.traversal = os.environ.get(TRAVERSAL_VARIABLE)
        # What a query may cost when its call does not say.
        self.budget = Budget()
        # Differences between pins: the next page of a long answer need not find them again.
        self.compared: LruCache[Any, Differences] = LruCache(8)
        # The same graph to readers who see less of it, by who they are.
        self._seen: LruCache[Hashable, Engine] = LruCache(128)

    @property
    def attempts(self) -> WriteTransactions:
        """What writes. Made for the first writer: a reader does not wait for its import."""
        if self._attempts is None:
            from omnigraph.writer.attempt import WriteTransactions  # noqa: PLC0415

            # Two threads may both make one; what they share is kept by place, not by object.
            self._attempts = WriteTransactions(self._whole, self.heads, self.lineage, self.recovery)
        return self._attempts

    def seen_through(self, who: Hashable, reduce: Callable[[Catalog], Catalog]) -> Engine:
        """The engine to read through for somebody who sees less; ``who`` always sees the same."""
        return self._seen.get_or_make(who, lambda: self._reduced(reduce))

    def _reduced(self, reduce: Callable[[Catalog], Catalog]) -> Engine:
        seen = copy(self)
        seen.root = self.root.seen_through(reduce)
        # What was compiled against all of a schema must not be found by who sees part of it.
        seen.compiled = CompileCache()
        seen.prepared = PreparedQueries(seen.compiled)
        seen.compared = LruCache(8)
        seen._last_snapshot = None  # noqa: SLF001 - of the copy
        return seen

    def snapshot(self, target: Target = MAIN) -> Snapshot:
        """The snapshot of a target; a branch is read fresh, whoever committed last."""
        manifest = self.resolver.resolve(target)
        last = self._last_snapshot
        if last is None or last.manifest is not manifest:
            last = self._last_snapshot = open_snapshot(self.root, manifest)
        return last
