"""One request on its way through the server, and what a handler may ask of it."""

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
    """A body that is encoded already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return bytes(content)


class Exchange:
    """A request, who sent it, and the graph that it is about."""

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
        # What the body and the query string said, as the operation declares them.
        self.body: Any = None
        self.query: Any = None
        self.body_read = False
        self.size = 0
        self.cancellation = Cancellation()
        # On the clock that never goes back; None: whoever asks will wait.
        self.deadline: float | None = None
        self.served: ServedGraph
        self.graph: EmbeddedGraph

    # --- headers -------------------------------------------------------------------------------

    def header(self, name: str) -> str | None:
        """A header that may be given once at most."""
        found = self.headers.get(name.lower().encode("ascii"))
        if found is None:
            return None
        if len(found) > 1:
            raise HttpProblem(400, "request.repeated_header", f"the header {name} is given twice")
        try:
            return found[0].decode("ascii").strip()
        except UnicodeDecodeError:
            raise HttpProblem(
                400, "request.bad_header", f"the header {name} is not plain text"
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
        """Begin to count, if the caller says how long it waits."""
        given = self.header(DEADLINE.name)
        if given is None:
            return
        if not given.isdigit() or not 1 <= int(given[:12]) <= _DEADLINE_MS_MAX:
            raise HttpProblem(
                400,
                "request.bad_deadline",
                f"{DEADLINE.name} is a number of milliseconds, 1 to {_DEADLINE_MS_MAX}",
            )
        self.deadline = SYSTEM_CLOCK.monotonic() + int(given) / 1000

    # --- names ---------------------------------------------------------------------------------

    @staticmethod
    def branch(given: str | None) -> str:
        """A branch as it is asked about and worked on: trimmed, checked, ``main`` if none."""
        return parse_branch(given)

    # --- the body ------------------------------------------------------------------------------

    @property
    def has_body(self) -> bool:
        """Whether the request comes with a body that nobody may have read yet."""
        return b"transfer-encoding" in self.headers or any(
            length.strip(b"0") for length in self.headers.get(b"content-length", ())
        )

    async def chunks(self, limit: int) -> AsyncIterator[bytes]:
        """The body, piece by piece; 413 as soon as it is too long, 408 when its sender sleeps or
        dawdles. Only waiting for the sender counts: whoever takes the pieces has its own time."""
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
        """A body that is decoded as a whole."""
        found: list[bytes] = []
        async with _in_time(self.service.limits.body_seconds_max):
            while not self.body_read:
                found.append(await self._chunk(limit))
        return found[0] if len(found) == 1 else b"".join(found)

    async def _chunk(self, limit: int) -> bytes:
        """The next piece of the body, maybe an empty one."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            self.body_read = True
            raise HttpProblem(400, "request.disconnected", "the sender went away")
        chunk: bytes = message.get("body", b"")
        self.size += len(chunk)
        if self.size > limit:
            raise _too_large(limit, self.size)
        self.body_read = not message.get("more_body", False)
        return chunk

    def require_length(self, limit: int) -> None:
        """Refuse a body by what is said of it, before any of it is read."""
        given = self.header("Content-Length")
        if given is not None and given.isdigit() and int(given[:20]) > limit:
            raise _too_large(limit, int(given[:20]))

    def require_media_type(self, *wanted: str) -> None:
        """415 for a body that is something else."""
        given = (self.header("Content-Type") or "").split(";", 1)[0].strip().lower()
        if given not in wanted:
            raise HttpProblem(
                415,
                "request.media_type",
                f"the body is {given[:80] or 'of no type'!r}, not {wanted[0]}",
                remedy=f"send Content-Type: {wanted[0]}",
            )

    # --- working -------------------------------------------------------------------------------

    def require(self, action: Action, **about: Any) -> None:
        """Ask policy now; the facade asks again when the verb runs."""
        self.graph.guard.require(action, **about)

    @contextmanager
    def admitted(self, size: int | None = None) -> Iterator[None]:
        """Among the writes of this actor that run at once."""
        with self.service.admission.admit(self.actor, self.size if size is None else size):
            yield

    def budget(self, asked: BudgetInput | None = None) -> Budget:
        """What a query of this request may cost: the graph's budget, and no more than is asked for,
        within the deadline."""
        budget = replace(self.graph.budget, cancellation=self.cancellation)
        if asked is not None:
            budget = replace(
                budget,
                rows=_least(budget.rows, asked.rows),
                seconds=_least(budget.seconds, asked.seconds),
                memory_bytes=_least(budget.memory_bytes, asked.memory_bytes),
            )
        if self.deadline is None:
            return budget
        left = max(self.deadline - SYSTEM_CLOCK.monotonic(), 0.001)
        return replace(budget, seconds=_least(budget.seconds, left))

    async def read(
        self, work: Callable[[EmbeddedGraph], Any], *, media_type: str = JsonResponse.media_type
    ) -> Response:
        """Answer with what a read gives; it stops when whoever asked has gone."""
        future = self.service.pools.reads.start(lambda: self._checked(work))
        watch = _Watch(self)
        try:
            return JsonResponse(await asyncio.shield(future), media_type=media_type)
        except asyncio.CancelledError:
            self.cancellation.cancel()
            raise
        finally:
            watch.end()

    async def write(self, work: Callable[[EmbeddedGraph], Any], *, status: int = 200) -> Response:
        """Answer with what a write gives. Once begun it is finished, whoever is there to hear."""
        return JsonResponse(await self._finished(self.service.pools.writes, work), status)

    async def load(self, work: Callable[[EmbeddedGraph], Any]) -> Response:
        """Like ``write``, among the loads."""
        return JsonResponse(await self._finished(self.service.pools.loads, work))

    async def stream(
        self,
        work: Callable[[EmbeddedGraph, ResponseStream], None],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Answer with what a read writes, however much it is."""
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
        """Stop the work when the other side is gone. The body must have been read."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.cancellation.cancel()

    def _checked(self, work: Callable[[EmbeddedGraph], Any]) -> bytes:
        """A read that ends at its deadline, or when nobody waits for it, wherever it has got to:
        in the parser, the compiler and the planner, too."""
        with checked_by(self.budget().start().check):
            return self._encoded(work)

    def _encoded(self, work: Callable[[EmbeddedGraph], Any]) -> bytes:
        """Runs in a thread: encoding a large answer would hold up everybody else."""
        if self.deadline is not None and SYSTEM_CLOCK.monotonic() > self.deadline:
            raise HttpProblem(
                504,
                "request.deadline",
                "the deadline passed before a thread was free; nothing was done",
                remedy="try again, or wait longer",
            )
        found = work(self.graph)
        return found if isinstance(found, bytes) else msgspec.json.encode(found)


def _least(limit: N | None, other: N | None) -> N | None:
    """The tighter one; None is no limit."""
    if limit is None or other is None:
        return other if limit is None else limit
    return min(limit, other)


class _Watch:
    """Looks, once a read has lasted for a while, whether anybody still waits for it."""

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
        raise HttpProblem(408, "request.slow_body", "the body did not arrive in time") from None


def _too_large(limit: int, actual: int) -> HttpProblem:
    return HttpProblem(
        413,
        "request.too_large",
        f"the body is larger than {limit:,} bytes",
        more={"resource_limit": {"name": "request_bytes", "limit": limit, "actual": actual}},
    )
