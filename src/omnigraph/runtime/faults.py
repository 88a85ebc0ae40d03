"""Fault points: named locations where a test can inject a failure.

A point that is not armed costs one lookup in an empty dictionary. Every boundary between two phases
of a transaction, of recovery and of the branch operations has one; a test walks ``POINTS`` and
fails when a point is never reached.

A child process reads ``OMNIGRAPH_FAULT="<point>=<kind>[@<n>]"``: at the n-th passage (default the
first) it raises an exception (``raise``), is killed (``kill``), is suspended (``stop``), or
receives a storage error (``storage``).
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NoReturn

from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["POINTS", "InjectedFault", "arm", "arm_from_environment", "clear", "reach"]

POINTS: tuple[str, ...] = (
    "attempt.announced",
    "attempt.captured",
    "attempt.prepared",
    "attempt.armed",
    "attempt.before_table_commit",
    "attempt.table_committed",
    "attempt.tables_committed",
    "publish.head_read",
    "publish.before_swap",
    "publish.swapped",
    "publish.checked",
    "attempt.published",
    "attempt.settled",
    "recovery.classified",
    "recovery.confirmed",
    "recovery.published",
    "recovery.fenced",
    "recovery.audited",
    "recovery.intent_removed",
    "recovery.torn_copied",
    "recovery.torn_set_aside",
    "branch.manifest_written",
    "branch.ref_written",
    "branch.tombstoned",
    "tag.written",
    "init.claimed",
    "init.tables_created",
    "init.manifest_written",
    "init.ref_written",
    "init.stamped",
    "migrate.worked",
    "migrate.stamped",
    "lineage.appended",
    "evolve.staged",
    "evolve.created",
    "clone.begun",
    "clone.tables_copied",
    "clone.manifests_copied",
    "clone.refs_copied",
    "clone.stamped",
    "delete.tombstoned",
    "cluster.locked",
    "cluster.before_graph_create",
    "cluster.graph_created",
    "cluster.before_schema_apply",
    "cluster.schema_applied",
    "cluster.payloads_written",
    "cluster.before_graph_delete",
    "cluster.graph_deleted",
    "cluster.before_state_write",
    "cluster.state_written",
    "cluster.approvals_consumed",
)


class InjectedFault(Exception):
    """The exception of the kind ``raise``; the product never catches it by name."""


_armed: dict[str, Callable[[], object]] = {}


def reach(point: str) -> None:
    """Pass a fault point."""
    action = _armed.get(point) if _armed else None
    if action is not None:
        action()


def arm(point: str, action: Callable[[], object] | str, *, passage: int = 1) -> None:
    """Inject a failure at the n-th passage of a point; for tests."""
    if point not in POINTS:
        raise KeyError(point)
    act = _ACTIONS[action] if isinstance(action, str) else action
    left = passage

    def countdown() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            act()

    _armed[point] = countdown


def clear() -> None:
    """Disarm everything."""
    _armed.clear()


def arm_from_environment() -> None:
    """Arm the point of ``OMNIGRAPH_FAULT``; a no-op without it."""
    for order in filter(None, os.environ.get("OMNIGRAPH_FAULT", "").split(",")):
        point, _, rest = order.partition("=")
        kind, _, passage = rest.partition("@")
        arm(point, kind, passage=int(passage or 1))


def _raise() -> NoReturn:
    raise InjectedFault


def _storage() -> NoReturn:
    raise StorageFault("storage.injected", "injected storage failure")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


_ACTIONS: dict[str, Callable[[], object]] = {
    "raise": _raise,
    "storage": _storage,
    "kill": _kill,
    "stop": _stop,
}
