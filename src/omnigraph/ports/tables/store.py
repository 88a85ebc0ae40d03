"""The tables of a graph: opening pins and committing staged changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from omnigraph.ports.tables.logs import LogStore
from omnigraph.ports.tables.reader import TableReader
from omnigraph.ports.tables.stager import TableStager

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from omnigraph.ports.tables.pins import Pin, RowSet
    from omnigraph.ports.tables.reader import ExternalTable
    from omnigraph.ports.tables.stager import Staged

__all__ = ["Table", "TableStore"]


class Table(TableReader, TableStager, Protocol):
    """A table at one version: a reader, and a stager of changes based on it."""


class TableStore(LogStore, Protocol):
    """All tables of one graph."""

    def create(self, path: str, schema: pa.Schema, *, operation_id: str) -> Pin:
        """Create an empty table with stable row ids; ``AlreadyExists("table.exists")``."""
        ...

    def open(self, pin: Pin) -> Table:
        """Open a pin and check its fingerprint. Handles and one session are shared."""
        ...

    def open_external(self, path: str) -> ExternalTable:
        """Open data outside of the graph; ``InvalidInput("load.corrupt")`` where there is none."""
        ...

    def differing_rows(self, before: Pin, after: Pin) -> tuple[RowSet, RowSet]:
        """Return the rows of each version that the other one does not hold at the same place.

        These are all rows that may differ. Compares files, for any two versions; reads no row.
        """
        ...

    def commit(self, pin: Pin, staged: Staged, *, operation_id: str) -> Pin:
        """Commit a staged change on top of ``pin``; returns the new pin, which nothing refers to.

        Any number of versions may be committed on top of one pin. The version carries
        ``operation_id``; its number and its fingerprint are new. Checks that every staged file
        exists with its size and that its fields belong to the base's schema
        (``Conflict("table.staged_missing" | "table.schema_moved")``).

        Appends may be committed on a later pin than they were staged on. Deletions and replacements
        may not: ``Conflict("table.staged_elsewhere")``. After a ``StorageFault`` a version may
        exist, and nothing refers to it.
        """
        ...

    def find_committed(self, pin: Pin, operation_id: str) -> Pin | None:
        """Find a version that an operation committed on top of ``pin``; for recovery only.

        Lists the versions of the table.
        """
        ...

    def operation_of(self, path: str, version: int) -> str | None:
        """Return the operation id that a version carries, if any."""
        ...

    def files(self, path: str, version: int) -> list[str]:
        """Return the keys of all files of a version, its manifest last.

        Copying them in this order copies the version.
        """
        ...

    def sync(self, pins: Iterable[Pin], staged: Iterable[Staged] = ()) -> None:
        """Make versions and staged files survive a power cut. Object stores do already.

        The files of ``staged`` are synced first, then the versions. A pin whose table has no change
        in ``staged`` is synced with all its files. Only path and version of a pin count. ``create``
        needs no sync of its own.
        """
        ...
