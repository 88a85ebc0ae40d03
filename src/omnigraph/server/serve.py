"""The server process: opens graphs, binds the address, and shuts down without losing a write."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import queue
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import TYPE_CHECKING

import uvicorn

from omnigraph.cluster.serving import read_applied
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.graph.open import open_policy
from omnigraph.policy.guard import ActorPolicy
from omnigraph.server.app import Server, choose_access
from omnigraph.server.connection import bounded_protocol
from omnigraph.server.listening import bind_sockets, listen, parse_bind
from omnigraph.server.logs import start_logs
from omnigraph.server.origins import Origins, is_loopback
from omnigraph.server.registry import GraphList, Quarantined, ServedGraph
from omnigraph.server.service import ServerAccess
from omnigraph.server.settings import ServerLimits
from omnigraph.server.sources import (
    GraphSource,
    cluster_sources,
    listed_sources,
    open_source,
    server_policy,
)
from omnigraph.server.tokens import read_tokens

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from omnigraph.cluster.serving import AppliedCluster
    from omnigraph.graph.open import PolicySource

__all__ = ["ServeRequest", "make_server", "parse_bind", "run_server", "serving"]

_log = logging.getLogger("omnigraph.server")

_OPENED_AT_ONCE = 4
_START_SECONDS_MAX = 60
_READ_ONLY = "preset:read-only"
# The exit code of a shutdown that abandoned calls.
_EXIT_UNFINISHED = 1


@frozen
class ServeRequest:
    """The graphs, addresses and access rules of a server.

    ``graphs`` are paths and URIs with optional ids: ``people=./people.omni``. ``queries`` is a
    directory of ``.gq`` files; for several graphs, one directory per id in it.
    """

    graphs: Sequence[str]
    bind: str = "127.0.0.1:8080"
    policy: str | None = None
    server_policy: str | None = None
    queries: str | None = None
    unauthenticated: bool = False
    # Further hosts and origins that an unauthenticated server answers; pages of these origins may
    # read responses of any server.
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    read_only: bool = False
    # Refuse to start unless all of them open.
    require_all_graphs: bool = False
    # A cluster directory or storage root, instead of graphs, policies and queries.
    cluster: str | None = None
    log_level: str = "info"
    limits: ServerLimits = field(default_factory=ServerLimits)


def make_server(request: ServeRequest, environment: Mapping[str, str]) -> Server:
    """Open everything that is served.

    A graph that does not open, or whose stored queries do not compile, is quarantined as long as
    another graph is served. Every other fault prevents the start.
    """
    tokens = read_tokens(environment)
    cluster = _read_cluster(request)
    access = choose_access(
        tokens=len(tokens) > 0,
        policy=request.policy is not None if cluster is None else cluster.has_policy,
        unauthenticated=request.unauthenticated,
    )
    sources = (
        listed_sources(request.graphs, request.queries, _policy_of(access, request))
        if cluster is None
        else cluster_sources(cluster, protected=access is not ServerAccess.OPEN)
    )

    def try_one(source: GraphSource) -> ServedGraph | Quarantined:
        try:
            return open_source(source, read_only=request.read_only)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others may be well
            return Quarantined(source.id, error)

    with ThreadPoolExecutor(_OPENED_AT_ONCE) as opening:
        found = list(opening.map(try_one, sources))
    served = [each for each in found if isinstance(each, ServedGraph)]
    broken = [each for each in found if isinstance(each, Quarantined)]
    if broken and (request.require_all_graphs or not served):
        raise broken[0].error
    for each in broken:
        _log.error("graph quarantined", extra={"graph": each.id}, exc_info=each.error)
    _require_distinct(served)
    lister = open_policy(request.server_policy if cluster is None else server_policy(cluster))
    guard = None if lister is None else ActorPolicy(lister)
    return Server(
        GraphList(served, guard, quarantined=broken),
        tokens=tokens,
        access=access,
        limits=_with_environment(request.limits, environment),
        origins=_origins(request, environment),
    )


def run_server(
    request: ServeRequest, environment: Mapping[str, str], announce: Callable[[str], None]
) -> None:
    """Serve until a signal requests the shutdown; running requests are completed."""
    start_logs(request.log_level)
    warn_of_exposure(request)
    sockets = bind_sockets(request.bind)
    server = make_server(request, environment)
    # Loaded modules live until the exit. Scanning them in every full collection would take as long
    # as a hundred requests and stall all threads.
    gc.collect()
    gc.freeze()
    serve_until_stopped(server, sockets, request.bind, announce)


def serve_until_stopped(
    server: Server, sockets: list[socket.socket], bind: str, announce: Callable[[str], None]
) -> None:
    """Serve, then end the process even if a thread does not return."""
    listen(sockets, bind, server.service.limits.connections_max)
    process = _Process(_config(server), announce)
    process.run(sockets)
    if process.force_exit or server.service.pools.busy:
        # The interpreter would wait for these threads. A write among them has published its commit,
        # or recovery rolls it back, as after a kill.
        logging.shutdown()
        os._exit(_EXIT_UNFINISHED)


@contextlib.contextmanager
def serving(server: Server, bind: str = "127.0.0.1:0") -> Iterator[str]:
    """Serve from a thread of this process for the duration of the context; yields the URL."""
    found: queue.SimpleQueue[str] = queue.SimpleQueue()
    sockets = bind_sockets(bind)
    process = _Process(_config(server), found.put)
    thread = threading.Thread(target=process.run, args=(sockets,), name="server", daemon=True)
    thread.start()
    try:
        yield "http://" + found.get(timeout=_START_SECONDS_MAX).partition("=")[2]
    finally:
        process.should_exit = True
        thread.join()


def _config(server: Server) -> uvicorn.Config:
    limits = server.service.limits
    return uvicorn.Config(
        server,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        http=bounded_protocol(limits),
        ws="none",
        lifespan="on",
        backlog=limits.connections_max,
        limit_concurrency=limits.connections_max,
        timeout_keep_alive=limits.idle_connection_seconds,
        timeout_graceful_shutdown=limits.shutdown_seconds,
    )


class _Process(uvicorn.Server):
    """Reports the address of the server, and shuts it down in an orderly way."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in self.servers:
            for bound in listening.sockets:
                host, port = bound.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                self._announce(f"OMNIGRAPH_LISTEN_ADDR={shown}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Shut down in an orderly way on the first signal, at once on a second one."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down on SIGINT and SIGTERM, and exit with 0: a requested stop is not a failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in signals}
        try:
            yield
        finally:
            # A forced exit ends the process, which a third signal must not do in its own way.
            for each, handler in before.items() if not self.force_exit else ():
                signal.signal(each, handler)


