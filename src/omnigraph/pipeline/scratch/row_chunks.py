"""Row chunks: typed rows between reading and staging, as scratch files beside the graph.

A reading task writes its rows as chunks of some megabytes, under a prefix of the job. A chunk has,
per type, one file with whole rows, which only staging reads, and one with the *keys*: the columns
that rules need. Only files of successful tasks count; the prefix is deleted when the job ends.

A record is identified by one number: its chunk in the upper half, its position in the lower. The
numbers sort as the input does, and become record numbers once all chunks are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType, TypeId
from omnigraph.datatypes.types import Scalar, ScalarType
from omnigraph.frozen import frozen
from omnigraph.integrity.lookup import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = [
    "CHUNK_BITS",
    "LINE",
    "PLACE_BITS",
    "RECORD",
    "SCRATCH",
    "RowChunk",
    "TypeChunk",
    "chunk_of",
    "comparable_column",
    "decode_key",
    "key_properties",
    "key_table",
    "positions_of",
    "read_column",
    "read_effective",
    "read_scratch",
    "record_of",
    "write_scratch",
]

# Below the root of the graph: every process of a job reaches it on any storage.
SCRATCH = "_scratch"
RECORD = "record"
LINE = "line"

# A task numbers its own chunks; task and chunk number share the upper half of a record.
CHUNK_BITS = 13
PLACE_BITS = 32


@frozen
class TypeChunk:
    """The rows of one type in a chunk. Keys without rows are ids to delete."""

    type_id: TypeId
    keys: str
    count: int
    # The size of its rows in memory.
    size: int = 0
    rows: str | None = None
    # Every id is generated.
    generated: bool = False
    # Some row does not name every property; or not every required one.
    is_partial: bool = False
    lacks_required: bool = False

    def to_json(self) -> list[Any]:
        return [
            self.type_id,
            self.keys,
            self.count,
            self.size,
            self.rows,
            self.generated,
            self.is_partial,
            self.lacks_required,
        ]

    @staticmethod
    def from_json(body: list[Any]) -> TypeChunk:
        return TypeChunk(TypeId(body[0]), *body[1:])


@frozen
class RowChunk:
    """A chunk of input that one task has read."""

    number: int
    # The number of its records, good and bad.
    records: int
    types: tuple[TypeChunk, ...]
    # The file of violations, their number per rule, and the first ones.
    violations: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    shown: tuple[dict[str, Any], ...] = ()
    # Whether some of its records were unreadable.
    partial: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "records": self.records,
            "types": [chunk.to_json() for chunk in self.types],
            "violations": self.violations,
            "counts": [list(count) for count in self.counts],
            "shown": list(self.shown),
            "partial": self.partial,
        }

    @staticmethod
    def from_json(body: dict[str, Any]) -> RowChunk:
        return RowChunk(
            body["number"],
            body["records"],
            tuple(TypeChunk.from_json(chunk) for chunk in body["types"]),
            body["violations"],
            tuple((rule, count) for rule, count in body["counts"]),
            tuple(body["shown"]),
            body["partial"],
        )


# --- records -----------------------------------------------------------------------------------


def record_of(chunk: int, places: np.ndarray) -> np.ndarray:
    """Return record numbers for positions in a chunk, from 0."""
    return places.astype(np.int64) + (chunk << PLACE_BITS)


def positions_of(records: np.ndarray) -> np.ndarray:
    """Return the positions of records in their chunks."""
    return records & ((1 << PLACE_BITS) - 1)


def chunk_of(record: int) -> tuple[int, int]:
    """Return the chunk of a record and its position there."""
    return record >> PLACE_BITS, record & ((1 << PLACE_BITS) - 1)


# --- files -------------------------------------------------------------------------------------


def write_scratch(location: GraphLocation, key: str, rows: pa.Table) -> None:
    """Write a table to a scratch file."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    location.objects.put(key, sink.getvalue().to_pybytes())


def read_scratch(location: GraphLocation, key: str) -> pa.Table:
    """Read a scratch file."""
    return pa.ipc.open_file(pa.py_buffer(location.objects.get(key))).read_all()


def read_column(location: GraphLocation, keys: Iterable[str], name: str) -> np.ndarray:
    """Read one column of integers of several scratch files."""
    found = [read_scratch(location, key).column(name).to_numpy() for key in keys]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def read_effective(location: GraphLocation, key: str, excluded: tuple[str, ...]) -> pa.Table:
    """Read a scratch file without the records that other files list."""
    rows = read_scratch(location, key)
    if not excluded:
        return rows
    records = rows.column(RECORD).to_numpy()
    return rows.filter(pa.array(~np.isin(records, read_column(location, excluded, RECORD))))


# --- keys --------------------------------------------------------------------------------------

# Floats compare in special ways, and Spark has no unsigned numbers: both are compared as bits.
_AS_BITS = {Scalar.U64: pa.int64(), Scalar.F64: pa.int64(), Scalar.F32: pa.int32()}
_WITH_BITS = {Scalar.U64: pa.uint64(), Scalar.F64: pa.float64(), Scalar.F32: pa.float32()}


def key_properties(entity: EntityType) -> tuple[Property, ...]:
    """Return the properties that rules between entities need: id, ends, members of uniques."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    members = dict.fromkeys(member for group in entity.uniques for member in group)
    named = {prop.id for prop in (ID, *ends)}
    return (ID, *ends, *(entity.by_id[member] for member in members if member not in named))


def key_table(entity: EntityType, rows: pa.Table) -> pa.Table:
    """Return the key columns of rows in comparable form."""
    return pa.table(
        {
            prop.column: comparable_column(rows.column(prop.column))
            for prop in key_properties(entity)
        }
    )


def comparable_column(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert values so that equal ones have equal bits."""
    column = comparable(column)
    for scalar, found in _WITH_BITS.items():
        if column.type == found:
            bits = _AS_BITS[scalar]
            if isinstance(column, pa.Array):
                return column.view(bits)
            return pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    return column


def decode_key(prop: Property, value: Any) -> Any:
    """Return the value of a property from its key column."""
    match prop.dtype:
        case ScalarType(scalar) if scalar in _AS_BITS and value is not None:
            return pa.array([value], _AS_BITS[scalar]).view(_WITH_BITS[scalar])[0].as_py()
        case _:
            return value
