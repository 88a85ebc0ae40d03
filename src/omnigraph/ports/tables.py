"""Versioned tables: a shelf of immutable versions each, advanced one version at a time.

The engine never asks for "the table": it opens a *pin*, that is a version **and** its fingerprint,
because a version number can be reused after cleanup or after a torn manifest. Paths are relative to
the graph's root, ``/``-separated.

Errors: ``NotFound("table.missing" | "table.version_missing")``,
``StorageFault("table.pin_mismatch")`` when the version exists with another fingerprint,
``Conflict("table.raced")`` when somebody came between two steps, ``StorageFault("table.torn")``
when the manifest of a version (``details`` name it) cannot be parsed,
``StorageFault("table.damaged")`` when a file that a version refers to is missing or does not hold
what was written, ``StorageFault("storage.root_missing")`` when the graph was moved away,
``StorageFault`` for the rest.

A blob column is ``large_binary`` with the mark of ``datatypes.arrow`` in its field metadata; values
are bytes, in and out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import pyarrow as pa

    from omnigraph.ports.indexes import IndexInfo, IndexSegment, NewSegment

__all__ = [
    "ROW_ADDRESS",
    "ROW_ID",
    "Filling",
    "Fragment",
    "Pin",
    "Staged",
    "StagedFile",
    "StagedSwap",
    "StoredBlob",
    "Table",
    "TableStore",
]

# The columns that ``scan`` adds on request.
ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"


@frozen
class Pin:
    """One version of one table, by identity."""

    path: str
    version: int
    fingerprint: str
    rows: int


def table_version(pin: Pin | None) -> int:
    """Return the version number that callers see; 0 for a table that is not in the commit."""
    return 0 if pin is None else pin.version


@frozen
class Fragment:
    """Rows that were written together, at the place that they have in a scan.

    The same key means the same rows in the same order, in every version that has it; only deletions
    thin them out: ``rows`` are left of the ``written`` ones.
    """

    key: str
    rows: int
    written: int


@frozen
class RowSet:
    """Some rows of one version of a table, without reading them.

    ``whole`` are the upper halves of addresses: all rows that were written together and are still
    there. ``addresses`` are single rows, ascending.
    """

    count: int
    whole: tuple[int, ...]
    addresses: np.ndarray


@frozen
class StagedFile:
    """A file that a staged change refers to; it must exist with this size when it is committed."""

    path: str
    size: int


@frozen
class Staged:
    """A change that is written but referenced by nothing.

    ``operation`` is the adapter's own JSON: it crosses processes (Spark executors stage, the driver
    commits) and is kept in the intent. ``base_version`` is the version that it was staged on.
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
class StagedSwap:
    """The rows of a manifest, written but not published: what only the adapter understands."""

    schema: pa.Schema
    fragments: tuple[Any, ...]
    handle: Any


@frozen
class Filling:
    """Values for some columns of the rows that exist: ``compute`` gets the columns ``reads`` of a
    few rows at a time and returns ``columns``, in this order and with their new types."""

    columns: tuple[str, ...]
    reads: tuple[str, ...]
    compute: Callable[[pa.RecordBatch], pa.RecordBatch]


class StoredBlob(Protocol):
    """One blob where it is stored; nothing of it is read before it is asked for."""

    @property
    def size(self) -> int: ...

    @property
    def tag(self) -> str:
        """Other bytes have another tag. The same bytes keep it until they are written anew."""
        ...

    def read(self, start: int, length: int) -> bytes:
        """So many bytes from a place on; they must be there."""
        ...


