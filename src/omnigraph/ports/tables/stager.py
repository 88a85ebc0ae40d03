"""Staging changes of a table: files that no version refers to yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    import pyarrow as pa

    from omnigraph.ports.indexes import NewSegment

__all__ = ["ColumnFill", "Staged", "StagedFile", "TableStager"]


@frozen
class StagedFile:
    """A file that a staged change refers to; it must exist with this size at commit."""

    path: str
    size: int


@frozen
class Staged:
    """A change that is written but not referenced by any version.

    ``operation`` is the adapter's own JSON. It crosses processes: Spark executors stage, the driver
    commits. ``base_version`` is the version that it was staged on.
    """

    path: str
    base_version: int
    operation: str
    files: tuple[StagedFile, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "base_version": self.base_version,
            "operation": self.operation,
            "files": [[file.path, file.size] for file in self.files],
        }

    @staticmethod
    def from_json(body: dict[str, Any]) -> Staged:
        files = tuple(StagedFile(path, size) for path, size in body["files"])
        return Staged(body["path"], body["base_version"], body["operation"], files)


@frozen
class ColumnFill:
    """Values for some columns of existing rows.

    ``compute`` gets the columns ``reads`` of a batch of rows and returns ``columns``, in this order
    and with their new types.
    """

    columns: tuple[str, ...]
    reads: tuple[str, ...]
    compute: Callable[[pa.RecordBatch], pa.RecordBatch]


class TableStager(Protocol):
    """Writes changes of a table aside, based on one version."""

    def stage_append(self, rows: pa.Table) -> Staged:
        """Write new rows; ``rows`` has exactly the columns of the table."""
        ...

    def stage_overwrite(self, rows: pa.Table) -> Staged:
        """Write rows that replace all others; their schema becomes that of the table."""
        ...

    def stage_change(
        self,
        *,
        delete: np.ndarray | None = None,
        replace: tuple[np.ndarray, pa.Table] | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        """Stage deletions, replacements and insertions as one change.

        ``delete`` holds addresses, ``replace`` addresses and the rows in their place, which count
        as new ones. Returns None for an empty change.
        """
        ...

    def stage_partition(
        self,
        *,
        delete: np.ndarray | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        """Stage one partition of a change that several processes stage.

        ``delete`` holds addresses. All addresses with the same upper half belong to one partition.
        Returns None for an empty one.
        """
        ...

    def combine(self, partitions: Iterable[Staged]) -> Staged | None:
        """Combine partitions, or overwrites, into one change; None for an empty sequence.

        Partitions that delete rows must be staged at this pin, others may come from earlier ones.
        """
        ...

    def stage_reshape(self, schema: pa.Schema, fill: ColumnFill | None = None) -> Staged | None:
        """Give the table another schema; None when nothing changes.

        Rows keep their identity. A column with the same name, type and property keeps its files and
        indexes. Other columns get their values from ``fill``, or NULL. Columns that are missing in
        ``schema`` are dropped.
        """
        ...

    def stage_indexes(self, segments: Sequence[NewSegment]) -> Staged | None:
        """Build index segments; None without segments."""
        ...
