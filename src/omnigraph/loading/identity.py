"""Ids of rows: derived from the key, given, or generated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import DST, SRC
from omnigraph.datatypes.types import FLOATS, INTEGER_RANGES, Scalar, ScalarType
from omnigraph.datatypes.values import ValueProblem, canonical_key, coerce_json
from omnigraph.frozen import frozen
from omnigraph.runtime.bulk_ids import ULID_LENGTH, new_ulids
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.model import EntityType, PropertyId
    from omnigraph.datatypes.types import DataType

__all__ = [
    "ID_BITS_MAX",
    "Identified",
    "canonical_id",
    "generate_ids",
    "id_text",
    "identify",
    "key_members",
    "key_texts",
]

ID_BITS_MAX = 64
_EXACT_FLOAT_MAX = 2**53
# Scalar types that an id contains in JSON form.
_SPELLED_AS_JSON = frozenset({Scalar.BOOL, *INTEGER_RANGES, *FLOATS})
# Characters that JSON escapes inside a string.
_ESCAPED = r'[\x00-\x1f"\\]'


@frozen
class Identified:
    """The ids of rows."""

    ids: pa.Array
    # All of them are generated.
    generated: bool
    # Positions of rows whose given id differs from that of their key.
    contradicting: np.ndarray


def identify(
    entity: EntityType, columns: Mapping[PropertyId, pa.Array], given: pa.Array | None, count: int
) -> Identified:
    """Determine the ids of ``count`` rows with these typed columns; key members are not null."""
    if given is not None and given.null_count == len(given):
        given = None
    if entity.key is not None:
        derived = _join_key_texts([columns[member] for member in entity.key])
        return Identified(derived, generated=False, contradicting=_contradicting(given, derived))
    if given is None:
        return Identified(generate_ids(count), generated=True, contradicting=_NONE)
    if given.null_count:
        given = pc.coalesce(given, generate_ids(count))
    return Identified(given, generated=False, contradicting=_NONE)


def generate_ids(count: int) -> pa.Array:
    """Generate ids as an Arrow column, vectorised."""
    offsets = np.arange(0, (count + 1) * ULID_LENGTH, ULID_LENGTH, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(new_ulids(count))]
    return pa.Array.from_buffers(pa.string(), count, buffers)


def key_members(entity: EntityType) -> tuple[PropertyId, ...]:
    """Return the properties that must have a value before a row can have an id."""
    ends = (SRC.id, DST.id) if entity.kind == "edge" else ()
    return (*ends, *(member for member in entity.key or () if member not in ends))


def key_texts(column: pa.Array) -> pa.Array:
    """Return the key values of one property in the text form of ``canonical_key``."""
    found = column.type
    if pa.types.is_string(found):
        return column
    if pa.types.is_integer(found) or pa.types.is_boolean(found) or pa.types.is_date32(found):
        return column.cast(pa.string())
    spelled = [None if value is None else canonical_key([value]) for value in column.to_pylist()]
    return pa.array(spelled, pa.string())


def id_text(given: Any) -> str | None:
    """Return a given id as text; integers are accepted as such."""
    match given:
        case bool():
            return None
        case int() if given.bit_length() <= ID_BITS_MAX:
            return str(given)
        case float() if given.is_integer() and abs(given) <= _EXACT_FLOAT_MAX:
            return str(int(given))
        case str():
            try:
                given.encode()
            except UnicodeEncodeError:
                return None
            return given
        case _:
            return None


def canonical_id(entity: EntityType, given: Any) -> str | None:
    """Return the canonical form of a given id; None if no key has that form."""
    text = id_text(given)
    if text is None or entity.key is None:
        return text
    by_id = entity.by_id
    types = [by_id[member].dtype for member in entity.key]
    try:
        parts = [text] if len(types) == 1 else _elements(text, len(types))
        return canonical_key(
            [_parse(part, dtype) for part, dtype in zip(parts, types, strict=True)]
        )
    except (ValueProblem, ValueError, RecursionError):
        return None


def _join_key_texts(columns: Sequence[pa.Array]) -> pa.Array:
    spelled = [key_texts(column) for column in columns]
    if len(spelled) == 1:
        return spelled[0]
    if any(pc.any(pc.match_substring_regex(part, _ESCAPED)).as_py() for part in spelled):
        rows = zip(*(part.to_pylist() for part in spelled), strict=True)
        return pa.array([canonical_key(row) for row in rows], pa.string())
    joined = pc.binary_join_element_wise(*spelled, '","')
    return pc.binary_join_element_wise('["', joined, '"]', "")


def _contradicting(given: pa.Array | None, derived: pa.Array) -> np.ndarray:
    if given is None:
        return _NONE
    differs = pc.fill_null(pc.not_equal(given, derived), False)  # noqa: FBT003
    return np.flatnonzero(differs.to_numpy(zero_copy_only=False))


def _elements(text: str, count: int) -> list[str]:
    parts = parse_json(text)
    if not isinstance(parts, list) or len(parts) != count:
        raise ValueError(text)
    return [part if isinstance(part, str) else json.dumps(part) for part in parts]


def _parse(text: str, dtype: DataType) -> Any:
    """Parse a value from its form in an id."""
    spelled_as_json = isinstance(dtype, ScalarType) and dtype.scalar in _SPELLED_AS_JSON
    return coerce_json(parse_json(text) if spelled_as_json else text, dtype)


_NONE = np.empty(0, np.int64)
