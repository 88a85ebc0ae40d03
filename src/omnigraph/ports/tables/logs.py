"""Logs: tables outside of all pins, whose versions are ordered and of which the newest counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from omnigraph.ports.tables.pins import Pin

__all__ = ["LogStore"]


class LogStore(Protocol):
    """Logs of one graph."""

    def append(self, path: str, rows: pa.Table, *, operation_id: str) -> None:
        """Append rows. Concurrent appends are all kept."""
        ...

    def latest(self, path: str) -> Pin:
        """Return the newest version."""
        ...

    def latest_version(self, path: str) -> int:
        """Return the number of the newest version."""
        ...

    def quarantine_torn(
        self, path: str, version: int, *, before_removal: Callable[[str], None] | None = None
    ) -> str:
        """Move an unparsable newest version aside, after reading it twice; returns its new key.

        ``Conflict("table.not_torn")`` when it is not the newest or can be read. Its number will be
        assigned again; call it alone. ``before_removal`` gets the new key while both the copy and
        the version exist: a record written there is written once, even when the process dies
        repeatedly.
        """
        ...
