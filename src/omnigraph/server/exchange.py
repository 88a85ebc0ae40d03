"""One request and its response: the interface of the handlers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.responses import Response

from omnigraph.runtime.cancellation import Cancellation, checked_by
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.server.headers import DEADLINE, IDEMPOTENCY_KEY, IF_COMMIT
from omnigraph.server.names import parse_branch, parse_commit
from omnigraph.server.problems import HttpProblem
from omnigraph.server.response_stream import ResponseStream, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from starlette.types import Receive, Scope

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.policy.actions import Action
    from omnigraph.runtime.budget import Budget
    from omnigraph.server.pools import Pool
    from omnigraph.server.registry import ServedGraph
    from omnigraph.server.service import Service
    from omnigraph.server.wire.queries import BudgetInput

__all__ = ["Exchange", "JsonResponse"]

N = TypeVar("N", int, float)
_DEADLINE_MS_MAX = 86_400_000


class JsonResponse(Response):
    """An encoded JSON body."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return bytes(content)


class Exchange:
    """A request with its actor and its graph."""

    __slots__ = (
        "actor",
        "body",
        "body_read",
        "cancellation",
        "deadline",
        "graph",
        "headers",
        "names",
        "operation_id",
        "query",
        "receive",
        "request_id",
        "scope",
        "served",
        "service",
        "size",
    )

    def __init__(self, service: Service, scope: Scope, receive: Receive) -> None:
        self.service = service
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, list[bytes]] = {}
        for key, value in scope["headers"]:
            self.headers.setdefault(key, []).append(value)
        self.request_id = ""
        self.operation_id = "none"
        self.names: dict[str, str] = {}
        self.actor: str | None = None
        # The decoded body and query string, as the operation declares them.
        self.body: Any = None
        self.query: Any = None
        self.body_read = False
        self.size = 0
        self.cancellation = Cancellation()
        # On the monotonic clock; None: no deadline.
        self.deadline: float | None = None
        self.served: ServedGraph
        self.graph: EmbeddedGraph

    # --- headers -------------------------------------------------------------------------------

    def header(self, name: str) -> str | None:
        """Return a header that may occur at most once."""
        found = self.headers.get(name.lower().encode("ascii"))
        if found is None:
            return None
        if len(found) > 1:
            raise HttpProblem(400, "request.repeated_header", f"the header {name} is repeated")
        try:
            return found[0].decode("ascii").strip()
        except UnicodeDecodeError:
            raise HttpProblem(
                400, "request.bad_header", f"the header {name} is not printable ASCII"
            ) from None

    @property
    def if_commit(self) -> str | None:
        """The commit that the branch must be at."""
        given = self.header(IF_COMMIT.name)
        return None if given is None else parse_commit(given)

    @property
    def idempotency_key(self) -> str | None:
        return self.header(IDEMPOTENCY_KEY.name)

    def note_deadline(self) -> None:
        """Start the deadline of the request, if it has one."""
        given = self.header(DEADLINE.name)
        if given is None:
            return
        if not given.isdigit() or not 1 <= int(given[:12]) <= _DEADLINE_MS_MAX:
            raise HttpProblem(
                400,
                "request.bad_deadline",
                f"{DEADLINE.name} must be a number of milliseconds from 1 to {_DEADLINE_MS_MAX}",
            )
        self.deadline = SYSTEM_CLOCK.monotonic() + int(given) / 1000

    # --- names ---------------------------------------------------------------------------------

    @staticmethod
    def branch(given: str | None) -> str:
        """Return the branch of the request: trimmed, validated, ``main`` by default."""
        return parse_branch(given)

    # --- the body ------------------------------------------------------------------------------

    @property
    def has_body(self) -> bool:
        """Whether the request has a body that may be unread."""
        return b"transfer-encoding" in self.headers or any(
            length.strip(b"0") for length in self.headers.get(b"content-length", ())
        )

    async def chunks(self, limit: int) -> AsyncIterator[bytes]:
        """Iterate over the chunks of the body.

        Raises 413 as soon as the body is too long, and 408 when its sender is too slow. Only
        waiting for the sender counts, not the time between two iterations.
        """
        limits = self.service.limits
        waited = 0.0
        while not self.body_read:
            earned = limits.body_seconds_max + self.size / limits.body_bytes_per_second_min
            started = SYSTEM_CLOCK.monotonic()
            async with _in_time(min(limits.body_idle_seconds, earned - waited)):
                chunk = await self._chunk(limit)
            waited += SYSTEM_CLOCK.monotonic() - started
            if chunk:
                yield chunk

    async def whole_body(self, limit: int) -> bytes:
        """Read a body that is decoded as a whole."""
        found: list[bytes] = []
        async with _in_time(self.service.limits.body_seconds_max):
            while not self.body_read:
                found.append(await self._chunk(limit))
        return found[0] if len(found) == 1 else b"".join(found)

    async def _chunk(self, limit: int) -> bytes:
        """Return the next chunk of the body, which may be empty."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            self.body_read = True
            raise HttpProblem(400, "request.disconnected", "the client disconnected")
        chunk: bytes = message.get("body", b"")
        self.size += len(chunk)
        if self.size > limit:
            raise _too_large(limit, self.size)
        self.body_read = not message.get("more_body", False)
        return chunk

    def require_length(self, limit: int) -> None:
        """Refuse a body by its declared length, before any of it is read."""
        given = self.header("Content-Length")
        if given is not None and given.isdigit() and int(given[:20]) > limit:
            raise _too_large(limit, int(given[:20]))

    def require_media_type(self, *wanted: str) -> None:
        """Raise 415 for a body of another media type."""
        given = (self.header("Content-Type") or "").split(";", 1)[0].strip().lower()
        if given not in wanted:
            raise HttpProblem(
                415,
                "request.media_type",
                f"the body is {given[:80] or 'untyped'!r}, not {wanted[0]}",
                remedy=f"send Content-Type: {wanted[0]}",
            )

    # --- execution -----------------------------------------------------------------------------

    def require(self, action: Action, **about: Any) -> None:
        """Check the authorisation early; the facade checks it again when the operation runs."""
        self.graph.guard.require(action, **about)

    @contextmanager
    def admitted(self, size: int | None = None) -> Iterator[None]:
        """Count the request among the concurrent writes of its actor."""
        with self.service.admission.admit(self.actor, self.size if size is None else size):
            yield

    def budget(self, asked: BudgetInput | None = None) -> Budget:
        """The budget of a query: the tighter of the graph's and the requested one, within the
        deadline.
        """
        budget = replace(self.graph.budget, cancellation=self.cancellation)
        if asked is not None:
            budget = replace(
                budget,
                rows=_tighter(budget.rows, asked.rows),
                seconds=_tighter(budget.seconds, asked.seconds),
                memory_bytes=_tighter(budget.memory_bytes, asked.memory_bytes),
            )
        if self.deadline is None:
            return budget
        left = max(self.deadline - SYSTEM_CLOCK.monotonic(), 0.001)
        return replace(budget, seconds=_tighter(budget.seconds, left))

    async def read(
        self, work: Callable[[EmbeddedGraph], Any], *, media_type: str = JsonResponse.media_type
    ) -> Response:
        """Respond with the result of a read, which is cancelled when the client disconnects."""
        future = self.service.pools.reads.start(lambda: self._checked(work))
        watch = _DisconnectWatch(self)
        try:
            return JsonResponse(await asyncio.shield(future), media_type=media_type)
        except asyncio.CancelledError:
            self.cancellation.cancel()
            raise
        finally:
            watch.end()

    async def write(self, work: Callable[[EmbeddedGraph], Any], *, status: int = 200) -> Response:
        """Respond with the result of a write, which completes even if the client disconnects."""
        return JsonResponse(await self._finished(self.service.pools.writes, work), status)

    async def load(self, work: Callable[[EmbeddedGraph], Any]) -> Response:
        """Respond like ``write``, in the pool of loads."""
        return JsonResponse(await self._finished(self.service.pools.loads, work))

    async def stream(
        self,
        work: Callable[[EmbeddedGraph, ResponseStream], None],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Stream the output of a read."""
        graph = self.graph
        return await stream(
            self.service.pools.streams,
            self.service.limits,
            lambda outflow: work(graph, outflow),
            media_type=media_type,
            headers=headers,
        )

    async def _finished(self, pool: Pool, work: Callable[[EmbeddedGraph], Any]) -> bytes:
        return await asyncio.shield(pool.start(lambda: self._encoded(work)))

    async def cancel_when_gone(self) -> None:
        """Cancel the work when the client disconnects. The body must have been read."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.cancellation.cancel()

    def _checked(self, work: Callable[[EmbeddedGraph], Any]) -> bytes:
        """Run a read that ends at its deadline or when the client disconnects, in every phase:
        parser, compiler, planner and executor.
        """
        with checked_by(self.budget().start().check):
            return self._encoded(work)

    def _encoded(self, work: Callable[[EmbeddedGraph], Any]) -> bytes:
        """Encode a result in a thread: a large one would block the event loop."""
        if self.deadline is not None and SYSTEM_CLOCK.monotonic() > self.deadline:
            raise HttpProblem(
                504,
                "request.deadline",
                "the deadline expired before a thread was free; nothing was done",
                remedy="retry, or extend the deadline",
            )
        found = work(self.graph)
        return found if isinstance(found, bytes) else msgspec.json.encode(found)


def _tighter(limit: N | None, other: N | None) -> N | None:
    """Return the tighter of two limits; None is no limit."""
    if limit is None or other is None:
        return other if limit is None else limit
    return min(limit, other)


class _DisconnectWatch:
    """Watches, once a read has run for a while, whether the client is still connected."""

    __slots__ = ("_exchange", "_looking", "_timer")

    def __init__(self, exchange: Exchange) -> None:
        after = exchange.service.limits.watch_after_seconds
        self._exchange = exchange
        self._looking: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(after, self._look)

    def _look(self) -> None:
        self._looking = asyncio.ensure_future(self._exchange.cancel_when_gone())

    def end(self) -> None:
        self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise HttpProblem(408, "request.slow_body", "timeout while receiving the body") from None


def _too_large(limit: int, actual: int) -> HttpProblem:
    return HttpProblem(
        413,
        "request.too_large",
        f"the body exceeds {limit:,} bytes",
        more={"resource_limit": {"name": "request_bytes", "limit": limit, "actual": actual}},
    )