def _origins(request: ServeRequest, environment: Mapping[str, str]) -> Origins:
    def listed(variable: str) -> list[str]:
        return [each for each in environment.get(variable, "").split(",") if each.strip()]

    return Origins(
        parse_bind(request.bind)[0],
        [*request.allowed_hosts, *listed("OMNIGRAPH_ALLOWED_HOSTS")],
        [*request.allowed_origins, *listed("OMNIGRAPH_ALLOWED_ORIGINS")],
    )


def warn_of_exposure(request: ServeRequest) -> None:
    """Warn in the log and on stderr when every host on the network may read and write."""
    host, _ = parse_bind(request.bind)
    if not request.unauthenticated or is_loopback(host.lower()):
        return
    _log.warning("unauthenticated server on a network address", extra={"bind": request.bind})
    sys.stderr.write(
        f"WARNING: {request.bind} is reachable from the network without authentication:\n"
        "WARNING: every client that reaches this address can read and change every graph.\n"
        "WARNING: set OMNIGRAPH_SERVER_BEARER_TOKEN, or bind to 127.0.0.1.\n"
    )
    sys.stderr.flush()


def _policy_of(access: ServerAccess, request: ServeRequest) -> PolicySource:
    """Return the policy of a server; tokens without a policy permit reads only."""
    return _READ_ONLY if access is ServerAccess.DEFAULT_DENY else request.policy


def _read_cluster(request: ServeRequest) -> AppliedCluster | None:
    if request.cluster is None:
        return None
    if request.graphs or request.policy or request.queries or request.server_policy:
        raise InvalidInput(
            "serve.cluster_alone",
            "a cluster declares its graphs, policies and queries itself",
            remedy="pass --cluster without graphs, --policy, --server-policy and --queries",
        )
    return read_applied(request.cluster)


def _require_distinct(served: Sequence[ServedGraph]) -> None:
    """Refuse one graph under two ids, which would have two policies for the same data."""
    known: dict[str, str] = {}
    for each in served:
        other = known.setdefault(each.graph.uri, each.id)
        if other != each.id:
            raise InvalidInput(
                "serve.same_graph",
                f"{other!r} and {each.id!r} are the same graph: {{each.graph.uri}}",
            )


_VARIABLES = {
    "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "actor_writes_max",
    "OMNIGRAPH_PER_ACTOR_BYTES_MAX": "actor_bytes_max",
    "OMNIGRAPH_LOAD_BYTES_MAX": "load_bytes_max",
}


def _with_environment(limits: ServerLimits, environment: Mapping[str, str]) -> ServerLimits:
    given = {}
    for variable, name in _VARIABLES.items():
        text = environment.get(variable)
        if text is None:
            continue
        if not text.isdigit() or int(text[:18]) < 1:
            raise InvalidInput("serve.bad_limit", f"{variable} is not a positive number")
        given[name] = int(text)
    return replace(limits, **given)
