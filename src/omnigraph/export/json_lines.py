"""Columnar conversion of rows to JSON text: the inverse of a load."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.datatypes.values import BLOB_PREFIX

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType

__all__ = ["json_lines", "json_values"]

# Characters that JSON escapes inside a string.
_ESCAPED = r'[\x00-\x1f"\\]'


def json_lines(entity: EntityType, rows: pa.RecordBatch) -> bytes:
    """Return one envelope per row, each on its line.

    NULL is written, because a property that is left out gets its default. The id is written unless
    the key determines it.
    """
    is_edge = isinstance(entity, EdgeType)
    pieces: list[pa.Array | str] = [
        f'{{"{"edge" if is_edge else "type"}": {json.dumps(entity.name, ensure_ascii=False)}'
    ]
    if entity.key is None:
        pieces += [', "id": ', json_values(rows.column(ID.column))]
    if is_edge:
        pieces += [', "from": ', json_values(rows.column(SRC.column))]
        pieces += [', "to": ', json_values(rows.column(DST.column))]
    pieces.append(', "data": {')
    for at, prop in enumerate(entity.properties):
        comma = ", " if at else ""
        name = json.dumps(prop.name, ensure_ascii=False)
        pieces += [f"{comma}{name}: ", json_values(rows.column(prop.column))]
    pieces.append("}}\n")
    return _bytes(_joined(pieces, rows.num_rows))


def json_values(column: pa.Array) -> pa.Array:
    """Return the JSON text of every value; ``null`` for NULL."""
    return pc.fill_null(_texts(column), "null")


def _texts(column: pa.Array) -> pa.Array:
    found = column.type
    if pa.types.is_string(found):
        return _quoted(_escaped(column))
    if pa.types.is_date(found):
        return _quoted(column.cast(pa.string()))
    if pa.types.is_timestamp(found):
        text = pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)
        return _quoted(text)
    if pa.types.is_large_binary(found):
        return pa.array(
            [
                None if value is None else f'"{BLOB_PREFIX}{base64.b64encode(value).decode()}"'
                for value in column.to_pylist()
            ],
            pa.string(),
        )
    if pa.types.is_list(found) or pa.types.is_fixed_size_list(found):
        return _bracketed(column)
    # Integers and booleans; floats have their shortest form that reads back exactly.
    return column.cast(pa.string())


def _bracketed(column: pa.Array) -> pa.Array:
    lists = column.cast(pa.list_(column.type.value_type))
    items = json_values(pc.list_flatten(lists))
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",")
    texts = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(lists.is_valid(), texts, pa.scalar(None, pa.string()))


def _escaped(column: pa.Array) -> pa.Array:
    """Escape strings for JSON; most need no escape."""
    mask = pc.fill_null(pc.match_substring_regex(column, _ESCAPED), False)  # noqa: FBT003
    if not pc.any(mask).as_py():
        return column
    spelled = [
        json.dumps(text, ensure_ascii=False)[1:-1] for text in column.filter(mask).to_pylist()
    ]
    return pc.replace_with_mask(column, mask, pa.array(spelled, pa.string()))


def _quoted(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', column, '"', "")


def _joined(pieces: list[pa.Array | str], rows: int) -> pa.Array:
    # Constants become columns too, so that a row without values has the right length.
    columns = [pa.repeat(piece, rows) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*columns, "")


def _bytes(lines: pa.Array) -> bytes:
    """Return the bytes of consecutive strings without iterating over them."""
    if not len(lines):
        return b""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset :]
    return bytes(lines.buffers()[2][int(offsets[0]) : int(offsets[len(lines)])])
