"""Measurements of each operator of a run: rows, time, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.planner.plan import Node

__all__ = ["Measurement", "Profile", "Stopwatch"]


@dataclass(slots=True)
class Measurement:
    """One operator. ``seconds`` are its own, without those of the operators below it."""

    runs: int = 0
    rows: int = 0
    seconds: float = 0.0
    bytes: int = 0


class Profile:
    """Measurements by the identity of the operator in the plan."""

    def __init__(self) -> None:
        self._found: dict[int, Measurement] = {}
        # Seconds of the operators below the one that runs now.
        self._below = [0.0]

    def of(self, node: Node) -> Measurement | None:
        """The measurement of an operator; None if it never ran."""
        return self._found.get(id(node))

    def note(self, node: Node, rows: int, seconds: float, size: int) -> None:
        """Record a measurement that was made elsewhere."""
        self._found[id(node)] = Measurement(1, rows, seconds, size)

    def note_within(self, node: Node, rows: int, seconds: float, size: int) -> None:
        """Record an operator that ran inside the one above it; its time is not that one's own."""
        found = self._found.setdefault(id(node), Measurement())
        found.runs += 1
        found.rows += rows
        found.seconds += seconds
        found.bytes += size
        self._below[-1] += seconds

    def measured(self, node: Node, act: Callable[[], Bindings]) -> Bindings:
        """Run an operator and note what it did."""
        self._below.append(0.0)
        started = SYSTEM_CLOCK.monotonic()
        rows = act()
        whole = SYSTEM_CLOCK.monotonic() - started
        own = whole - self._below.pop()
        self._below[-1] += whole
        found = self._found.setdefault(id(node), Measurement())
        found.runs += 1
        found.rows += rows.count
        found.seconds += own
        found.bytes += rows.nbytes
        return rows


class Stopwatch:
    """Measures the making of pieces, apart from their use."""

    __slots__ = ("bytes", "rows", "seconds")

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        self.seconds = 0.0

    def timed(self, pieces: Iterator[Bindings]) -> Iterator[Bindings]:
        while True:
            started = SYSTEM_CLOCK.monotonic()
            piece = next(pieces, None)
            self.seconds += SYSTEM_CLOCK.monotonic() - started
            if piece is None:
                return
            self.rows += piece.count
            self.bytes += piece.nbytes
            yield piece
