"""Starts, kills and stops the workers and servers of a storm."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fault.storm.judgement import Record
from tests.fault.storm.model import MODEL_SCHEMA, Step, statement_text
from tests.fault.storm.worker import COMMON, KEYS, SIDE, Life, serve, work

from omnigraph.graph.open import init_graph
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.faults import POINTS
from omnigraph.runtime.limits import DEFAULT_LIMITS
from omnigraph.testing.kit import FAST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

__all__ = ["Storm"]

_HANG_SECONDS = 90.0
DEADLY = [
    point
    for point in POINTS
    if point.startswith(("attempt.", "publish.", "recovery.", "branch.", "tag.", "lineage."))
    and "torn" not in point
]


class _Child:
    """A worker from outside."""

    def __init__(self, life: Life, process: Any, pipe: Connection) -> None:
        self.life, self.process, self.pipe = life, process, pipe
        self.until = 0.0
        self.plan = "kill"
        self.stopped = self.closed = False
        self.open: dict[str, dict[str, Any]] = {}
        self.heard = SYSTEM_CLOCK.monotonic()

    def signal(self, number: signal.Signals) -> None:
        if self.process.is_alive():
            os.kill(self.process.pid, number)


class Storm:
    """A graph, its workers, and what they reported."""

    def __init__(
        self,
        uri: str,
        seed: int,
        *,
        workers: int = 4,
        fast: bool = False,
        durability: str = "process",
        threads: int = 1,
        servers: int = 0,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self.threads = threads
        self._servers: list[tuple[Any, str]] = []
        self._servers_wanted = servers
        self._addresses = ""
        self._server_dies = 0.0
        self.uri, self.seed, self.workers = uri, seed, workers
        self._chance = random.Random(seed)
        self.options: dict[str, Any] = {"limits": FAST if fast else DEFAULT_LIMITS}
        if storage_options:
            self.options["storage_options"] = dict(storage_options)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.fault.storm.worker"])
        self._durability = durability
        self._again: list[dict[str, Any]] = []
        self._lives = 0
        self.kills = self.stops = 0
        self.record = Record(uri, self.options)

    def begin(self) -> None:
        graph = init_graph(self.uri, MODEL_SCHEMA, durability=self._durability, **self.options)
        keys = [f"{branch}{number}" for branch in "md" for number in range(KEYS)]
        steps: list[Step] = [("put", key, 0) for key in (*COMMON, *keys)]
        steps += [
            ("link", key, f"{key[0]}{(number + 1) % KEYS}", 0) for number, key in enumerate(keys)
        ]
        body = "\n".join(map(statement_text, steps))
        message = json.dumps({"i": "first", "steps": steps})
        graph.mutate(f"query q() {{\n{body}\n}}", message=message)
        graph.branches.create(SIDE)
        graph.close()
        if self._servers_wanted:
            self._addresses = tempfile.mkstemp(prefix="storm-servers-")[1]
            self._tend_servers()

    def end(self) -> None:
        """Kill the servers."""
        for process, _ in self._servers:
            process.kill()
            process.join()
        if self._addresses:
            Path(self._addresses).unlink()

    def _tend_servers(self) -> None:
        """Keep so many servers alive, and kill one now and then."""
        now = SYSTEM_CLOCK.monotonic()
        if self._servers and now > self._server_dies:
            self._chance.choice(self._servers)[0].kill()
            self._server_dies = now + self._chance.expovariate(1 / 1.5)
        changed = False
        for entry in list(self._servers):
            entry[0].join(0)
            if not entry[0].is_alive():
                self._servers.remove(entry)
                self.kills += 1
        while len(self._servers) < self._servers_wanted:
            reply, send = self._context.Pipe(duplex=False)
            fault = ""
            if self._chance.random() < 0.5:
                fault = f"{self._chance.choice(DEADLY)}=kill@{self._chance.randrange(5, 60)}"
            process = self._context.Process(target=serve, args=(self.uri, fault, send), daemon=True)
            process.start()
            send.close()
            try:
                self._servers.append((process, reply.recv()))
            except EOFError:
                self.kills += 1
            changed = True
        if changed:
            text = json.dumps([url for _, url in self._servers])
            fresh = Path(f"{self._addresses}.new")
            fresh.write_text(text)
            fresh.replace(self._addresses)

    def blow(self, kills: int, seconds: float = 600.0) -> None:
        """Run workers until enough were killed, then let the living finish."""
        goal = self.kills + kills
        deadline = SYSTEM_CLOCK.monotonic() + seconds
        children: list[_Child] = []
        while self.kills < goal and SYSTEM_CLOCK.monotonic() < deadline:
            while len(children) < self.workers:
                children.append(self._start())
            self._tend(children)
        for child in children:
            if child.stopped:
                child.signal(signal.SIGCONT)
                child.stopped = False
            child.plan = "live"
        while children and SYSTEM_CLOCK.monotonic() < deadline + _HANG_SECONDS:
            self._tend(children)
        for child in children:
            self.record.findings.append(f"worker {child.life.name} did not end: {child.open}")
            child.signal(signal.SIGKILL)
            child.process.join()

    def _start(self) -> _Child:
        chance = self._chance
        self._lives += 1
        fault = ""
        if chance.random() < 0.5:
            fault = f"{chance.choice(DEADLY)}=kill@{chance.randrange(1, 12)}"
        life = Life(
            f"w{self._lives}", self.uri, chance.randrange(2**32), count=25, fault=fault,
            **self.options,
        )  # fmt: skip
        life.threads, life.servers = self.threads, self._addresses
        life.again, self._again = self._again[:3], self._again[3:]
        reply, send = self._context.Pipe(duplex=False)
        process = self._context.Process(target=work, args=(life, send), daemon=True)
        process.start()
        send.close()
        child = _Child(life, process, reply)
        child.plan = chance.choice(("kill", "kill", "kill", "live", "stop"))
        if life.servers:
            child.plan, life.fault = "live", ""
        child.until = SYSTEM_CLOCK.monotonic() + chance.expovariate(1 / 0.8)
        return child

    def _tend(self, children: list[_Child]) -> None:
        now = SYSTEM_CLOCK.monotonic()
        if self._servers_wanted:
            self._tend_servers()
        for child in list(children):
            self._listen(child)
            if child.closed:
                self._bury(child)
                children.remove(child)
            elif now > child.until:
                self._strike(child)
            if now - child.heard > _HANG_SECONDS and not child.stopped:
                self.record.findings.append(f"worker {child.life.name} hangs in {child.open}")
                child.signal(signal.SIGKILL)
                child.heard = now
        SYSTEM_CLOCK.sleep(0.01)

    def _strike(self, child: _Child) -> None:
        if child.plan == "kill":
            child.signal(signal.SIGKILL)
        elif child.plan == "stop":
            if child.stopped:
                child.signal(signal.SIGCONT)
                child.heard = SYSTEM_CLOCK.monotonic()
            else:
                child.signal(signal.SIGSTOP)
                self.stops += 1
            child.stopped = not child.stopped
            if not child.stopped and self._chance.random() < 0.3:
                child.plan = "kill"
        child.until = SYSTEM_CLOCK.monotonic() + self._chance.expovariate(1 / 0.7)

    def _listen(self, child: _Child) -> None:
        while not child.closed and child.pipe.poll():
            try:
                ending, name, value = child.pipe.recv()
            except EOFError:
                child.closed = True
                return
            child.heard = SYSTEM_CLOCK.monotonic()
            self._note(child, ending, name, value)

    def _note(self, child: _Child, ending: str, name: str | None, value: Any) -> None:
        if ending == "start":
            child.open[str(name)] = value
        else:
            child.open.pop(str(name), None)
        self.record.note(ending, name, value)

    def _bury(self, child: _Child) -> None:
        child.process.join()
        if child.process.exitcode == -signal.SIGKILL:
            self.kills += 1
        elif child.process.exitcode != 0:
            self.record.findings.append(
                f"worker {child.life.name} ended with {child.process.exitcode}"
            )
        for name, operation in child.open.items():
            self.record.note("killed", name, None)
            if operation.get("key") and self._chance.random() < 0.7:
                self._again.append(operation)
        child.pipe.close()
