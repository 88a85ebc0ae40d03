"""Reading one version of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import pyarrow as pa

    from omnigraph.ports.indexes import IndexInfo, IndexSegment
    from omnigraph.ports.tables.pins import Fragment, Pin, RowSet

__all__ = ["ExternalTable", "StoredBlob", "TableReader"]


class StoredBlob(Protocol):
    """One blob in storage; its bytes are read on demand."""

    @property
    def size(self) -> int: ...

    @property
    def tag(self) -> str:
        """An entity tag: other bytes have another tag. The same bytes keep it until rewritten."""
        ...

    def read(self, start: int, length: int) -> bytes:
        """Read a range of bytes, which must exist."""
        ...


class TableReader(Protocol):
    """A table at one version. Immutable, safe to share between threads."""

    @property
    def pin(self) -> Pin: ...

    @property
    def schema(self) -> pa.Schema: ...

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - the word that Arrow and Lance use
        limit: int | None = None,
        row_ids: bool = False,
        row_addresses: bool = False,
        fragments: Sequence[int] | None = None,
    ) -> pa.Table:
        """Return rows in storage order.

        ``filter`` is a SQL string or a pyarrow expression. ``columns`` None means all, blobs as
        bytes. ``fragments`` are positions in ``fragments()``; only their rows are read.
        """
        ...

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002
        row_ids: bool = False,
        row_addresses: bool = False,
        fragments: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Stream rows; parameters as in ``scan``."""
        ...

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the fragments of the table in the order of a scan."""
        ...

    def take(self, positions: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return rows by their position in an unfiltered scan, in the given order; no blobs."""
        ...

    def blob(self, column: str, address: int) -> StoredBlob | None:
        """Return the blob of the row at an address; None if it has none."""
        ...

    def read(
        self, rows: RowSet, columns: Sequence[str], *, row_ids: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a set, each with its address, in no particular order."""
        ...

    def count(self, filter: Any = None) -> int:  # noqa: A002
        """Return the number of rows that match."""
        ...

    def find(self, filter: Any) -> np.ndarray:  # noqa: A002
        """Return the positions of the rows that match in an unfiltered scan, ascending.

        Reads no more than the filter needs.
        """
        ...

    def might_contain(self, column: str, values: pa.Array) -> pa.Array:
        """Return the values that a text column might contain, in their order.

        No row has any of the others. The membership filter is in memory and may return all values.
        """
        ...

    def indexes(self) -> tuple[IndexInfo, ...]:
        """Return the indexes of the table, by name."""
        ...

    def index_notes(self, segment: IndexSegment) -> bytes | None:
        """Return the notes that were stored with a segment; None when it has none."""
        ...

    def search_words(self, column: str, words: Sequence[str], *, every: bool = False) -> np.ndarray:
        """Return ascending positions of rows with one of the words, or every one.

        Only rows that the ``INVERTED`` index covers are found. It splits texts by its own rules, so
        callers verify the result.
        """
        ...

    def search_vector(
        self, column: str, query: np.ndarray, count: int, *, probes: int
    ) -> np.ndarray:
        """Return positions of approximately the nearest rows by cosine distance, nearest first.

        The ``IVF`` index searches ``probes`` of its cells; rows outside the index are scanned.
        Zero vectors and vectors that are not finite are left out.
        """
        ...


class ExternalTable(Protocol):
    """A table outside of the graph, read as the input of a load."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows of each fragment that can be read by itself."""
        ...

    def batches(self, fragments: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the rows; ``fragments`` are positions in ``sizes``."""
        ...
