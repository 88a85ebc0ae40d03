"""Counters and histograms in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.server.pools import Pools

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one server.

    Labels are ids of operations and statuses, never names of user data, whose number is unbounded
    and whose content is private.
    """

    def __init__(self, pools: Pools) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "omnigraph_requests",
            "Completed requests.",
            ("operation", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "omnigraph_request_seconds",
            "Duration of requests in seconds.",
            ("operation",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._in_flight = Gauge(
            "omnigraph_requests_in_flight", "Requests in progress.", registry=self._registry
        )
        self._registry.register(_PoolFigures(pools))
        # Looking up a label costs more than counting.
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def begin(self) -> None:
        self._in_flight.inc()

    def end(self, operation: str, status: int, seconds: float) -> None:
        self._in_flight.dec()
        found = self._known.get((operation, status))
        if found is None:
            found = self._known[operation, status] = (
                self._requests.labels(operation, str(status)),
                self._seconds.labels(operation),
            )
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _PoolFigures:
    """Reads the figures of the pools on demand."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def collect(self) -> Iterator[GaugeMetricFamily]:
        busy = GaugeMetricFamily(
            "omnigraph_pool_busy", "Running and queued calls of a pool.", labels=["pool"]
        )
        threads = GaugeMetricFamily("omnigraph_pool_threads", "Threads of a pool.", labels=["pool"])
        for pool in self._pools.all:
            busy.add_metric([pool.name], pool.busy)
            threads.add_metric([pool.name], pool.threads)
        yield busy
        yield threads
