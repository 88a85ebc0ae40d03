"""The synchronous client drives coroutines that never suspend."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from omnigraph.client.blocking import iterate, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ENGINE = {
    *("adapters", "changes", "changeset", "compiler", "coordination", "evolution", "executor"),
    *("export", "graph", "history", "integrity", "lifecycle", "loading", "maintenance", "merging"),
    *("mutation", "planner", "policy", "recovery", "semantics", "session", "versioning", "writer"),
}


async def double(number: int) -> int:
    return 2 * number


async def evens(end: int) -> AsyncIterator[int]:
    for number in range(end):
        yield await double(number)


async def fails() -> int:
    raise ValueError("no")


def test_a_coroutine_runs_to_its_end_without_an_event_loop() -> None:
    assert run(double(21)) == 42
    assert list(iterate(evens(3))) == [0, 2, 4]
    with pytest.raises(ValueError, match="no"):
        run(fails())


def test_a_coroutine_that_suspends_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="suspended"):
        run(asyncio.sleep(0))


def test_the_client_loads_no_engine() -> None:
    script = "import sys, omnigraph.client.remote; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "omnigraph.client.remote_async" in loaded
    assert not ENGINE & {name.split(".")[1] for name in loaded if name.startswith("omnigraph.")}
    assert not {"lance", "obstore", "starlette", "msgspec"} & set(loaded)
