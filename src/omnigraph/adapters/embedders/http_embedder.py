"""An embedder over HTTP: batches, bounded concurrency, one deadline, retries with backoff."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from omnigraph.adapters.embedders.retries import Backoff, parse_retry_after
from omnigraph.adapters.embedders.settings import find_key
from omnigraph.adapters.embedders.vectors import invalid_response, require_vectors
from omnigraph.errors import GraphError, InvalidInput, StorageFault
from omnigraph.frozen import frozen
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.adapters.embedders.settings import ProviderSettings
    from omnigraph.ports.embeddings import EmbeddingTask

__all__ = ["HttpEmbedder", "WireFormat"]

_CONNECT_SECONDS = 10.0
# Characters of one request; providers bound the tokens of a batch.
_BATCH_CHARS_MAX = 200_000
# A vector of the largest models takes 60 kB as text.
_ANSWER_BYTES_MAX = 256 * 2**20
_NAP_SECONDS = 0.1
_SERVER_ERRORS = 500


class WireFormat(Protocol):
    """Requests and responses of one kind of provider."""

    batch_max: int

    def path(self, model: str) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, texts: Sequence[str], model: str, dim: int, task: EmbeddingTask) -> Any: ...

    def vectors(self, answer: Any) -> Any: ...


@frozen
class _Retryable:
    """A failure after which another attempt may succeed."""

    error: GraphError
    retry_after: float | None = None


class HttpEmbedder:
    """Sends texts to a provider. Thread-safe; all threads share the limit of concurrency."""

    def __init__(self, settings: ProviderSettings, wire: WireFormat) -> None:
        self._settings = settings
        self._wire = wire
        self._name = str(settings.provider)
        self._backoff = Backoff(settings.retry_attempts, settings.retry_backoff_ms / 1_000)
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        # A redirect could send texts and key anywhere, so none is followed.
        self._http = httpx.Client(
            headers={**wire.headers(find_key(settings)), "Accept": "application/json"},
            follow_redirects=False,
            limits=httpx.Limits(max_connections=settings.concurrency),
        )

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._http.close()

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        settings = self._settings
        chosen = model or settings.default_model
        deadline = SYSTEM_CLOCK.monotonic() + settings.deadline_ms / 1_000

        def send(batch: Sequence[str]) -> list[list[float]]:
            return self._batch(batch, chosen, dim, task, deadline)

        batches = list(self._batches(texts))
        if len(batches) == 1 or settings.concurrency == 1:
            return [vector for batch in batches for vector in send(batch)]
        return self._in_threads(send, batches)

    def _in_threads(self, send: Any, batches: list[list[str]]) -> list[list[float]]:
        pool = ThreadPoolExecutor(min(self._settings.concurrency, len(batches)), "omnigraph-embed")
        try:
            # Threads of a pool have no context of their own; cancellation is part of it.
            sent = [pool.submit(copy_context().run, send, batch) for batch in batches]
            return [vector for each in sent for vector in each.result()]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        size_max = min(self._settings.batch_texts, self._wire.batch_max)
        batch: list[str] = []
        chars = 0
        for text in texts:
            if batch and (len(batch) >= size_max or chars + len(text) > _BATCH_CHARS_MAX):
                yield batch
                batch, chars = [], 0
            batch.append(text)
            chars += len(text)
        if batch:
            yield batch

    def _batch(
        self, texts: Sequence[str], model: str, dim: int, task: EmbeddingTask, deadline: float
    ) -> list[list[float]]:
        body = self._wire.body(texts, model, dim, task)
        url = self._settings.base_url + self._wire.path(model)
        attempt = 0
        while True:
            with self._slots:
                outcome = self._send_once(url, body, deadline)
            if not isinstance(outcome, _Retryable):
                vectors = self._wire.vectors(outcome)
                return require_vectors(f"{self._name} ({model})", vectors, len(texts), dim)
            left = deadline - SYSTEM_CLOCK.monotonic()
            pause = self._backoff.pause(attempt, outcome.retry_after, left)
            if pause is None:
                raise outcome.error
            attempt += 1
            _sleep(pause)

    def _send_once(self, url: str, body: Any, deadline: float) -> Any:
        """Send a request once; return its JSON, or a failure that may pass."""
        check_cancelled()
        left = deadline - SYSTEM_CLOCK.monotonic()
        if left <= 0:
            raise self._timed_out()
        seconds = min(left, self._settings.timeout_ms / 1_000)
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        until = SYSTEM_CLOCK.monotonic() + seconds
        try:
            with self._http.stream("POST", url, json=body, timeout=timeout) as response:
                return self._judge(response, self._read(response, until))
        except httpx.TimeoutException:
            return _Retryable(self._timed_out())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _Retryable(
                StorageFault(
                    "embed.unreachable",
                    f"cannot reach the embedding provider {self._name}: {type(error).__name__}",
                    remedy="check the network and OMNIGRAPH_EMBED_BASE_URL",
                )
            )

    def _read(self, response: httpx.Response, until: float) -> bytes:
        """Read a response of bounded size; a slow trickle is a timeout as well."""
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > _ANSWER_BYTES_MAX:
                raise invalid_response(self._name, "it is too large")
            if SYSTEM_CLOCK.monotonic() > until:
                raise httpx.ReadTimeout("the response takes too long")
            chunks.append(chunk)
        return b"".join(chunks)

    def _judge(self, response: httpx.Response, content: bytes) -> Any:
        if response.is_success:
            try:
                return parse_json(content)
            except ValueError:
                kind = response.headers.get("content-type", "")[:40]
                raise invalid_response(self._name, f"it is not JSON ({kind!r})") from None
        if response.is_redirect:
            raise StorageFault(
                "embed.redirected",
                f"the embedding provider {self._name} redirects, and redirects are not followed",
                remedy="set OMNIGRAPH_EMBED_BASE_URL to the final address",
            )
        return self._refused(response.status_code, response.headers.get("retry-after"))

    def _refused(self, status: int, retry_after: str | None) -> _Retryable:
        """Return a refusal that may pass, or raise one that does not.

        The body of a refusal is never repeated: it may quote the key or the texts.
        """
        if status in (401, 403):
            raise StorageFault(
                "embed.unauthorized",
                f"the embedding provider {self._name} rejects the key (HTTP status {status})",
                remedy="check the key of the provider",
            )
        if status in (408, 425, 429):
            error = StorageFault(
                "embed.rate_limited",
                f"the embedding provider {self._name} is limiting requests (HTTP status {status})",
                remedy="wait, or lower OMNIGRAPH_EMBED_CONCURRENCY",
            )
            return _Retryable(error, parse_retry_after(retry_after))
        if status >= _SERVER_ERRORS:
            error = StorageFault(
                "embed.unavailable",
                f"the embedding provider {self._name} failed (HTTP status {status})",
                remedy="try again later",
            )
            return _Retryable(error, parse_retry_after(retry_after))
        raise InvalidInput(
            "embed.rejected",
            f"the embedding provider {self._name} rejects the request (HTTP status {status})",
            remedy="check the model, the dimension of the property and the length of the texts",
        )

    def _timed_out(self) -> StorageFault:
        return StorageFault(
            "embed.timeout",
            f"the embedding provider {self._name} did not answer in time",
            remedy="try again, or raise OMNIGRAPH_EMBED_TIMEOUT_MS and OMNIGRAPH_EMBED_DEADLINE_MS",
        )


def _sleep(seconds: float) -> None:
    """Wait, and notice a cancellation."""
    until = SYSTEM_CLOCK.monotonic() + seconds
    while (left := until - SYSTEM_CLOCK.monotonic()) > 0:
        check_cancelled()
        SYSTEM_CLOCK.sleep(min(left, _NAP_SECONDS))
