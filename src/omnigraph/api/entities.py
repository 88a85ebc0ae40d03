"""Requests and results of blobs and exports."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.api.names import MAIN
from omnigraph.catalog.model import (
    EntityKind,
)
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.files import open_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.ports.tables import StoredBlob

__all__ = [
    "Blob",
    "BlobRequest",
    "ExportRequest",
    "ExportResult",
    "open_output",
]


# The size of the chunks in which a blob is read into memory.
_CHUNK_BYTES = 2**20


@frozen
class BlobRequest:
    """A property of an entity at a target."""

    type: str
    id: str
    property: str
    target: str = MAIN
    # ``node`` or ``edge``, if the caller knows.
    kind: str | None = None


@frozen
class Blob:
    """A blob, and the commit that it was read at."""

    stored: StoredBlob
    commit_id: str

    def __repr__(self) -> str:
        return f"<Blob of {self.size} bytes at {self.commit_id}>"

    @property
    def size(self) -> int:
        return self.stored.size

    @property
    def tag(self) -> str:
        """A validator for caches: it changes whenever the bytes are written."""
        return self.stored.tag

    @property
    def data(self) -> bytes:
        """The whole blob."""
        return b"".join(self.chunks())

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Iterate over the chunks of the blob, or of a range of it."""
        stop = self.size if stop is None else min(stop, self.size)
        for at in range(start, stop, _CHUNK_BYTES):
            yield self.stored.read(at, min(_CHUNK_BYTES, stop - at))


@frozen
class ExportRequest:
    """The entities to export, and their destination.

    ``out`` is a path or an open binary file. JSON lines hold any number of types; a file of another
    format holds one type, and several types become a directory with one file per type.
    """

    out: Any
    target: str = MAIN
    types: Sequence[str] = ()
    format: str = "ndjson"


@frozen
class ExportResult:
    """The result of an export."""

    target: str
    commit_id: str
    counts: tuple[tuple[EntityKind, str, int], ...]

    @property
    def total_nodes(self) -> int:
        return self._total(EntityKind.NODE)

    @property
    def total_edges(self) -> int:
        return self._total(EntityKind.EDGE)

    def to_json(self) -> dict[str, Any]:
        def of(kind: EntityKind) -> list[dict[str, Any]]:
            return [
                {"name": name, "entities_exported": count}
                for found, name, count in self.counts
                if found is kind
            ]

        return {
            "target": self.target,
            "graph_commit_id": self.commit_id,
            "nodes": of(EntityKind.NODE),
            "edges": of(EntityKind.EDGE),
            "total_entities": self.total_nodes + self.total_edges,
        }

    def _total(self, kind: EntityKind) -> int:
        return sum(count for found, _, count in self.counts if found is kind)


@contextmanager
def open_output(out: Any) -> Iterator[BinaryIO]:
    """Open the destination of an export: a path, which appears when it is complete, or an open
    file.
    """
    if not isinstance(out, str | Path):
        yield out
        return
    try:
        with open_atomically(out) as file:
            yield file
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: str | Path, error: OSError) -> InvalidInput:
    return InvalidInput("export.unwritable", f"{out} cannot be written: {error.strerror or error}")
