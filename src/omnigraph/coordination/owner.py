"""The identity of a process that owns an intent or a lease, and its liveness."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from typing import Any

from omnigraph.frozen import frozen
from omnigraph.runtime.ids import new_short_id

__all__ = ["Owner", "booted_at_micros", "current_owner"]

_PID_MAX = 2**31 - 1


@frozen
class Owner:
    """A process. A restarted machine or a reused process id makes another owner."""

    host: str
    pid: int
    started: str
    nonce: str

    def is_here(self) -> bool:
        """Return whether the process runs on this machine, which can observe it."""
        return self.host == _this_host()

    def shares_boot(self) -> bool:
        """Return whether the process ran on this machine since its last start.

        Everything that it wrote to a local disk is then as it left it. False where the system does
        not identify its starts.
        """
        boot = _boot_id()
        return boot is not None and self.host.partition("/")[0] == boot

    def is_this_process(self) -> bool:
        return self.is_here() and self.pid == os.getpid() and self.started == _start_of(self.pid)

    def is_gone(self) -> bool:
        """Return True only with certainty: processes of other machines cannot be observed."""
        if not self.is_here():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return _start_of(self.pid) != self.started

    def to_json(self) -> dict[str, Any]:
        return {"host": self.host, "pid": self.pid, "started": self.started, "nonce": self.nonce}

    @staticmethod
    def from_json(body: dict[str, Any]) -> Owner:
        """Raise ValueError for a body that no process wrote."""
        pid, names = body["pid"], (body["host"], body["started"], body["nonce"])
        if not isinstance(pid, int) or not 0 < pid <= _PID_MAX:
            raise ValueError(f"{pid!r} is no process id")
        if not all(isinstance(name, str) for name in names):
            raise ValueError(f"{names!r} names no process")
        return Owner(names[0], pid, *names[1:])


def current_owner() -> Owner:
    """Return this process as an owner."""
    pid = os.getpid()
    return Owner(_this_host(), pid, _own_start(pid), new_short_id())


@cache
def _own_start(pid: int) -> str:
    """Cache the start of this process; every write needs it twice."""
    return _start_of(pid)


# A child may get the process id of an ancestor that has ended.
os.register_at_fork(after_in_child=_own_start.cache_clear)


@cache
def booted_at_micros() -> int | None:
    """Return when this machine was started; None where the system does not report it."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    seconds = next((line.split()[1] for line in lines if line.startswith("btime ")), None)
    return None if seconds is None else int(seconds) * 1_000_000


@cache
def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


@cache
def _this_host() -> str:
    """Return the boot id of the machine and the process namespace; containers share the former."""
    try:
        return f"{_boot_id() or socket.gethostname()}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _start_of(pid: int) -> str:
    """Return the start of a process in kernel ticks; empty where it is not available."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The command name, in parentheses, may hold anything; the rest is plain. Field 22 of the line.
    fields = text.rpartition(")")[2].split()
    # A zombie holds a process id but will never write again.
    return "zombie" if fields[0] == "Z" else fields[19]
