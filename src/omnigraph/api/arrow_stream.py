"""The result of a read as an Arrow IPC stream.

The metadata of the stream holds name, target, commit and columns. Arrow is imported on first use.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from omnigraph.api.results import QueryResult, QueryStream, ReadTarget
from omnigraph.ir.queries import ResultColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = [
    "MEDIA_TYPE",
    "read_stream",
    "to_ipc",
]


MEDIA_TYPE = "application/vnd.apache.arrow.stream"


_HEAD = b"omnigraph"


def to_ipc(result: QueryResult) -> bytes:
    """Encode a result as the bytes of an Arrow stream."""
    import pyarrow as pa  # noqa: PLC0415 - not for the import of the types

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
    """Decode a stream of ``to_ipc``, batch by batch as it is iterated."""
    import pyarrow as pa  # noqa: PLC0415

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
    import pyarrow as pa  # noqa: PLC0415

    for batch in reader:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
