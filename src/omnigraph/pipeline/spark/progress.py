"""Progress of a job: its stages, their durations and row counts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Stage", "Stages"]

_TICK_SECONDS = 0.5


@frozen
class Stage:
    """A stage that is running (``done`` is false) or finished."""

    name: str
    rows: int
    seconds: float
    done: bool
    # The finished share of it, from 0 to 1, as far as known.
    share: float = 0.0

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        return {"stage": self.name, "rows": self.rows, "seconds": round(self.seconds, 3)}


class Stages:
    """Records the stages of a job and reports them to a watcher.

    ``share`` returns the finished share of the current stage, from 0 to 1. A separate thread calls
    it every ``tick``, because the main thread waits for Spark.
    """

    def __init__(
        self,
        watch: Callable[[Stage], None] | None = None,
        share: Callable[[], float] | None = None,
        *,
        tick: float | None = None,
    ) -> None:
        self._watch = watch
        self._share = share
        self._tick = _TICK_SECONDS if tick is None else tick
        self.finished: list[Stage] = []

    @contextmanager
    def running(self, name: str, rows: int = 0) -> Iterator[_Running]:
        """Run one stage; a stage that fails is not recorded."""
        running = _Running(rows)
        started = SYSTEM_CLOCK.monotonic()
        self._report(Stage(name, 0, 0.0, done=False))
        with self._ticking(name, rows, started):
            yield running
        seconds = SYSTEM_CLOCK.monotonic() - started
        stage = Stage(name, running.rows, seconds, done=True, share=1.0)
        self.finished.append(stage)
        self._report(stage)

    @contextmanager
    def _ticking(self, name: str, rows: int, started: float) -> Iterator[None]:
        """Report the progress of the stage periodically until it ends."""
        if self._watch is None or self._share is None:
            yield
            return
        over = Event()
        ticker = Thread(target=self._tick_until, args=(over, name, rows, started), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()

    def _tick_until(self, over: Event, name: str, rows: int, started: float) -> None:
        while self._share is not None and not over.wait(self._tick):
            share = self._share()
            seconds = SYSTEM_CLOCK.monotonic() - started
            self._report(Stage(name, int(rows * share), seconds, done=False, share=share))

    def _report(self, stage: Stage) -> None:
        if self._watch is not None:
            self._watch(stage)


@dataclass(slots=True)
class _Running:
    rows: int
