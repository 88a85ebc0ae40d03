"""The columnar parser: blocks of JSON lines to typed rows, whole columns at a time.

It parses only regular blocks and returns None for any other, which the record parser then reads: a
blank line, a record over two lines, two on one, an unknown name, a value that does not fit, NaN, or
a duplicate name in one object. Generated inputs test that both parsers agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.catalog.model import ID
from omnigraph.changeset.rows import default_value, stored_properties
from omnigraph.datatypes.arrow import table_schema
from omnigraph.integrity.unnamed import pack_unnamed
from omnigraph.loading.batches import Batch, Deletions, Parsed
from omnigraph.loading.convert import UncertainConversion, holds, plain, typed
from omnigraph.loading.identity import canonical_id, identify, key_members, key_texts
from omnigraph.loading.line_templates import read_strings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Property
    from omnigraph.loading.json_schemas import JsonSchema, JsonSchemas
    from omnigraph.loading.line_templates import ValuePath

__all__ = ["read_block"]

_NEWLINE, _RETURN, _OPEN, _CLOSE = b"\n\r{}"
# The usual beginning of a record: its head and the name of its type.
_HEADER = re.compile(rb'\{\s*"(?:type|edge|delete)"\s*:\s*"[^"\\\x00-\x1f]*"')
_HEADERS_MAX = 64
# Only names precede a colon. A text with an escaped quote may match as well.
_ESCAPED_NAME = re.compile(rb'\\u[^"]*"\s*:')


def read_block(data: bytes, json_schemas: JsonSchemas) -> Parsed | None:
    """Parse the records of complete lines; None if the record parser must decide."""
    try:
        lines = _lines(data)
        upserts = json_schemas.mode == "merge"
        groups = [
            _read_group(group, upserts=upserts) for group in _group(lines, data, json_schemas)
        ]
    except (UncertainConversion, pa.ArrowException):
        return None
    return Parsed(
        len(lines),
        tuple(group for group in groups if isinstance(group, Batch)),
        tuple(group for group in groups if isinstance(group, Deletions)),
    )


# --- lines and their types ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Group:
    """The lines of one block with the same schema."""

    shape: JsonSchema
    data: pa.Buffer
    # The positions of the lines in the block, and the lines themselves.
    at: np.ndarray
    lines: pa.Array

    @property
    def first_end(self) -> int:
        return len(self.lines[0].as_buffer())

    @cached_property
    def has_null(self) -> bool:
        return b"null" in self._bytes

    @cached_property
    def has_escaped_name(self) -> bool:
        return b"\\u" in self._bytes and _ESCAPED_NAME.search(self._bytes) is not None

    @cached_property
    def _bytes(self) -> bytes:
        found: bytes = self.data.to_pybytes()
        return found


def _lines(data: bytes) -> pa.Array:
    """Return the lines as one column, if each can only hold one object."""
    chars = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(chars == _NEWLINE)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise UncertainConversion
    starts = np.empty(len(ends) + 1, np.int32)
    starts[0] = 0
    starts[1:] = ends + 1
    last = chars[ends - 1]
    if (last == _RETURN).any():
        last = chars[ends - 1 - (last == _RETURN)]
    # If every line begins with { and ends with }, no line continues another.
    if not ((chars[starts[:-1]] == _OPEN).all() and (last == _CLOSE).all()):
        raise UncertainConversion
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise UncertainConversion from error
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(ends), buffers)


def _group(lines: pa.Array, data: bytes, json_schemas: JsonSchemas) -> list[_Group]:
    """Group lines by expected schema. A wrong guess is safe: the parser verifies the schema."""
    if json_schemas.flat is not None:
        return [_whole(json_schemas.flat, lines, data)]
    members: dict[JsonSchema, list[np.ndarray]] = {}
    left = np.arange(len(lines))
    rest = lines
    while len(rest):
        if len(members) == _HEADERS_MAX:
            raise UncertainConversion
        header = _HEADER.match(rest[0].as_buffer())
        if header is None:
            break
        same = pc.starts_with(rest, header.group()).to_numpy(zero_copy_only=False)
        shape = json_schemas.of_header(header.group())
        if same.all() and not members:
            return [_whole(shape, lines, data)]
        members.setdefault(shape, []).append(left[same])
        left, rest = left[~same], rest.filter(pa.array(~same))
    for shape, at in _by_type_name(rest, left, json_schemas):
        members.setdefault(shape, []).append(at)
    return [_collected(shape, lines, np.sort(np.concatenate(at))) for shape, at in members.items()]


def _by_type_name(
    rest: pa.Array, left: np.ndarray, json_schemas: JsonSchemas
) -> list[tuple[JsonSchema, np.ndarray]]:
    """Group records that do not begin with their type, by parsing only the type name."""
    if not len(rest):
        return []
    named = _parse(_buffer(rest), json_schemas.heads, unexpected="ignore")
    if named.num_rows != len(rest):
        raise UncertainConversion
    found = []
    for head in json_schemas.heads.names:
        column = plain(named.column(head))
        for name in pc.unique(column.drop_null()).to_pylist():
            same = pc.fill_null(pc.equal(column, name), False)  # noqa: FBT003
            found.append((json_schemas.of(head, name), left[same.to_numpy(zero_copy_only=False)]))
    if sum(len(at) for _, at in found) != len(rest):
        raise UncertainConversion
    return found


def _whole(shape: JsonSchema, lines: pa.Array, data: bytes) -> _Group:
    return _Group(shape, pa.py_buffer(data), np.arange(len(lines)), lines)


def _collected(shape: JsonSchema, lines: pa.Array, at: np.ndarray) -> _Group:
    taken = lines.take(pa.array(at))
    return _Group(shape, _buffer(taken), at, taken)


def _buffer(lines: pa.Array) -> pa.Buffer:
    """Return the bytes of consecutive lines."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset :][: len(lines) + 1]
    return lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


