"""Measuring, and telling what was measured."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["Table", "median_of", "median_of_process", "put_object", "run_process"]

_ROUND_SECONDS = 0.01


def median_of(action: Callable[[], object], *, seconds: float = 0.5) -> float:
    """The median time of one call, over rounds that are long enough for the clock."""
    action()
    calls = _calls_per_round(action)
    rounds: list[float] = []
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(rounds) < 5:
            rounds.append(_time(action, calls) / calls)
    finally:
        if was_enabled:
            gc.enable()
    return statistics.median(rounds)


def median_of_process(command: Sequence[str], *, runs: int = 15) -> float:
    """The median time from starting a process to its end."""

    run_process(command)
    return statistics.median(run_process(command) for _ in range(runs))


def run_process(command: Sequence[str]) -> float:
    """How long a process takes, for a user who does not forbid Python to keep its bytecode."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return _time(
        lambda: subprocess.run(command, check=True, capture_output=True, env=environment), 1
    )


def _calls_per_round(action: Callable[[], object]) -> int:
    calls = 1
    while _time(action, calls) < _ROUND_SECONDS:
        calls *= 2
    return calls


def _time(action: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        action()
    return time.perf_counter() - start


@dataclass(slots=True)
class Table:
    """Times beside the first of them, which is the baseline."""

    title: str
    baseline: str
    rows: list[tuple[str, float, float | None]] = field(default_factory=list)

    def add(self, name: str, seconds: float, *, aim: float | None = None) -> None:
        """One line; ``aim`` is what we want the time to be under."""
        self.rows.append((name, seconds, aim))

    def __str__(self) -> str:
        unit = {name: seconds for name, seconds, _ in self.rows}[self.baseline]
        width = max(len(name) for name, _, _ in self.rows)
        lines = [f"{self.title}  (ratio: times {self.baseline})"]
        for name, seconds, aim in self.rows:
            wanted = f"   aim < {_duration(aim)}" if aim else ""
            lines.append(
                f"  {name:<{width}}  {_duration(seconds):>10}  {seconds / unit:>9.3g}x{wanted}"
            )
        return "\n".join(lines)


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def put_object(path: Path, body: bytes) -> None:
    """Put an object if it is absent, by bare calls: write it aside, then link it to its name."""
    aside = path.with_name(f".{path.name}")
    aside.write_bytes(body)
    path.hardlink_to(aside)
    aside.unlink()
