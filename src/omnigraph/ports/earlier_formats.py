"""Reading what earlier formats kept as tables: manifests and the audit of recovery.

Only migrations and read-only opens of an old graph use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EarlierTables"]


class EarlierTables(Protocol):
    """Tables whose versions are whole states, each replacing the one before."""

    def versions(self, path: str) -> list[int]:
        """The version numbers of a table, ascending; empty if there is no table. One listing."""
        ...

    def has(self, path: str, version: int) -> bool:
        """Whether a version exists: one small probe."""
        ...

    def read(self, path: str, version: int) -> pa.Table:
        """All rows of a version; ``NotFound`` if it is missing, ``StorageFault`` for damage."""
        ...

    def close(self, path: str, version: int, rows: pa.Table) -> bool:
        """Put a last version after ``version``, durably; False when a writer has put another."""
        ...