# --- one shape ---------------------------------------------------------------------------------


def _parse(data: pa.Buffer, schema: pa.Schema, *, unexpected: str = "error") -> pa.Table:
    return pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )


def _read_group(group: _Group, *, upserts: bool) -> Batch | Deletions:
    shape = group.shape
    found = _values(group)
    if shape.deletes:
        return _deletions(shape, found, group.at)
    rows = {end.id: key_texts(found[name,]) for end, name in shape.ends.items()}
    masks = np.zeros((len(group.at), len(shape.entity.properties)), dtype=bool)
    for n, prop in enumerate(shape.entity.properties):
        values = found[*shape.inside, prop.name]
        if upserts or prop.default is not None:
            masks[:, n] = _absent(group, prop.name, values)
        rows[prop.id] = _column(prop, values, masks[:, n])
    if any(rows[member].null_count for member in key_members(shape.entity)):
        raise UncertainConversion
    identified = identify(shape.entity, rows, _given_ids(shape, found), len(group.at))
    if len(identified.contradicting):
        raise UncertainConversion
    rows[ID.id] = identified.ids
    arrays = [rows[prop.id] for prop in stored_properties(shape.entity)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=table_schema(shape.entity))
    unnamed = pack_unnamed(shape.entity, masks) if upserts else None
    return Batch(shape.entity, batch, group.at, identified.generated, unnamed)


def _values(group: _Group) -> Mapping[ValuePath, pa.Array]:
    """Return the values of a group by path."""
    shape, count = group.shape, len(group.at)
    first = group.data.slice(0, group.first_end).to_pybytes()
    schema = shape.schema_of(first)
    strings = read_strings(group.data, first, shape.head, shape.inside)
    if strings is not None and shape.takes_strings(strings):
        found = {path: pa.nulls(count, kind) for path, kind in shape.fields.items()} | strings
    else:
        table = _parse(group.data, schema)
        found = {(name,): plain(table.column(name)) for name in table.column_names}
        if shape.inside:
            found |= _members(shape.inside, found.pop(shape.inside))
        if shape.head and pc.unique(found[shape.head,]).to_pylist() != [shape.name]:
            raise UncertainConversion
    if any(len(column) != count for column in found.values()):
        raise UncertainConversion
    return found


def _members(inside: ValuePath, data: pa.StructArray) -> dict[ValuePath, pa.Array]:
    names = [data.type.field(at).name for at in range(data.type.num_fields)]
    return {(*inside, name): part for name, part in zip(names, data.flatten(), strict=True)}


def _column(prop: Property, values: pa.Array, absent: np.ndarray) -> pa.Array:
    """Return a property of a group: typed, with its default where absent."""
    numbers = pc.list_flatten(values) if pa.types.is_list(values.type) else values
    if numbers is not values and numbers.null_count:
        raise UncertainConversion
    # NaN and infinity are not JSON, though this parser accepts them.
    if pa.types.is_floating(numbers.type) and not holds(pc.is_finite(numbers)):
        raise UncertainConversion
    column = typed(values, prop.dtype)
    if prop.default is not None and absent.any():
        default = pa.scalar(default_value(prop), column.type)
        column = pc.if_else(pa.array(absent), default, column)
    return column


def _absent(group: _Group, name: str, values: pa.Array) -> np.ndarray:
    """Return the lines that lack a name. A parsed column has NULL for these and for ``null``."""
    absent: np.ndarray = values.is_null().to_numpy(zero_copy_only=False)
    if not values.null_count or not group.has_null:
        return absent
    shape = group.shape
    # A name may be written with escapes, and the envelope may contain the same name.
    outer = {*shape.fields, shape.inside} if shape.inside else ()
    if group.has_escaped_name or (name,) in outer:
        raise UncertainConversion
    at = np.flatnonzero(absent)
    pattern = rf'"{re.escape(name)}"\s*:\s*null'
    null = pc.match_substring_regex(group.lines.take(pa.array(at)), pattern)
    absent = absent.copy()
    absent[at[null.to_numpy(zero_copy_only=False)]] = False
    return absent


def _given_ids(shape: JsonSchema, found: Mapping[ValuePath, pa.Array]) -> pa.Array | None:
    outer = key_texts(found[ID.name,])
    if not shape.inside:
        return outer
    inner = key_texts(found[*shape.inside, ID.name])
    if inner.null_count == len(inner):
        return outer
    if not holds(pc.equal(inner, outer)):
        raise UncertainConversion
    return pc.coalesce(outer, inner)


def _deletions(shape: JsonSchema, found: Mapping[ValuePath, pa.Array], at: np.ndarray) -> Deletions:
    ids = [canonical_id(shape.entity, text) for text in key_texts(found[ID.name,]).to_pylist()]
    if None in ids:
        raise UncertainConversion
    return Deletions(shape.entity, pa.array(ids, pa.string()), at)
