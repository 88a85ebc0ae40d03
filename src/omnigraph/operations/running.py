"""What is running now: queries, exports and writes can be listed, and cancelled by their ids."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.errors import NotFound
from omnigraph.runtime.cancellation import Cancellation, cancellable
from omnigraph.runtime.clock import SYSTEM_CLOCK, format_micros

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Operation", "Running"]

_numbers = itertools.count(1)


class Operation:
    """One call while it runs: a context manager that is listed as long as it is entered."""

    __slots__ = ("_all", "actor", "cancellation", "id", "kind", "name", "started_micros", "target")

    def __init__(
        self,
        operations: dict[str, Operation],
        kind: str,
        name: str | None,
        target: str,
        actor: str | None,
    ) -> None:
        # Unique while they matter, and cheap: a query may take no longer than making an id.
        self.id = f"{os.getpid():x}-{next(_numbers):x}"
        self.kind = kind
        self.name = name or ""
        self.target = target
        self.actor = actor
        self.started_micros = SYSTEM_CLOCK.now_micros()
        self.cancellation = Cancellation()
        self._all = operations

    def __enter__(self) -> Operation:
        self._all[self.id] = self
        return self

    def __exit__(self, *_: object) -> None:
        self._all.pop(self.id, None)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "target": self.target,
            "actor_id": self.actor,
            "started_at": format_micros(self.started_micros),
        }


class Running:
    """The operations of one open graph. Thread-safe."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    def begin(
        self, kind: str, name: str | None, target: str, actor: str | None = None
    ) -> Operation:
        """An operation that is listed for as long as the ``with`` block lasts."""
        return Operation(self._operations, kind, name, target, actor)

    @contextmanager
    def during(
        self, kind: str, target: str, actor: str | None = None, *, name: str | None = None
    ) -> Iterator[None]:
        """The same, for what asks ``check_cancelled`` in its loops."""
        with (
            self.begin(kind, name, target, actor) as operation,
            cancellable(operation.cancellation),
        ):
            yield

    def list(self) -> Sequence[Operation]:
        """What is running, the oldest first."""
        found = self._operations.copy().values()
        return sorted(found, key=lambda operation: operation.started_micros)

    def cancel(self, operation_id: str) -> Operation:
        """Ask an operation to stop at its next step: a query fails with ``query.cancelled``, a
        write with ``operation.cancelled``, unless its commit is being published already."""
        operation = self._operations.get(operation_id)
        if operation is None:
            raise NotFound(
                "operation.missing",
                f"no operation {operation_id!r} is running",
                remedy="it may have ended; list the operations",
            )
        operation.cancellation.cancel()
        return operation
