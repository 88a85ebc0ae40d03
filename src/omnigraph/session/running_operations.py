"""Lists the running queries, exports and writes, and cancels them by id."""

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

__all__ = ["RunningOperation", "RunningOperations"]

_numbers = itertools.count(1)


class RunningOperation(Cancellation):
    """One running call: a context manager that is listed while it is entered."""

    __slots__ = (
        "_all",
        "_number",
        "actor",
        "kind",
        "name",
        "started_micros",
        "target",
    )

    def __init__(
        self,
        operations: dict[int, RunningOperation],
        kind: str,
        name: str | None,
        target: str,
        actor: str | None,
    ) -> None:
        # Generating an id can take longer than a query, so a number stands in until the id is read.
        self._number = next(_numbers)
        self.kind = kind
        self.name = name or ""
        self.target = target
        self.actor = actor
        self.started_micros = SYSTEM_CLOCK.now_micros()
        self.cancelled = False
        self._all = operations

    @property
    def id(self) -> str:
        """Its id, unique among all processes."""
        return f"{os.getpid():x}-{self._number:x}"

    def __repr__(self) -> str:
        return f"<Operation {self.id}: {self.kind} {self.name or '(unnamed)'} on {self.target}>"

    def __enter__(self) -> RunningOperation:
        self._all[self._number] = self
        return self

    def __exit__(self, *_: object) -> None:
        self._all.pop(self._number, None)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "target": self.target,
            "actor_id": self.actor,
            "started_at": format_micros(self.started_micros),
        }


class RunningOperations:
    """The operations of one open graph. Thread-safe."""

    def __init__(self) -> None:
        self._operations: dict[int, RunningOperation] = {}

    def begin(
        self, kind: str, name: str | None, target: str, actor: str | None = None
    ) -> RunningOperation:
        """Return an operation that is listed for the duration of the context."""
        return RunningOperation(self._operations, kind, name, target, actor)

    @contextmanager
    def during(
        self, kind: str, target: str, actor: str | None = None, *, name: str | None = None
    ) -> Iterator[None]:
        """List and make cancellable a block whose loops call ``check_cancelled``."""
        with (
            self.begin(kind, name, target, actor) as operation,
            cancellable(operation),
        ):
            yield

    def list(self) -> Sequence[RunningOperation]:
        """List the running operations, oldest first."""
        found = self._operations.copy().values()
        return sorted(found, key=lambda operation: operation.started_micros)

    def cancel(self, operation_id: str) -> RunningOperation:
        """Cancel an operation at its next step.

        A query fails with ``query.cancelled``, a write with ``operation.cancelled`` unless its
        commit is being published.
        """
        operation = next((each for each in self.list() if each.id == operation_id), None)
        if operation is None:
            raise NotFound(
                "operation.missing",
                f"no operation {operation_id!r} is running",
                remedy="it may have ended; list the running operations",
            )
        operation.cancel()
        return operation
