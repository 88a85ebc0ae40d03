"""Concurrent writes of many processes, each on its own branch, to one table."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.runtime.limits import DEFAULT_LIMITS
from omnigraph.testing.kit import new_engine
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.versioning.branches import create_branch

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.testing.processes import StepOutcome

__all__ = ["Contention", "write_side_by_side"]


@frozen
class Contention:
    """The outcome of every write."""

    tries: tuple[StepOutcome, ...]

    @property
    def at_once(self) -> float:
        """The share of writes that needed one transaction and one table commit."""
        done = [outcome for outcome in self.tries if tuple(outcome.value[1:]) == (1, 1)]
        return len(done) / len(self.tries)

    @property
    def longest_seconds(self) -> float:
        return max(outcome.seconds for outcome in self.tries)

    @property
    def median_seconds(self) -> float:
        return statistics.median(outcome.seconds for outcome in self.tries)


def write_side_by_side(path: Path, *, processes: int = 8, writes: int = 20) -> Contention:
    """Run processes that each add people, one by one, to their own branch (``b0`` to ``b7``)."""
    engine = new_engine(path)
    names = [f"b{number}" for number in range(processes)]
    for name in names:
        create_branch(engine.root, engine.heads, name, engine.resolver.resolve("main"))
    with ProcessGroup() as crew:
        children = []
        for name in names:
            adds = [
                step("add_counted", ids={"Person": [f"{name}-{number}"]}, branch=name)
                for number in range(writes)
            ]
            steps = (step("open", counted=True), step("wait"), *adds)
            children.append(crew.start(Script(str(path), steps, limits=DEFAULT_LIMITS)))
        for child in children:
            child.go()
        outcomes = [outcome for child in children for outcome in child.join()]
    return Contention(tuple(done for done in outcomes if done.step.verb == "add_counted"))
