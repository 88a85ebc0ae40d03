"""The properties that an incoming row leaves out, as one bit set per row.

The bits are a column of the rows, so that every filter and every file keeps them together. A row of
an upsert keeps the stored value of a property whose bit is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from omnigraph.catalog.model import EntityType

__all__ = [
    "UNNAMED",
    "all_named",
    "pack_unnamed",
    "same_unnamed",
    "unnamed_masks",
    "unnamed_type",
    "with_unnamed",
]

# The column of the bit sets. No column of a property has this name (ADR-0020).
UNNAMED = "_unnamed"
_BYTE_BITS = 8


def unnamed_type(entity: EntityType) -> pa.DataType:
    """Return the type of the bit sets: one bit per property, in order."""
    return pa.binary(-(-len(entity.properties) // _BYTE_BITS))


def pack_unnamed(entity: EntityType, masks: np.ndarray) -> pa.Array | None:
    """Pack an array of rows by properties into bit sets; None if every row names all properties."""
    if not masks.any():
        return None
    kind = unnamed_type(entity)
    packed = np.packbits(masks, axis=1, bitorder="little")
    return pa.Array.from_buffers(kind, len(masks), [None, pa.py_buffer(packed.tobytes())])


def same_unnamed(entity: EntityType, names: Collection[str], count: int) -> pa.Array | None:
    """Build bit sets of rows that all leave out the same properties."""
    one = np.array([[prop.name in names for prop in entity.properties]], dtype=bool)
    return pack_unnamed(entity, np.repeat(one, count, axis=0))


def all_named(entity: EntityType, count: int) -> pa.Array:
    """Build bit sets of rows that name all properties."""
    kind = unnamed_type(entity)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(bytes(kind.byte_width * count))])


def unnamed_masks(entity: EntityType, rows: pa.Table) -> dict[str, np.ndarray]:
    """Return a mask of unnamed rows per column; empty if rows have no bits."""
    if UNNAMED not in rows.column_names:
        return {}
    count = rows.num_rows
    packed = b"".join(_bytes(chunk) for chunk in rows.column(UNNAMED).chunks)
    width = unnamed_type(entity).byte_width
    bits = np.frombuffer(packed, np.uint8).reshape(count, width)
    masks = np.unpackbits(bits, axis=1, bitorder="little").astype(bool)
    return {prop.column: masks[:, at] for at, prop in enumerate(entity.properties)}


def with_unnamed(entity: EntityType, rows: pa.Table, masks: Mapping[str, np.ndarray]) -> pa.Table:
    """Replace the bit sets of rows, given a mask per column."""
    at = rows.schema.get_field_index(UNNAMED)
    bits = np.stack([masks[prop.column] for prop in entity.properties], axis=1)
    packed = pack_unnamed(entity, bits)
    if packed is None:
        return rows.drop([UNNAMED])
    return rows.set_column(at, UNNAMED, packed)


def _bytes(chunk: pa.Array) -> bytes:
    if not len(chunk):
        return b""
    width = chunk.type.byte_width
    values: bytes = chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width).to_pybytes()
    return values
