"""Processes that write to a graph and can be killed, suspended and resumed.

The work of a process is data: a tuple of steps, each a verb with arguments. The same steps can run
in the process of the test, so that an injected exception and a SIGKILL run the same script::

    with ProcessGroup() as group:
        child = group.start(Script(uri, (step("open"), step("add", ids={"Person": ["ada"]}))))
        outcomes = child.join()

Children are forked from a server that has imported all modules and has opened no graph: a start
takes milliseconds, and no state of a graph is shared through a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.kit import FAST
from omnigraph.testing.kit_steps import ScriptStep, StepOutcome, play, step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection
    from types import TracebackType

    from omnigraph.runtime.limits import Limits

__all__ = ["Child", "ProcessGroup", "Script", "ScriptStep", "StepOutcome", "play", "step"]

# A child that has not ended after this long hangs.
PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.005


@frozen
class Script:
    """The steps of a child.

    ``fault`` has the syntax of ``OMNIGRAPH_FAULT``; it is armed by the step ``arm``, or before the
    first step if there is none.
    """

    uri: str
    steps: tuple[ScriptStep, ...]
    fault: str = ""
    limits: Limits = FAST
    storage_options: dict[str, str] = field(default_factory=dict)


class Child:
    """A running child."""

    def __init__(self, process: Any, replies: Connection, orders: Connection) -> None:
        self._process = process
        self._replies = replies
        self._orders = orders
        self.outcomes: list[StepOutcome] = []
        self._handle = _handle_of(process)

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def exit_code(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    @property
    def was_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL

    def next(self) -> StepOutcome | None:
        """Return the next outcome; None at the end."""
        if not self._replies.poll(PATIENCE_SECONDS):
            raise TimeoutError(f"child {self.pid} said nothing for {PATIENCE_SECONDS} s")
        try:
            outcome: StepOutcome = self._replies.recv()
        except EOFError:
            return None
        self.outcomes.append(outcome)
        return outcome

    def __iter__(self) -> Iterator[StepOutcome]:
        while (outcome := self.next()) is not None:
            yield outcome

    def join(self) -> list[StepOutcome]:
        """Wait for the end, and return all outcomes."""
        for _ in self:
            pass
        self._process.join(PATIENCE_SECONDS)
        return self.outcomes

    def go(self) -> None:
        """Release a child from its ``wait`` step."""
        self._orders.send("go")

    def await_stop(self) -> None:
        """Wait until the child has suspended itself at a fault point."""
        deadline = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
        while not self.is_stopped():
            if not self._process.is_alive() or SYSTEM_CLOCK.monotonic() > deadline:
                raise AssertionError(f"child {self.pid} did not stop: {self.join()}")
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def is_stopped(self) -> bool:
        return self.is_alive() and _state_of(self.pid) == "T"

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        self._send(signal.SIGSTOP)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def is_alive(self) -> bool:
        return bool(self._process.is_alive())

    def end(self) -> None:
        """Kill the child if it is alive, and wait for it."""
        self.kill()
        self._process.join(PATIENCE_SECONDS)
        self.close()

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the child; a no-op if it has ended."""
        with suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif not hasattr(os, "pidfd_open") and self.is_alive():
                os.kill(self.pid, number)


class ProcessGroup:
    """Starts children, and ends all of them on exit."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["omnigraph.testing.processes_preload"])
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for child in self._children:
            child.end()

    def start(self, script: Script) -> Child:
        replies, reply = self._context.Pipe(duplex=False)
        order, orders = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_live, args=(script, reply, order), daemon=True)
        process.start()
        # Only the child holds the write end now, so its death ends the stream.
        reply.close()
        order.close()
        child = Child(process, replies, orders)
        self._children.append(child)
        return child

    def run(self, script: Script) -> list[StepOutcome]:
        """Start a child and wait for its end."""
        return self.start(script).join()


def _handle_of(process: Any) -> int | None:
    """Return a handle on a living child.

    Process ids are reused soon, so a signal to a number could reach another process.
    """
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if process.is_alive():
        return handle
    os.close(handle)
    return None


def _live(script: Script, reply: Connection, order: Connection) -> None:
    try:
        play(script.uri, script.steps, _Setting(script, reply, order))
    except BaseException:  # a bug of a child must be reported
        traceback.print_exc(file=sys.stderr)
        raise
    finally:
        reply.close()


class _Setting:
    """Runs a script: sends outcomes through a pipe, and ``wait`` reads from one."""

    def __init__(self, script: Script, reply: Connection, order: Connection) -> None:
        self.fault = script.fault
        self.limits = script.limits
        self.storage_options: Mapping[str, str] = script.storage_options
        self._reply = reply
        self._order = order

    def report(self, outcome: StepOutcome) -> None:
        self._reply.send(outcome)

    def wait(self) -> None:
        self._order.recv()


def _state_of(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "?"
    return text.rpartition(")")[2].split()[0]
