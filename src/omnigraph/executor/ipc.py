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

    from omnigraph.executor.result import QueryResult

__all__ = ["MEDIA_TYPE", "read_stream", "to_ipc"]

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_HEAD = b"omnigraph"


def to_ipc(result: QueryResult) -> bytes:
    """An answer as the bytes of an Arrow stream."""
    head = {
        "query_name": result.query_name,
        "target": result.target.to_json() if result.target else {},
        "graph_commit_id": result.commit_id,
        "row_count": len(result),
        "columns": [asdict(column) for column in result.columns],
    }
    out = pa.BufferOutputStream()
    table = result.table
    schema = table.schema.with_metadata({_HEAD: json.dumps(head).encode()})
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_table(pa.Table.from_arrays(table.columns, schema=schema))
    return bytes(out.getvalue())


def read_stream(source: Any) -> QueryStream:
    """An answer that ``to_ipc`` made; its batches are read as they are asked for."""
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
