"""The limits of the server, each with its reason."""

from __future__ import annotations

import os

from omnigraph.frozen import frozen

__all__ = ["ServerLimits"]

_KIB = 2**10
_MIB = 2**20
_CORES = os.cpu_count() or 1


@frozen
class ServerLimits:
    """The limits of one process. Operators may raise them; the defaults suit two cores."""

    # A query and its parameters; larger input belongs in a load.
    body_bytes_max: int = _MIB
    # Records in a JSON body; larger loads are sent as lines.
    json_load_bytes_max: int = 32 * _MIB
    # A load in process is held in memory; larger ones belong to Spark, without a server.
    load_bytes_max: int = 256 * _MIB
    # A body is abandoned after a pause of this length.
    body_idle_seconds: float = 20.0
    # A small body that takes longer is a slow-request attack, or a lost connection.
    body_seconds_max: float = 30.0
    # The minimum rate of a long body.
    body_bytes_per_second_min: int = 16 * _KIB
    # A client that receives nothing from a stream for this long is disconnected.
    drain_seconds_max: float = 60.0
    # The minimum rate at which a client takes a response that waits in memory.
    drain_bytes_per_second_min: int = 16 * _KIB
    # Concurrent writes of one actor, and the bytes that they hold.
    actor_writes_max: int = 16
    actor_bytes_max: int = 4 * 2**30
    actor_retry_seconds: int = 60
    # Threads. More readers than cores slow each other down, but some of them wait for storage.
    read_threads: int = max(4, 2 * _CORES)
    write_threads: int = 8
    load_threads: int = 4
    stream_threads: int = 8
    # The queue of a pool; further calls are refused with Retry-After.
    queue_max: int = 1_024
    busy_retry_seconds: int = 1
    # Concurrent connections.
    connections_max: int = 2_048
    # Request line, headers, chunk sizes and trailers of one request, before authentication; every
    # connection may hold as much.
    header_bytes_max: int = 32 * _KIB
    headers_max: int = 100
    # Pipelined requests of one connection.
    pipelined_requests_max: int = 64
    # The timeout of an idle connection, and of incomplete headers.
    idle_connection_seconds: int = 30
    # How long a shutdown waits for connections, and then for running writes.
    shutdown_seconds: int = 30
    # How long it then waits for cancelled calls. The process exits in any case.
    shutdown_cancel_seconds: float = 10.0
    # The size of a chunk of a stream, and the number of chunks between the engine and the socket.
    chunk_bytes: int = 64 * _KIB
    chunks_ahead: int = 2
    # The duration of a read after which the server watches for a disconnect.
    watch_after_seconds: float = 0.05
    # No legitimate query string, header or name is longer.
    query_string_bytes_max: int = 16 * _KIB
