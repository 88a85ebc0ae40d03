"""An open graph, as the versioned core sees it: its ports, its identity and its caches."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.catalog.canonical import canonical_bytes, digest, from_json
from omnigraph.errors import NotFound, SchemaFailure, StorageFault, Unsupported
from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.runtime.limits import DEFAULT_LIMITS, Limits
from omnigraph.runtime.lru_cache import LruCache
from omnigraph.versioning import layout
from omnigraph.versioning.manifest_store import ManifestStore
from omnigraph.versioning.refs import RefStore
from omnigraph.versioning.stamp import Stamp, read_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.ports.objects import ObjectStore
    from omnigraph.ports.tables import TableStore
    from omnigraph.versioning.manifest import Manifest

__all__ = ["GraphRoot"]

# The caller is not to blame: a commit names a schema that does not exist.
_BRING_BACK = "the graph is damaged: bring the object back from a copy; it never changes"


def _leave_torn(_: StorageFault) -> bool:
    return False


@dataclass
class GraphRoot:
    """Everything that the verbs of ``versioning``, ``writer`` and ``recovery`` work on."""

    objects: ObjectStore
    tables: TableStore
    stamp: Stamp
    read_only: bool = False
    clock: Clock = SYSTEM_CLOCK
    limits: Limits = DEFAULT_LIMITS
    # Where leases and claims are kept: they need not survive a power cut, and are not synced.
    volatile: ObjectStore | None = None
    # How the storage is reached, for processes that help from elsewhere. Secrets: never printed.
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    refs: RefStore = field(init=False)
    store: ManifestStore = field(init=False)
    manifests: LruCache[tuple[str, int], Manifest] = field(init=False)
    catalogs: LruCache[str, Catalog] = field(init=False)
    # Tries to mend what a fault complains about; recovery knows how.
    heal: Callable[[StorageFault], bool] = field(default_factory=lambda: _leave_torn, init=False)
    # Reduces a schema to the part visible through this root; None: all of it.
    reduce: Callable[[Catalog], Catalog] | None = field(default=None, init=False)
    reduced: LruCache[str, Catalog] = field(init=False)

    def __post_init__(self) -> None:
        self.refs = RefStore(self.objects)
        self.store = ManifestStore(self.objects, self.locks)
        self.manifests = LruCache(self.limits.manifest_cache)
        self.catalogs = LruCache(self.limits.catalog_cache)
        self.reduced = LruCache(self.limits.catalog_cache)

    @property
    def locks(self) -> ObjectStore:
        """The objects that coordinate processes: leases and claims."""
        return self.volatile or self.objects

    @property
    def durable(self) -> bool:
        """Whether acknowledged commits must survive a power cut."""
        return self.stamp.settings.durability == "power"

    @property
    def is_remote(self) -> bool:
        """Whether the graph is in a bucket, where every write is durable at once."""
        return "://" in self.objects.uri

    def manifest(self, incarnation: str, version: int) -> Manifest:
        """One graph commit, read once."""
        return self.manifests.get_or_make(
            (incarnation, version), lambda: self.store.read(incarnation, version)
        )

    def catalog(self, key: str) -> Catalog:
        """The schema of a commit, by the digest of its content."""
        found = self.catalogs.get_or_make(key, lambda: self._read_catalog(key))
        reduce = self.reduce
        return found if reduce is None else self.reduced.get_or_make(key, lambda: reduce(found))

    def seen_through(self, reduce: Callable[[Catalog], Catalog]) -> GraphRoot:
        """The same graph to somebody who sees less of its schemas. For reading only: what is
        written must keep to all of the schema."""
        seen = copy(self)
        seen.reduce, seen.reduced = reduce, LruCache(self.limits.catalog_cache)
        return seen

    def put_catalog(self, catalog: Catalog) -> str:
        """Store a schema under its content; storing it twice is the same as once."""
        key = digest(catalog)
        self.objects.put_if_absent(layout.schema_object(key), canonical_bytes(catalog))
        self.catalogs.put(key, catalog)
        return key

    def require_writable(self) -> None:
        if self.read_only:
            raise Unsupported(
                "graph.read_only",
                f"{self.objects.uri} was opened read-only",
                remedy="open it without read_only to write",
            )

    def require_in_place(self) -> None:
        """The graph that was opened still stands where it was opened, or ``graph.moved``."""
        try:
            found = read_stamp(self.objects).graph_id
        except NotFound:
            found = None
        if found != self.stamp.graph_id:
            raise StorageFault(
                "graph.moved",
                f"the graph opened at {self.objects.uri} is no longer there",
                remedy="open it again where it is now; nothing was written",
                details={"expected": self.stamp.graph_id, "found": found},
            )

    def _read_catalog(self, key: str) -> Catalog:
        try:
            catalog = from_json(parse_json(self.objects.get(layout.schema_object(key))))
        except NotFound as error:
            raise StorageFault(
                "schema.missing", f"schema object {key} is gone", remedy=_BRING_BACK
            ) from error
        except (*MALFORMED, SchemaFailure) as error:
            raise StorageFault(
                "schema.malformed", f"schema object {key}: {error}", remedy=_BRING_BACK
            ) from error
        if digest(catalog) != key:
            raise StorageFault(
                "schema.digest_mismatch",
                f"schema object {key} does not hold what it should",
                remedy=_BRING_BACK,
            )
        return catalog
