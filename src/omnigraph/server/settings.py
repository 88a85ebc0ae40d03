"""Every number that bounds the server, with its reason."""

from __future__ import annotations

import os

from omnigraph.frozen import frozen

__all__ = ["ServerLimits"]

_KIB = 2**10
_MIB = 2**20
_CORES = os.cpu_count() or 1


@frozen
class ServerLimits:
    """What one process takes on. Operators may raise these; the defaults suit two cores."""

    # A query and its parameters; whatever is larger is data and belongs into a load.
    body_bytes_max: int = _MIB
    # Records that stand in a JSON body; longer ones are sent as lines.
    json_load_bytes_max: int = 32 * _MIB
    # A load in process is held in memory; beyond this Spark does it without a server.
    load_bytes_max: int = 256 * _MIB
    # A body whose sender pauses this long is given up.
    body_idle_seconds: float = 20.0
    # A small body that takes longer than this is not being sent, it is being held open.
    body_seconds_max: float = 30.0
    # A long body may take longer, as long as it comes faster than this.
    body_bytes_per_second_min: int = 16 * _KIB
    # A reader of a stream who takes nothing for so long has gone.
    drain_seconds_max: float = 60.0
    # Writes of one actor at the same time, and the bytes that they hold.
    actor_writes_max: int = 16
    actor_bytes_max: int = 4 * 2**30
    actor_retry_seconds: int = 60
    # Threads. More readers than cores only make each other slower, but some wait for storage.
    read_threads: int = max(4, 2 * _CORES)
    write_threads: int = 8
    load_threads: int = 4
    stream_threads: int = 8
    # So many calls may wait for a thread of a pool; the next one is told to come back.
    queue_max: int = 1_024
    busy_retry_seconds: int = 1
    # Connections at the same time.
    connections_max: int = 2_048
    # Request line and headers, chunk sizes and trailers of one request, before authentication;
    # every connection may hold as much.
    header_bytes_max: int = 32 * _KIB
    headers_max: int = 100
    # Requests of one connection that wait behind the one that is answered.
    pipelined_requests_max: int = 64
    # An open connection without a request, or with headers that have no end.
    idle_connection_seconds: int = 30
    # How long a stop waits for connections, and then for the writes that have begun.
    shutdown_seconds: int = 30
    # How long it waits for the calls that it has asked to end then. The process exits in any case.
    shutdown_cancel_seconds: float = 10.0
    # A chunk of a stream, and how many may lie between the graph and the socket.
    chunk_bytes: int = 64 * _KIB
    chunks_ahead: int = 2
    # How long a read may run before the server watches whether anybody still waits for it.
    watch_after_seconds: float = 0.05
    # No query string, header or name of ours is longer.
    query_string_bytes_max: int = 16 * _KIB
