"""Pieces: typed rows on their way into the graph, kept as scratch files beside it.

A task that reads the input writes what it has read as pieces, some megabytes each, under a prefix
of the job. A piece has one file of whole rows per type, which only staging reads, and one of
*keys*: the columns that rules look at. Only the files of tasks that were heard of count; what
others leave behind goes with the prefix when the job ends.

A record is named by one number: that of its piece in the upper half, its place in the lower. The
numbers sort as the input does, and become record numbers once it is known how many came before.
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
    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.pipeline.graph_location import GraphLocation

__all__ = [
    "LINE",
    "PIECE_BITS",
    "RECORD",
    "SCRATCH",
    "RowChunk",
    "TypeChunk",
    "comparable_column",
    "key_properties",
    "key_table",
    "pack",
    "piece_of",
    "places_of",
    "record_of",
    "unpack",
    "unspell_key",
]

# Below the root of the graph: every process of a job reaches it, whatever storage it is.
SCRATCH = "_scratch"
RECORD = "record"
LINE = "line"

# A task numbers its own pieces; so many tasks and pieces of each fit into the number of a piece.
PIECE_BITS = 13
_PLACE_BITS = 32


@frozen
class TypeChunk:
    """What a piece has of one type. Keys without rows are ids to delete."""

    type_id: TypeId
    keys: str
    count: int
    # How much its rows take in memory.
    size: int = 0
    rows: str | None = None
    # Every id is a fresh one.
    minted: bool = False


@frozen
class RowChunk:
    """What one task has read of the input at once."""

    number: int
    # How many records it had, good and bad.
    records: int
    types: tuple[TypeChunk, ...]
    # A file of violations, how many of them each rule has, and the first ones.
    violations: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    shown: tuple[dict[str, Any], ...] = ()
    # Some of its records could not be read.
    partial: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "records": self.records,
            "types": [[t.type_id, t.keys, t.count, t.size, t.rows, t.minted] for t in self.types],
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
            tuple(TypeChunk(TypeId(key), *rest) for key, *rest in body["types"]),
            body["violations"],
            tuple((rule, count) for rule, count in body["counts"]),
            tuple(body["shown"]),
            body["partial"],
        )


# --- records -----------------------------------------------------------------------------------


def record_of(piece: int, places: np.ndarray) -> np.ndarray:
    """The names of records of a piece, by their places in it from 0."""
    return places.astype(np.int64) + (piece << _PLACE_BITS)


def places_of(records: np.ndarray) -> np.ndarray:
    """The places of records in their pieces."""
    return records & ((1 << _PLACE_BITS) - 1)


def piece_of(record: int) -> tuple[int, int]:
    """The piece of a record and its place there."""
    return record >> _PLACE_BITS, record & ((1 << _PLACE_BITS) - 1)


# --- files -------------------------------------------------------------------------------------


def pack(site: GraphLocation, key: str, rows: pa.Table) -> None:
    """Write a table to a scratch file."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    site.objects.put(key, sink.getvalue().to_pybytes())


def unpack(site: GraphLocation, key: str) -> pa.Table:
    """Read a scratch file."""
    return pa.ipc.open_file(pa.py_buffer(site.objects.get(key))).read_all()


# --- keys --------------------------------------------------------------------------------------

# Floats compare in ways of their own, and unsigned numbers are foreign to Spark: bits are neither.
_AS_BITS = {Scalar.U64: pa.int64(), Scalar.F64: pa.int64(), Scalar.F32: pa.int32()}
_WITH_BITS = {Scalar.U64: pa.uint64(), Scalar.F64: pa.float64(), Scalar.F32: pa.float32()}


def key_properties(entity: EntityType) -> tuple[Property, ...]:
    """What rules about several entities look at: id, ends, and the members of uniques."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    members = dict.fromkeys(member for group in entity.uniques for member in group)
    named = {prop.id for prop in (ID, *ends)}
    return (ID, *ends, *(entity.by_id[member] for member in members if member not in named))


def key_table(entity: EntityType, rows: pa.Table) -> pa.Table:
    """The key columns of rows, as they are compared."""
    return pa.table(
        {
            prop.column: comparable_column(rows.column(prop.column))
            for prop in key_properties(entity)
        }
    )


def comparable_column(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Values so that those which are the same are the same bits."""
    column = comparable(column)
    for scalar, found in _WITH_BITS.items():
        if column.type == found:
            bits = _AS_BITS[scalar]
            if isinstance(column, pa.Array):
                return column.view(bits)
            return pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    return column


def unspell_key(prop: Property, value: Any) -> Any:
    """The value of a property whose key column holds ``value``."""
    match prop.dtype:
        case ScalarType(scalar) if scalar in _AS_BITS and value is not None:
            return pa.array([value], _AS_BITS[scalar]).view(_WITH_BITS[scalar])[0].as_py()
        case _:
            return value
