"""Blob columns: bytes outside of this adapter, descriptors and side files in Lance.

Outside, a blob column is a ``large_binary`` field marked by ``BLOB`` metadata; inside it has the
blob type of Lance, whose values scans return as bytes on request.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.adapters.lance.handles.failures import reading
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.datatypes.arrow import BLOB

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LanceBlob", "decode_schema", "encode_rows", "encode_schema", "has_blobs", "open_blob"]

_LANCE_BLOB = "lance.blob.v2"


class LanceBlob:
    """A blob that is read from its file in ranges."""

    def __init__(self, file: Any, path: str, tag: str) -> None:
        self._file = file
        self._path = path
        self.tag = tag
        self.size = int(file.size())

    def read(self, start: int, length: int) -> bytes:
        with reading(self._path):
            return bytes(self._file.read_range(start, length))


def open_blob(dataset: Any, path: str, column: str, address: int) -> LanceBlob | None:
    """Open the blob of a row without reading it."""
    (file,) = dataset.take_blobs(column, addresses=[address])
    if file is None:
        return None
    # Data files are never rewritten, so files and offset identify the bytes.
    files = dataset.get_fragment(address >> 32).metadata.files
    place = [path, column, *(each.path for each in files), address & 0xFFFFFFFF]
    return LanceBlob(file, path, hashlib.sha256(repr(place).encode()).hexdigest())


def has_blobs(schema: pa.Schema) -> bool:
    """Return whether a schema of Lance has blob columns."""
    return any(_is_lance_blob(field) for field in schema)


def encode_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema of the port as Lance stores it."""
    return _replace_fields(schema, lambda field: _encode(field) if _is_marked(field) else field)


def decode_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema of Lance as the port presents it."""
    return _replace_fields(schema, lambda field: _decode(field) if _is_lance_blob(field) else field)


def encode_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in the order and with the types of ``schema``, blobs encoded."""
    if not has_blobs(schema):
        return rows if rows.schema.equals(schema) else rows.select(schema.names).cast(schema)
    columns = [_encode_column(rows.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _encode_column(column: pa.ChunkedArray, field: pa.Field) -> Any:
    if not _is_lance_blob(field):
        return column.cast(field.type)
    if column.type.equals(field.type):
        return column
    return load_lance().blob_array(column.to_pylist())


def _encode(field: pa.Field) -> pa.Field:
    blob = load_lance().blob_field(field.name, nullable=field.nullable)
    return blob.with_metadata({**(blob.metadata or {}), **(field.metadata or {})})


def _decode(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.large_binary(), field.nullable, field.metadata)


def _is_marked(field: pa.Field) -> bool:
    return bool(field.metadata) and BLOB in field.metadata


def _is_lance_blob(field: pa.Field) -> bool:
    return getattr(field.type, "extension_name", "") == _LANCE_BLOB


def _replace_fields(schema: pa.Schema, replace: Callable[[pa.Field], pa.Field]) -> pa.Schema:
    for index, field in enumerate(schema):
        replacement = replace(field)
        if replacement is not field:
            schema = schema.set(index, replacement)
    return schema
