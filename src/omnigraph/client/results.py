"""Streamed responses: rows of a query, exports, baselines."""

from __future__ import annotations

import io
import json
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.arrow_stream import MEDIA_TYPE, read_stream
from omnigraph.api.results import QueryResult, ReadTarget
from omnigraph.errors import StorageFault
from omnigraph.ir.queries import ResultColumn
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.client.requests import HttpResponse

__all__ = ["RemoteBaseline", "result_of", "spool"]

_HELD_BYTES = 16 * 2**20
_CHUNK_BYTES = 2**20


def result_of(answer: HttpResponse) -> QueryResult:
    """Decode the rows of a query: typed if sent as Arrow, otherwise as JSON represents them."""
    if isinstance(answer.body, bytes):
        return read_stream(io.BytesIO(answer.body)).read_all()
    return _of_json(answer.body)


def _of_json(body: Mapping[str, Any]) -> QueryResult:
    names, rows = body["columns"], body["rows"]
    table = pa.table({name: [row[name] for row in rows] for name in names})
    columns = tuple(ResultColumn(name, "string", nullable=True) for name in names)
    target = ReadTarget(**body["target"])
    return QueryResult(body["query_name"], columns, table, body.get("graph_commit_id"), target)


class _Spool(tempfile.SpooledTemporaryFile[bytes]):
    """A temporary file that is closed when it is garbage-collected: nothing closes a baseline."""

    def __del__(self) -> None:
        self.close()


def spool() -> IO[bytes]:
    """Open a spool for a streamed response: in memory, and on disk beyond a limit."""
    return _Spool(_HELD_BYTES)


@dataclass(frozen=True)
class RemoteBaseline:
    """A complete baseline; it has the methods of ``Baseline``."""

    spooled: IO[bytes]
    snapshot_commit_id: str
    cursor: str
    size: int

    @staticmethod
    def of(spooled: IO[bytes]) -> RemoteBaseline:
        """Read a baseline, and verify that it is complete: its last record holds the cursor."""
        size = spooled.seek(0, io.SEEK_END)
        tail_at = max(0, size - 64 * 1024)
        spooled.seek(tail_at)
        tail = spooled.read().rstrip(b"\n")
        start = tail.rfind(b"\n") + 1
        try:
            said = parse_json(tail[start:])["baseline"]
        except (ValueError, KeyError, TypeError):
            raise StorageFault(
                "client.broken_stream",
                "the baseline is incomplete: its last record is missing",
                remedy="discard the output and request the baseline again",
            ) from None
        return RemoteBaseline(
            spooled, said["snapshot_commit_id"], said["resume_cursor"], tail_at + start
        )

    def records(self) -> Iterator[bytes]:
        self.spooled.seek(0)
        left = self.size
        while left > 0:
            chunk = self.spooled.read(min(left, _CHUNK_BYTES))
            left -= len(chunk)
            yield chunk

    def lines(self) -> Iterator[bytes]:
        yield from self.records()
        yield json.dumps({"baseline": self.to_json()}).encode() + b"\n"

    def to_json(self) -> dict[str, Any]:
        return {"snapshot_commit_id": self.snapshot_commit_id, "resume_cursor": self.cursor}


ARROW_FIRST = f"{MEDIA_TYPE}, application/json;q=0.5"
