"""The answer of a read as an Arrow stream: typed values, and what the answer says of itself.

Query name, snapshot and column kinds stand as JSON in the metadata of the schema, so a reader of
Arrow needs nothing of ours to take the rows, and ours gets the whole answer back.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.executor.result import QueryStream, ReadTarget
from omnigraph.ir.queries import ResultColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MEDIA_TYPE", "read_stream", "write_stream"]

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_HEAD = b"omnigraph"


def write_stream(stream: QueryStream, out: Any) -> None:
    """Write an answer to an open binary file, batch by batch."""
    head = {
        "query_name": stream.query_name,
        "target": stream.target.to_json() if stream.target else {},
        "graph_commit_id": stream.commit_id,
        "row_count": stream.row_count,
        "columns": [asdict(column) for column in stream.columns],
    }
    schema = stream.schema.with_metadata({_HEAD: json.dumps(head).encode()})
    with pa.ipc.new_stream(out, schema) as writer:
        for batch in stream:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))


def read_stream(source: Any) -> QueryStream:
    """An answer that ``write_stream`` wrote; its batches are read as they are asked for."""
    reader = pa.ipc.open_stream(source)
    head = json.loads(reader.schema.metadata[_HEAD])
    schema = reader.schema.remove_metadata()
    found = QueryStream(
        head["query_name"],
        tuple(ResultColumn(**column) for column in head["columns"]),
        schema,
        head["row_count"],
        _plain(reader, schema),
    )
    return found.read_from(head["graph_commit_id"], ReadTarget(**head["target"]))


def _plain(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
