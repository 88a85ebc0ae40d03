"""Every number that bounds something, with its reason."""

from __future__ import annotations

import os

from omnigraph.frozen import frozen

__all__ = ["DAY_SECONDS", "DEFAULT_LIMITS", "FEED_COMMITS", "Limits"]

DAY_SECONDS = 86_400
# A poll of a feed that does not say how many commits it wants looks at so many.
FEED_COMMITS = 128
_MIB = 2**20


def _quarter_of_memory() -> int:
    """A quarter of the machine's memory; of 16 GiB where the system does not tell."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 16 * 1024 * _MIB
    return total // 4


@frozen
class Limits:
    """Tests shrink these; nobody else needs to."""

    # A lost compare-and-swap is retried this often before the attempt gives up.
    publish_retries: int = 5
    # How often an insert-only attempt may be prepared again on a moved head.
    reprepare_rounds: int = 8
    # The write lease saves wasted work; a writer that cannot get it goes on without it.
    lease_wait_seconds: float = 10.0
    # A lease whose holder shows no sign of life for this long is taken over.
    lease_term_seconds: float = 5.0
    # An intent whose heartbeat stood still for this long (on the observer's clock) is abandoned.
    intent_term_seconds: float = 60.0
    # How often the owner of a long-running intent writes its heartbeat.
    heartbeat_seconds: float = 15.0
    # Cleanup leaves unreferenced files alone for this long, so an attempt may last half of it.
    cleanup_grace_seconds: float = 3_600.0
    # The file of an unfinished write is left alone for this long after it was last written to.
    temporary_grace_seconds: float = float(DAY_SECONDS)
    # A manifest version stays this long after it was superseded ...
    manifest_grace_seconds: float = float(DAY_SECONDS)
    # ... so a swap that took less than this needs no listing to know that it is the head.
    swap_window_seconds: float = 60.0
    # A void operation is remembered in the manifest for this long; older attempts abort themselves.
    void_memory_seconds: float = 7.0 * DAY_SECONDS
    # A cached head is trusted to have no gap above it for this long, then it is listed again.
    head_relist_seconds: float = 3_600.0
    # Manifests, catalogs and tables that stay decoded in memory.
    manifest_cache: int = 256
    catalog_cache: int = 32
    # A mutation is held in memory until it is published; beyond this it belongs into a load.
    mutation_rows_max: int = 1_000_000
    mutation_bytes_max: int = _quarter_of_memory()
    # A load in process is held in memory as Arrow; beyond this it belongs to Spark, or in chunks.
    load_bytes_max: int = _quarter_of_memory()
    # One record of a load; no entity is that large, but a file without line ends is.
    load_record_bytes_max: int = 32 * _MIB
    # How much of a stream of records is parsed at once: large enough to be worth a thread.
    load_block_bytes: int = 4 * _MIB


DEFAULT_LIMITS = Limits()
