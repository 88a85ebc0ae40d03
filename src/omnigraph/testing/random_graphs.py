"""Random small graphs, for tests that hold one evaluation against another."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.datatypes.arrow import table_schema
from omnigraph.datatypes.types import (
    INTEGER_RANGES,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.model import EntityType, TypeId

__all__ = [
    "CATALOG",
    "CITY",
    "F32_MAX",
    "KNOWS",
    "LIVES",
    "NEAR",
    "NOW",
    "PARAMS",
    "PERSON",
    "RandomGraph",
    "graphs",
    "values_of",
]

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)

_SCHEMA = Source(
    """
    node Person {
        handle: String @key
        age: I64? @index
        small: I32? @index
        big: U64? @index
        height: F32? @index
        weight: F64? @index
        born: Date? @index
        seen: DateTime? @index
        status: enum(active, away, retired)? @index
        tags: [String]?
        marks: [I64]?
        bio: String? @index
        on: Bool? @index
        share: U32? @index
        days: [Date]?
        reals: [F32]?
        vec: Vector(2)?
        scan: Blob?
    }
    node City {
        people: U64? @index
        label: String?
    }
    edge Knows: Person -> Person { since: I64? @index  note: String? @index }
    edge Lives: Person -> City { since: I64? }
    edge Near: City -> City
    """
)
CATALOG = build_catalog(parse_schema(_SCHEMA), _SCHEMA)
PERSON, CITY = (node.id for node in CATALOG.nodes)
KNOWS, LIVES, NEAR = (edge.id for edge in CATALOG.edges)

# The parameters of all random reads.
PARAMS: Mapping[str, Any] = {"i": 1, "f": 1.5, "s": "a", "none": None, "many": [1, 2**53 + 1, -3]}

# --- values ------------------------------------------------------------------------------------

_IDS = ("a", "b", "ab", "Z", "ä", "it's", "100%", "x" * 40)
_TEXTS = ("", "a", "ab", "b", "B", "ä", "a\u0308", "a%b", "it's", "\0", "\uffff", "\U00010000")
# Of several words and alphabets, with what means something to patterns.
_LONG_TEXTS = (
    "graph data",
    "a Graph",
    "rap",
    "h d",
    "GRAPH",
    "Grüße",
    "Ärger",
    "\\d+",
    "a_b",
    "日本語",
)
_SPECIAL_INTEGERS = (2**53 + 1, -(2**53) - 1, 2**31, -(2**63), 2**63 - 1, 2**64 - 1)
F32_MAX, _F32_TENTH = 3.4028234663852886e38, 0.10000000149011612
_FLOATS = (0.0, -0.0, 1.5, -2.25, 0.1, _F32_TENTH, 3.0, float(2**53), float(2**63), 1e300, 5e-324)
_SMALL_FLOATS = (0.0, -0.0, 1.5, -2.25, 3.0, _F32_TENTH, F32_MAX, -F32_MAX, 2.0**-149, 2.0**24)
_DAYS = (dt.date.min, dt.date.max, *(dt.date(1970, 1, 1) + dt.timedelta(n) for n in range(-2, 3)))
_MOMENTS = (
    dt.datetime.min.replace(tzinfo=dt.UTC),
    dt.datetime.max.replace(tzinfo=dt.UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
    NOW.astimezone(dt.timezone(dt.timedelta(hours=2))),
    *(NOW + dt.timedelta(microseconds=ticks) for ticks in range(-2, 3)),
)


_SAMPLES: Mapping[Scalar, Sequence[Any]] = {
    Scalar.BOOL: (False, True),
    Scalar.F32: _SMALL_FLOATS,
    Scalar.F64: _FLOATS,
    Scalar.DATE: _DAYS,
    Scalar.DATETIME: _MOMENTS,
    Scalar.BLOB: (b"", b"x"),
    Scalar.STRING: (*_TEXTS, *_LONG_TEXTS),
}


def values_of(dtype: DataType) -> st.SearchStrategy[Any]:
    match dtype:
        case EnumType(values):
            return st.sampled_from(values)
        case ListType(item):
            return st.lists(values_of(ScalarType(item)), max_size=3)
        case ScalarType(scalar) if scalar in INTEGER_RANGES:
            low, high = INTEGER_RANGES[scalar]
            special = [number for number in _SPECIAL_INTEGERS if low <= number <= high]
            return st.integers(max(low, -3), 3) | st.sampled_from(special or [0])
        case VectorType(dim):
            return st.lists(st.sampled_from(_SMALL_FLOATS), min_size=dim, max_size=dim)
        case ScalarType(scalar):
            return st.sampled_from(_SAMPLES[scalar])


# --- graphs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RandomGraph:
    """Rows by type, by column."""

    rows: Mapping[TypeId, Sequence[Mapping[str, Any]]]

    def table(self, type_id: TypeId) -> pa.Table:
        schema = table_schema(CATALOG.types[type_id])
        return pa.Table.from_pylist([dict(row) for row in self.rows[type_id]], schema=schema)

    def counts(self) -> Mapping[str, int]:
        return {type_id: len(rows) for type_id, rows in self.rows.items()}


def _cells(draw: st.DrawFn, entity: EntityType) -> dict[str, Any]:
    return {
        prop.column: draw(st.none() | values_of(prop.dtype))
        for prop in entity.properties
        if prop.name != "handle"
    }


@st.composite
def graphs(draw: st.DrawFn) -> RandomGraph:
    """A few people, fewer cities, and edges between them, loops and parallels included."""
    types = CATALOG.types
    people = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=5, unique=True))
    # Both kinds of nodes use the same ids on purpose.
    cities = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=3, unique=True))
    (handle,) = (prop.column for prop in types[PERSON].properties if prop.name == "handle")
    rows: dict[TypeId, list[dict[str, Any]]] = {
        PERSON: [{"id": key, handle: key} | _cells(draw, types[PERSON]) for key in people],
        CITY: [{"id": key} | _cells(draw, types[CITY]) for key in cities],
    }
    for type_id, sources, targets, most in (
        (KNOWS, people, people, 8),
        (LIVES, people, cities, 5),
        (NEAR, cities, cities, 4),
    ):
        pairs = draw(
            st.lists(st.tuples(st.sampled_from(sources), st.sampled_from(targets)), max_size=most)
        )
        rows[type_id] = [
            {"id": f"e{place}", "src": source, "dst": target} | _cells(draw, types[type_id])
            for place, (source, target) in enumerate(pairs)
        ]
    return RandomGraph(rows)
