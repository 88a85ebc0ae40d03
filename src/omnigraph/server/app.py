"""The ASGI application: authenticates a request, finds its operation and graph, and responds."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from omnigraph.errors import InvalidInput, LimitExceeded
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import new_ulid
from omnigraph.server.admission import Admission
from omnigraph.server.decoding import decode_body, decode_query
from omnigraph.server.exchange import Exchange, JsonResponse
from omnigraph.server.headers import ACTOR, IDEMPOTENCY_KEY, IF_COMMIT
from omnigraph.server.metrics import Metrics
from omnigraph.server.openapi import make_document
from omnigraph.server.origins import Origins
from omnigraph.server.pools import Pools
from omnigraph.server.problems import HttpProblem, problem_of
from omnigraph.server.routes import OPERATIONS
from omnigraph.server.routing import Router, split_path
from omnigraph.server.service import ServerAccess, Service
from omnigraph.server.settings import ServerLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from omnigraph.server.operations import ApiOperation
    from omnigraph.server.registry import Registry
    from omnigraph.server.tokens import Tokens

__all__ = ["Server", "choose_access"]

_log = logging.getLogger("omnigraph.server")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_PLAIN_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
_LINGER_SECONDS = 2.0
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, X-Request-Id, "
    "Omnigraph-If-Graph-Commit, Omnigraph-Deadline-Ms, Range, If-Match, If-None-Match, If-Range",
    "Access-Control-Max-Age": "600",
}


def choose_access(*, tokens: bool, policy: bool, unauthenticated: bool) -> ServerAccess:
    """Determine the access mode from the configuration; contradictory settings are refused."""
    if tokens and unauthenticated:
        raise InvalidInput(
            "serve.tokens_ignored",
            "--unauthenticated conflicts with the configured tokens",
            remedy="remove one of them",
        )
    if policy and not tokens:
        raise InvalidInput(
            "serve.policy_without_tokens",
            "a policy requires tokens, and none are configured",
            remedy="set OMNIGRAPH_SERVER_BEARER_TOKEN or …_TOKENS_FILE",
        )
    if tokens:
        return ServerAccess.POLICY if policy else ServerAccess.DEFAULT_DENY
    if unauthenticated:
        return ServerAccess.OPEN
    raise InvalidInput(
        "serve.no_tokens",
        "no tokens are configured",
        remedy="set OMNIGRAPH_SERVER_BEARER_TOKEN, or pass --unauthenticated to serve "
        "without authentication",
    )


class Server:
    """An ASGI application that serves the graphs of a registry."""

    def __init__(
        self,
        registry: Registry,
        *,
        tokens: Tokens,
        access: ServerAccess,
        limits: ServerLimits | None = None,
        origins: Origins | None = None,
        operations: Sequence[ApiOperation] = OPERATIONS,
    ) -> None:
        limits = limits or ServerLimits()
        pools = Pools(limits)
        document = make_document(operations, secured=access is not ServerAccess.OPEN)
        self.service = Service(
            registry,
            access,
            limits,
            pools,
            Admission(limits),
            Metrics(pools),
            msgspec.json.encode(document),
        )
        self._tokens = tokens
        self._origins = origins or Origins("127.0.0.1")
        self._router = Router(operations)
        # Unique without a system call per request, which would release the interpreter lock.
        self._mark = new_ulid()
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._handle(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def close(self) -> None:
        """Finish the running calls and close the graphs, within two deadlines.

        Writes get ``shutdown_seconds`` to complete. Then every operation is cancelled, which a
        write obeys until its commit is being published. A call that exceeds the second deadline is
        abandoned, with the graphs open under it.
        """
        self.service.stopping = True
        ended = threading.Event()
        # A thread of its own: the event loop waits for its executor without a limit.
        threading.Thread(target=self._close, args=(ended,), daemon=True).start()
        while not ended.is_set():
            await asyncio.sleep(0.02)

    def _close(self, ended: threading.Event) -> None:
        try:
            if self._finish_calls():
                self.service.registry.close()
        finally:
            ended.set()

    def _finish_calls(self) -> bool:
        pools, limits = self.service.pools, self.service.limits
        pools.refuse()
        if pools.wait(limits.shutdown_seconds):
            return True
        pools.cancel_queued()
        for served in self.service.registry.list():
            for operation in served.graph.engine.running.list():
                operation.cancel()
        if pools.wait(limits.shutdown_cancel_seconds):
            return True
        _log.error(
            "abandoning calls that exceed the shutdown deadline", extra={"calls": pools.busy}
        )
        return False

    # --- one request ---------------------------------------------------------------------------

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = SYSTEM_CLOCK.monotonic()
        exchange = Exchange(self.service, scope, receive)
        exchange.request_id = _request_id_of(exchange) or f"{self._mark}-{next(self._numbers):x}"
        status = 499
        self.service.metrics.begin()
        try:
            try:
                response = await self._respond(exchange)
            except Exception as error:  # noqa: BLE001 - the last place that can tell anybody
                response = self._problem_response(error, exchange)
            status = response.status_code
            response.raw_headers.append((b"x-request-id", exchange.request_id.encode()))
            if exchange.actor is not None:
                response.raw_headers.append((ACTOR, _escaped(exchange.actor)))
            response.raw_headers.extend(_PLAIN_HEADERS)
            for name, value in self._cors_of(exchange).items():
                response.raw_headers.append((name.lower().encode(), value.encode()))
            if exchange.body_read or not exchange.has_body:
                await response(scope, receive, send)
            else:
                await _respond_early(response, receive, send)
        finally:
            self._record_request(exchange, status, SYSTEM_CLOCK.monotonic() - started)

    async def _respond(self, exchange: Exchange) -> Response:
        scope = exchange.scope
        _require_host(exchange)
        # A browser never sends a bearer token on its own, so only an unauthenticated server checks.
        if self.service.access is ServerAccess.OPEN:
            self._origins.require_own(exchange)
        if scope["method"] == "OPTIONS" and (allowed := self._cors_of(exchange)):
            return Response(status_code=204, headers={**allowed, **_PREFLIGHT})
        if len(scope["query_string"]) > self.service.limits.query_string_bytes_max:
            raise HttpProblem(414, "request.long_query", "the query string is too long")
        found, exchange.names = self._router.find(scope["method"], _segments(scope))
        exchange.operation_id = found.id
        if not found.public:
            exchange.actor = self._authenticate(exchange)
        if found.is_of_graph:
            self._find_graph(exchange)
        exchange.note_deadline()
        _require_supported_headers(exchange, found)
        exchange.query = decode_query(found, scope["query_string"])
        if found.body is not None:
            exchange.body = await decode_body(found, exchange)
        elif found.takes is None:
            await _require_no_body(exchange)
        return await found.handler(exchange)

    def _authenticate(self, exchange: Exchange) -> str | None:
        """Return the actor of the token; no other part of the request can name one."""
        if self.service.access is ServerAccess.OPEN:
            return None
        given = exchange.headers.get(b"authorization", ())
        actor = self._tokens.actor_of(given[0]) if len(given) == 1 else None
        if actor is not None:
            return actor
        challenge = 'Bearer realm="omnigraph"'
        raise HttpProblem(
            401,
            "token.wrong" if given else "token.missing",
            "authentication failed: invalid bearer token"
            if given
            else "authentication required: no bearer token",
            remedy="send one Authorization: Bearer TOKEN",
            headers={
                "WWW-Authenticate": f'{challenge}, error="invalid_token"' if given else challenge
            },
        )

    def _cors_of(self, exchange: Exchange) -> dict[str, str]:
        """Return the headers that permit a page of a listed origin to read the response."""
        given = exchange.headers.get(b"origin", ())
        if len(given) != 1 or not self._origins.allows(given[0].decode("latin-1")):
            return {}
        return {
            "Access-Control-Allow-Origin": given[0].decode("latin-1"),
            "Access-Control-Expose-Headers": "*",
            "Vary": "Origin",
        }

    def _find_graph(self, exchange: Exchange) -> None:
        served = self.service.registry.get(exchange.names["graph_id"])
        if served is None:
            raise HttpProblem(404, "graph.missing", "the graph does not exist")
        exchange.served = served
        exchange.graph = served.acting_as(exchange.actor)

    # --- completion ----------------------------------------------------------------------------

    def _problem_response(self, error: Exception, exchange: Exchange) -> Response:
        problem = problem_of(error)
        # A passed deadline is the caller's, and the request line of the log has it.
        if problem.status >= 500 and not isinstance(error, HttpProblem | LimitExceeded):
            _log.error(
                "request failed",
                exc_info=error,
                extra={"request_id": exchange.request_id, "actor": exchange.actor},
            )
        body = msgspec.json.encode(problem.body(exchange.request_id), enc_hook=str)
        return JsonResponse(body, problem.status, problem.headers)

    def _record_request(self, exchange: Exchange, status: int, seconds: float) -> None:
        name = exchange.operation_id
        self.service.metrics.end(name, status, seconds)
        if not _log.isEnabledFor(logging.INFO):
            return
        _log.info(
            "request",
            extra={
                "request_id": exchange.request_id,
                "actor": exchange.actor,
                "graph": exchange.names.get("graph_id"),
                "operation": name,
                "method": exchange.scope["method"][:20],
                "status": status,
                "ms": round(seconds * 1000, 3),
                "bytes_in": exchange.size,
            },
        )


@lru_cache(4096)
def _escaped(actor: str) -> bytes:
    """Percent-encode a name, so that a header can carry any character."""
    return quote(actor, safe=" @").encode("ascii")


def _request_id_of(exchange: Exchange) -> str | None:
    """Return the request id of the caller, if it is safe in a log and a header."""
    given = exchange.headers.get(b"x-request-id", ())
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return None


def _segments(scope: Scope) -> list[str]:
    raw = scope.get("raw_path")
    return split_path(raw if raw is not None else scope["path"].encode())


def _require_host(exchange: Exchange) -> None:
    """HTTP/1.1 has one Host header (RFC 9112, 3.2); older versions have none or one."""
    given = exchange.header("Host")
    if given is None and exchange.scope["http_version"] == "1.1":
        raise HttpProblem(400, "request.host_missing", "the request has no Host header")


def _require_supported_headers(exchange: Exchange, found: ApiOperation) -> None:
    """Refuse a precondition that the operation does not support, instead of ignoring it."""
    for header, reason in ((IF_COMMIT, "if_commit"), (IDEMPOTENCY_KEY, "idempotency")):
        given = exchange.header(header.name)
        if given is not None and header not in found.headers:
            raise HttpProblem(
                400,
                f"request.{reason}_refused",
                f"this operation does not support the header {header.name}",
                remedy="see /openapi.json for the headers of each operation",
            )
        if given is None and header.required and header in found.headers:
            raise HttpProblem(400, f"request.{reason}_missing", f"{header.name} is needed")


async def _require_no_body(exchange: Exchange) -> None:
    if not exchange.has_body:
        return
    if await exchange.whole_body(exchange.service.limits.body_bytes_max):
        raise HttpProblem(400, "request.unexpected_body", "this operation does not accept a body")


async def _respond_early(response: Response, receive: Receive, send: Send) -> None:
    """Respond before the body has arrived.

    An immediate close would reset the connection and discard the response, so the client gets a
    moment to stop sending.
    """
    response.raw_headers.append((b"connection", b"close"))
    await send(
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": response.raw_headers,
        }
    )
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while (await _next(receive)).get("more_body", False):
                pass
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(receive: Receive) -> dict[str, Any]:
    message = await receive()
    return {} if message["type"] == "http.disconnect" else dict(message)