class Table(Protocol):
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
        parts: Sequence[int] | None = None,
    ) -> pa.Table:
        """Rows, in storage order. ``filter`` is a SQL string or a pyarrow expression; None columns
        means all, blobs as bytes. ``parts`` are places in ``parts()``: only their rows are read."""
        ...

    def parts(self) -> tuple[Fragment, ...]:
        """What the table consists of, in the order of a scan."""
        ...

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002
        row_ids: bool = False,
        row_addresses: bool = False,
        parts: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows as a stream; the rest as in ``scan``."""
        ...

    def take(self, positions: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Rows by their place in a scan without filter, in the order asked for; no blobs."""
        ...

    def blob(self, column: str, address: int) -> StoredBlob | None:
        """The blob of one row, by the address of the row; None if it has none."""
        ...

    def read(
        self, rows: RowSet, columns: Sequence[str], *, row_ids: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a set as a stream, in no particular order, each with its address."""
        ...

    def count(self, filter: Any = None) -> int:  # noqa: A002
        """How many rows match."""
        ...

    def find(self, filter: Any) -> np.ndarray:  # noqa: A002
        """The positions of the rows that match, ascending: their places in a scan without filter.
        Reads no more than the filter needs."""
        ...

    def may_hold(self, column: str, values: pa.Array) -> pa.Array:
        """The values that a row may have in a column of texts, in their order: of those that are
        left out, no row has any. Answered from memory, so all of them may be returned."""
        ...

    # --- indexes ---

    def indexes(self) -> tuple[IndexInfo, ...]:
        """What indexes there are, by name."""
        ...

    def index_notes(self, segment: IndexSegment) -> bytes | None:
        """What was noted with a segment; None when it has no notes."""
        ...

    def search_words(self, column: str, words: Sequence[str], *, every: bool = False) -> np.ndarray:
        """Positions of the rows that have one of the words, or every one, in what the index of
        kind ``WORDS`` covers; ascending. It has its own idea of words: check what it finds."""
        ...

    def search_vector(
        self, column: str, query: np.ndarray, count: int, *, probes: int
    ) -> np.ndarray:
        """Positions of about the nearest rows by cosine distance, nearest first.

        The index of kind ``VECTOR`` is asked in so many of its cells; what it does not cover is
        scanned. Zeros and what is not finite are left out.
        """
        ...

    def stage_indexes(self, segments: Sequence[NewSegment]) -> Staged | None:
        """Build segments aside. None when there are none."""
        ...

    def stage_append(self, rows: pa.Table) -> Staged:
        """Write new rows; ``rows`` has exactly the table's columns."""
        ...

    def stage_overwrite(self, rows: pa.Table) -> Staged:
        """Write rows that replace all others. The schema of ``rows`` becomes the table's."""
        ...

    def stage_change(
        self,
        *,
        delete: np.ndarray | None = None,
        replace: tuple[np.ndarray, np.ndarray | None, pa.Table] | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        """Delete rows by address, replace rows (addresses, row ids, new rows) and insert new ones,
        as one change. Row ids that are given are kept, which costs a look at all rows of the table;
        without them replaced rows count as new ones. None when all of it is empty."""
        ...

    def stage_part(
        self,
        *,
        hide: np.ndarray | None = None,
        replace: tuple[np.ndarray, pa.Table] | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        """One of many parts of a change, each staged by a process of its own: addresses of rows
        that go, rows that take the place of such (with the row ids of those), and new rows. All
        addresses with the same upper half belong into one part. None when all of it is empty."""
        ...

    def combine(self, parts: Iterable[Staged]) -> Staged | None:
        """One change out of parts, or out of overwrites. What hides rows must have been staged at
        this pin; other parts may come from earlier ones. None when there are none."""
        ...

    def stage_reshape(self, schema: pa.Schema, filling: Filling | None = None) -> Staged | None:
        """Give the table another schema. Rows keep their identity, and columns that stay keep their
        files and indexes: a column stays when name, type and property are the same.

        Of the others, ``filling`` says the values; NULL where it does not. Columns that are not in
        ``schema`` go. None when nothing would change.
        """
        ...


class OutsideTable(Protocol):
    """A table that belongs to no graph, read as the input of a load."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The rows of each part that can be read by itself."""
        ...

    def batches(self, parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as a stream; ``parts`` are places in ``sizes``."""
        ...


class TableStore(Protocol):
    """All tables of one graph."""

    def create(self, path: str, schema: pa.Schema, *, operation_id: str) -> Pin:
        """A new, empty table with stable row ids; ``AlreadyExists("table.exists")`` otherwise."""
        ...

    def open(self, pin: Pin) -> Table:
        """The table at a pin. Handles and one session are shared; the fingerprint is checked."""
        ...

    def open_outside(self, path: str) -> OutsideTable:
        """Data in the format of the store that is no table of the graph;
        ``InvalidInput("load.corrupt")`` where there is none."""
        ...

    def unshared(self, before: Pin, after: Pin) -> tuple[RowSet, RowSet]:
        """The rows of each version that the other one does not hold in the same place: all that may
        differ between the two. Told by files, whatever lies between the versions; reads no row."""
        ...

    def latest(self, path: str) -> Pin:
        """The newest version, whoever made it. Only recovery, the writer and tests ask."""
        ...

    def foresee(self, pin: Pin, staged: Staged) -> Pin | None:
        """The pin that ``advance`` will reach if nobody comes between; None when somebody has.

        Its identity is new, and is given to one version at most: what is prepared for it holds
        exactly if it is reached.
        """
        ...

    def advance(
        self, pin: Pin, staged: Staged, *, operation_id: str, hoped: Pin | None = None
    ) -> Pin:
        """Commit a staged change on top of ``pin``, as the pin ``hoped`` for if that can be; a
        foreseen pin may be hoped for once.

        When the newest version is not ``pin``, the pin is restored first. Checks that every staged
        file exists with its size and that its fields belong to the base's schema
        (``Conflict("table.staged_missing" | "table.schema_moved")``), and after each step that
        nobody came between (``Conflict("table.raced")``). The version carries ``operation_id``.

        Appends may be committed on a later pin than they were staged on. Deletions and replacements
        may not: ``Conflict("table.staged_elsewhere")``. A lost reply is resolved here; after a
        ``StorageFault`` the version may exist, and nothing refers to it.
        """
        ...

    def append(self, path: str, rows: pa.Table, *, operation_id: str) -> None:
        """Append to a log: a table outside the pins, whose newest version is the only one that
        counts. Whoever appends at the same time, all rows are kept."""
        ...

    def operation_of(self, path: str, version: int) -> str | None:
        """The operation id that a version carries, if any."""
        ...

    def files(self, path: str, version: int) -> list[str]:
        """The keys of everything that a version consists of, its manifest last: whoever has copied
        them in this order has copied the version."""
        ...

    def sync(self, pins: Iterable[Pin], staged: Iterable[Staged] = ()) -> None:
        """Make versions and staged files survive a power cut. Object stores do already.

        The files of ``staged`` are synced first, then the versions. A pin whose table has no change
        in ``staged`` is synced with all its files. Only path and version of a pin count. ``create``
        and ``swap`` need no sync of their own.
        """
        ...

    # --- manifests: whole-table compare-and-swap ---

    def swap(
        self, path: str, expected: int, rows: pa.Table | StagedSwap, *, operation_id: str
    ) -> int:
        """Publish ``rows`` as version ``expected + 1``, or raise ``Conflict("table.raced")``.
        They may have been written by ``stage_swap`` with the same arguments.

        ``expected`` 0 creates the table. A lost reply is resolved where it can be; a
        ``StorageFault`` leaves the outcome open. Strict only while ``expected + 1`` was never
        removed: read the head right before, and look again after.
        """
        ...

    def stage_swap(self, path: str, expected: int, rows: pa.Table) -> StagedSwap:
        """The first half of ``swap``: the rows are written, and referenced by nothing."""
        ...

    def read_version(self, path: str, version: int) -> pa.Table:
        """All rows of one version, without a fingerprint check."""
        ...

    def latest_version(self, path: str) -> int:
        """The newest version number."""
        ...

    def has_version(self, path: str, version: int) -> bool:
        """Whether a version exists: one small probe, never a listing."""
        ...

    def unfinished(self, path: str, version: int) -> Sequence[str]:
        """The operation ids of commits that were begun on the newest version: in flight, failed, or
        published as a version that is missing now. One listing."""
        ...

    def quarantine_torn(
        self, path: str, version: int, *, before_removal: Callable[[str], None] | None = None
    ) -> str:
        """Move an unparsable newest version aside, after reading it twice; returns its new key.

        ``Conflict("table.not_torn")`` when it is not the newest or can be read. Its number will be
        given again unless ``occupy`` takes it; call it alone. The new key is
        told to ``before_removal`` when the copy stands and the version still does: what is recorded
        there is recorded once, however often the process dies.
        """
        ...

    def occupy(self, path: str, version: int, *, operation_id: str) -> None:
        """Commit a version without change under the number that ``quarantine_torn`` freed.

        ``Conflict("table.raced")`` when another commit took the number.
        """
        ...
