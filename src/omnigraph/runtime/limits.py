"""The limits of the engine, each with its reason."""

from __future__ import annotations

import os

from omnigraph.frozen import frozen

__all__ = ["DAY_SECONDS", "DEFAULT_LIMITS", "FEED_COMMITS", "Limits"]

DAY_SECONDS = 86_400
# The default number of commits that a poll of a feed examines.
FEED_COMMITS = 128
_MIB = 2**20


def _quarter_of_memory() -> int:
    """Return a quarter of the machine's memory; 4 GiB if its size is unknown."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 16 * 1024 * _MIB
    return total // 4


@frozen
class Limits:
    """The limits of one open graph; tests reduce them."""

    # Retries of a lost compare-and-swap before the transaction gives up.
    publish_retries: int = 5
    # Retries of an insert-only transaction on a moved head.
    reprepare_rounds: int = 8
    # The wait for the write lease, which saves redundant work; a writer proceeds without it.
    lease_wait_seconds: float = 10.0
    # A lease expires when its holder sends no heartbeat for this long.
    lease_term_seconds: float = 5.0
    # An intent is abandoned when its heartbeat stalls for this long on the observer's clock.
    intent_term_seconds: float = 60.0
    # The heartbeat interval of a long-running intent.
    heartbeat_seconds: float = 15.0
    # The minimum age of unreferenced files for cleanup; a transaction may last half of it.
    cleanup_grace_seconds: float = 3_600.0
    # The minimum age of the file of an unfinished write for cleanup, since its last change.
    temporary_grace_seconds: float = float(DAY_SECONDS)
    # A superseded manifest version is kept for this long ...
    manifest_grace_seconds: float = float(DAY_SECONDS)
    # ... so a swap that took less than this needs no listing to verify the head.
    swap_window_seconds: float = 60.0
    # The manifest keeps a void operation id for this long; older transactions abort themselves.
    void_memory_seconds: float = 7.0 * DAY_SECONDS
    # A cached head is assumed to have no gap above it for this long, then it is listed again.
    head_relist_seconds: float = 3_600.0
    # The number of decoded manifests, catalogs and tables in memory.
    manifest_cache: int = 256
    catalog_cache: int = 32
    # A mutation is held in memory until it is published; larger changes belong in a load.
    mutation_rows_max: int = 1_000_000
    mutation_bytes_max: int = _quarter_of_memory()
    # A load in process is held in memory as Arrow; larger ones belong to Spark, or in chunks.
    load_bytes_max: int = _quarter_of_memory()
    # The size of one record of a load; no entity is as large, but a file without line ends is.
    load_record_bytes_max: int = 32 * _MIB
    # The size of a chunk of a stream that is parsed at once: large enough to be worth a thread.
    load_block_bytes: int = 4 * _MIB


DEFAULT_LIMITS = Limits()
