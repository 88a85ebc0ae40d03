"""Random small graphs and random reads, for comparisons of evaluators.

Reads are generated as IR, which covers unusual shapes: hops between the same two slots, constant
conditions, nested blocks, edges as the start of a pattern.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import EdgeType, TypeId
from omnigraph.datatypes.arrow import table_schema
from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    FLOATS,
    I64,
    INTEGER_RANGES,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    is_numeric,
)
from omnigraph.ir.expressions import (
    Aggregate,
    AggregateFunc,
    And,
    BlockAggregate,
    Compare,
    CompareOp,
    Const,
    EntityRef,
    Exists,
    Expr,
    InList,
    IsNull,
    ListContains,
    MakeList,
    Not,
    Or,
    ParamRef,
    PropertyRef,
    Slot,
    StringMatch,
    StringOp,
    type_of,
)
from omnigraph.ir.queries import (
    Block,
    EntitySlot,
    Hop,
    OrderKey,
    Projection,
    ReadIR,
    ResultColumn,
    TypeUse,
)
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.model import EntityType

__all__ = ["CATALOG", "NOW", "PARAMS", "RandomGraph", "blocks", "graphs", "reads"]

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
_PERSON, _CITY = (node.id for node in CATALOG.nodes)
_KNOWS, _LIVES, _NEAR = (edge.id for edge in CATALOG.edges)

# The parameters of all random reads.
PARAMS: Mapping[str, Any] = {"i": 1, "f": 1.5, "s": "a", "none": None, "many": [1, 2**53 + 1, -3]}
_PARAM_REFS: tuple[ParamRef, ...] = (
    ParamRef("i", I64, nullable=False),
    ParamRef("f", F64, nullable=False),
    ParamRef("s", STRING, nullable=False),
    ParamRef("none", I64, nullable=True),
)
_MANY = ParamRef("many", ListType(Scalar.I64), nullable=False)

# --- values ------------------------------------------------------------------------------------

_IDS = ("a", "b", "ab", "Z", "ä", "it's", "100%", "x" * 40)
_TEXTS = ("", "a", "ab", "b", "B", "ä", "a\u0308", "a%b", "it's", "\0", "\uffff", "\U00010000")
# Several words and alphabets, with the special characters of patterns.
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
_F32_MAX, _F32_TENTH = 3.4028234663852886e38, 0.10000000149011612
_FLOATS = (0.0, -0.0, 1.5, -2.25, 0.1, _F32_TENTH, 3.0, float(2**53), float(2**63), 1e300, 5e-324)
_SMALL_FLOATS = (0.0, -0.0, 1.5, -2.25, 3.0, _F32_TENTH, _F32_MAX, -_F32_MAX, 2.0**-149, 2.0**24)
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


def _values(dtype: DataType) -> st.SearchStrategy[Any]:
    match dtype:
        case EnumType(values):
            return st.sampled_from(values)
        case ListType(item):
            return st.lists(_values(ScalarType(item)), max_size=3)
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
        prop.column: draw(st.none() | _values(prop.dtype))
        for prop in entity.properties
        if prop.name != "handle"
    }


@st.composite
def graphs(draw: st.DrawFn) -> RandomGraph:
    """Draw a few people, fewer cities, and edges between them, loops and parallels included."""
    types = CATALOG.types
    people = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=5, unique=True))
    # Both node types use the same ids on purpose.
    cities = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=3, unique=True))
    (handle,) = (prop.column for prop in types[_PERSON].properties if prop.name == "handle")
    rows: dict[TypeId, list[dict[str, Any]]] = {
        _PERSON: [{"id": key, handle: key} | _cells(draw, types[_PERSON]) for key in people],
        _CITY: [{"id": key} | _cells(draw, types[_CITY]) for key in cities],
    }
    for type_id, sources, targets, most in (
        (_KNOWS, people, people, 8),
        (_LIVES, people, cities, 5),
        (_NEAR, cities, cities, 4),
    ):
        pairs = draw(
            st.lists(st.tuples(st.sampled_from(sources), st.sampled_from(targets)), max_size=most)
        )
        rows[type_id] = [
            {"id": f"e{place}", "src": source, "dst": target} | _cells(draw, types[type_id])
            for place, (source, target) in enumerate(pairs)
        ]
    return RandomGraph(rows)


# --- conditions --------------------------------------------------------------------------------


def _refs(slots: Sequence[EntitySlot]) -> list[PropertyRef]:
    found = []
    for each in slots:
        entity = CATALOG.types[TypeId(each.type_id)]
        found.append(PropertyRef(each.slot, "@id", STRING, nullable=False))
        if isinstance(entity, EdgeType):
            found += [
                PropertyRef(each.slot, end, STRING, nullable=False) for end in ("@src", "@dst")
            ]
        found += [
            PropertyRef(each.slot, prop.id, prop.dtype, nullable=prop.nullable)
            for prop in entity.properties
            # Queries cannot read blobs.
            if prop.dtype != ScalarType(Scalar.BLOB)
        ]
    return found


def _comparable(dtype: DataType) -> Any:
    """A representative of all types that can be compared with this one."""
    if is_numeric(dtype):
        return "number"
    return STRING if isinstance(dtype, EnumType) else dtype


# Literals at the borders of the range of a column, and beyond.
_LARGE = (2**31, 2**53 + 1, -(2**40), 2**63 - 1, -(2**63))
_BORDERS = (1.5, 0.1, -1e300, _F32_MAX, 3.4028236e38, 1e-46, float(2**63), float(2**64))


def _constants(dtype: DataType) -> st.SearchStrategy[Expr]:
    """Draw constants that are comparable with the type, including typed NULLs."""
    own = (st.none() | _values(dtype)).map(lambda value: Const(value, dtype))
    if is_numeric(dtype):
        whole = st.sampled_from([0, 2, *_LARGE]).map(lambda n: Const(n, I64))
        broken = st.sampled_from([0.5, 3e9, *_BORDERS]).map(lambda x: Const(x, F64))
        own = own | whole | broken
    given = [ref for ref in _PARAM_REFS if _comparable(ref.dtype) == _comparable(dtype)]
    return own | st.sampled_from(given) if given else own


@st.composite
def _atoms(draw: st.DrawFn, slots: Sequence[EntitySlot]) -> Expr:
    refs = _refs(slots)
    ref = draw(st.sampled_from(refs))
    negated = draw(st.booleans())
    if isinstance(ref.dtype, VectorType) or draw(st.integers(0, 5)) == 0:
        return IsNull(ref, negated)
    if isinstance(ref.dtype, ListType):
        item = ScalarType(ref.dtype.item)
        return ListContains(ref, draw(_constants(item)))
    if ref.dtype == BOOL and negated:
        return ref
    shape = draw(st.sampled_from(["constant", "constant", "other", "options", "text"]))
    if shape == "text" and _comparable(ref.dtype) == STRING:
        return StringMatch(draw(st.sampled_from(list(StringOp))), ref, draw(_constants(STRING)))
    if shape == "options":
        return InList(ref, draw(_options(ref.dtype)))
    other: Expr = draw(_constants(ref.dtype))
    if shape == "other":
        alike = [each for each in refs if _comparable(each.dtype) == _comparable(ref.dtype)]
        other = draw(st.sampled_from(alike))
    sides = (other, ref) if negated else (ref, other)
    return Compare(draw(st.sampled_from(list(CompareOp))), *sides)


def _options(dtype: DataType) -> st.SearchStrategy[Expr]:
    listed = st.lists(_constants(dtype), max_size=3).map(
        lambda items: MakeList(tuple(items), dtype)
    )
    return listed | st.just(_MANY) if is_numeric(dtype) else listed


def _conditions(slots: Sequence[EntitySlot]) -> st.SearchStrategy[Expr]:
    leaves = _atoms(slots)
    if not slots:
        leaves = st.sampled_from([Const(value, BOOL) for value in (True, False, None)])
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(And, st.tuples(inner, inner))
            | st.builds(Or, st.tuples(inner, inner))
        ),
        max_leaves=4,
    )


# --- blocks ------------------------------------------------------------------------------------


@st.composite
def _hops(draw: st.DrawFn, nodes: Sequence[EntitySlot]) -> Hop | None:
    """Draw a hop between matching slots, or none without any."""
    edge = draw(st.sampled_from(CATALOG.edges))
    sources = [each.slot for each in nodes if each.type_id == edge.source]
    targets = [each.slot for each in nodes if each.type_id == edge.target]
    if not sources or not targets:
        return None
    low = draw(st.integers(0, 2))
    bounds = draw(st.sampled_from([(1, 1), (1, 1), (low, draw(st.integers(max(low, 1), 3)))]))
    return Hop(
        draw(st.sampled_from(sources)),
        draw(st.sampled_from(targets)),
        edge.id,
        None,
        edge.source == edge.target and draw(st.booleans()),
        *bounds,
    )


@st.composite
def blocks(
    draw: st.DrawFn,
    outer: Sequence[EntitySlot] = (),
    first: int = 0,
    depth: int = 1,
    most: int = 3,
) -> Block:
    """Draw a pattern of a few nodes and bound edges, which may refer to outer slots."""
    count = min(draw(st.sampled_from([0, 1, 2, 2] if outer else [1, 2, 2, 3])), most)
    slots = [
        EntitySlot(
            Slot(first + place), draw(st.sampled_from([_PERSON, _PERSON, _CITY])), f"v{place}"
        )
        for place in range(count)
    ]
    nodes = [each for each in (*outer, *slots) if each.type_id in (_PERSON, _CITY)]
    hops = []
    for _ in range(draw(st.integers(0, 3))):
        hop = draw(_hops(nodes)) if nodes else None
        if hop is None:
            continue
        if (hop.min_hops, hop.max_hops) == (1, 1) and draw(st.booleans()):
            edge = EntitySlot(Slot(first + len(slots)), hop.edge_type, f"e{len(slots)}")
            slots.append(edge)
            hop = replace(hop, edge_slot=edge.slot)
        hops.append(hop)
    visible = (*outer, *slots)
    filters: list[Expr] = draw(st.lists(_conditions(visible), max_size=2))
    if depth:
        inner = _inner_conditions(visible, first + 10, depth - 1)
        filters += draw(st.lists(inner, max_size=1))
    return Block(tuple(draw(st.permutations(slots))), tuple(hops), tuple(filters))


@st.composite
def _inner_conditions(draw: st.DrawFn, outer: Sequence[EntitySlot], first: int, depth: int) -> Expr:
    """Draw an existence or count condition, alone or inside a longer condition."""
    block = draw(blocks(outer, first, depth))
    exists = Exists(block, draw(st.booleans()))
    match draw(st.integers(0, 3)):
        case 0:
            return exists
        case 1:
            return Or((draw(_conditions(outer)), exists))
        case 2:
            return Not(And((exists, draw(_conditions(outer)))))
        case _:
            fold = draw(_block_folds(block, outer))
            if not is_numeric(fold.dtype):
                return IsNull(fold, draw(st.booleans()))
            return Compare(draw(st.sampled_from(list(CompareOp))), fold, Const(1, I64))


@st.composite
def _folded(draw: st.DrawFn, slots: Sequence[EntitySlot]) -> tuple[AggregateFunc, Expr, DataType]:
    """Return an aggregate, its operand and the type of its result."""
    func = draw(st.sampled_from(list(AggregateFunc)))
    refs = [ref for ref in _refs(slots) if not isinstance(ref.dtype, ListType | VectorType)]
    if func in (AggregateFunc.SUM, AggregateFunc.AVG):
        refs = [ref for ref in refs if is_numeric(ref.dtype)]
    elif func is not AggregateFunc.COUNT:
        refs = [
            ref for ref in refs if is_numeric(ref.dtype) or ref.dtype in (STRING, DATE, DATETIME)
        ]
    if func is AggregateFunc.COUNT or not refs:
        counted: list[Expr] = [*refs, *(EntityRef(each.slot, each.type_id) for each in slots)]
        return AggregateFunc.COUNT, draw(st.sampled_from(counted)), I64
    ref = draw(st.sampled_from(refs))
    if func is AggregateFunc.AVG:
        return func, ref, F64
    if func is AggregateFunc.SUM:
        floats = isinstance(ref.dtype, ScalarType) and ref.dtype.scalar in FLOATS
        return func, ref, F64 if floats else I64
    return func, ref, ref.dtype


@st.composite
def _block_folds(draw: st.DrawFn, block: Block, outer: Sequence[EntitySlot]) -> BlockAggregate:
    if draw(st.booleans()) or not (block.slots or outer):
        return BlockAggregate(AggregateFunc.COUNT, block, None, distinct=False, dtype=I64)
    func, operand, dtype = draw(_folded(block.slots or outer))
    return BlockAggregate(func, block, operand, distinct=draw(st.booleans()), dtype=dtype)


# --- reads -------------------------------------------------------------------------------------


@st.composite
def _aggregates(draw: st.DrawFn, slots: Sequence[EntitySlot]) -> Aggregate:
    if draw(st.integers(0, 3)) == 0:
        return Aggregate(AggregateFunc.COUNT, None, distinct=False, dtype=I64)
    func, operand, dtype = draw(_folded(slots))
    return Aggregate(func, operand, distinct=draw(st.booleans()), dtype=dtype)


@st.composite
def reads(draw: st.DrawFn, match: st.SearchStrategy[Block] | None = None) -> ReadIR:
    """Draw a read of any shape without search."""
    block = draw(blocks() if match is None else match)
    slots = block.slots
    shown: st.SearchStrategy[Expr] = st.sampled_from(
        [*_refs(slots), *(EntityRef(each.slot, each.type_id) for each in slots), Const(7, I64)]
    )
    exprs: list[Expr] = []
    for place in range(draw(st.integers(1, 3))):
        # Every block has its own slots.
        inner = blocks(slots, 50 + 20 * place, 0)
        folds_of = inner.flatmap(lambda asked: _block_folds(asked, slots))
        exprs.append(draw(shown | shown | folds_of))
    folds = draw(st.booleans())
    if folds:
        exprs += draw(st.lists(_aggregates(slots), min_size=1, max_size=2))
    distinct = draw(st.booleans())
    order = draw(st.lists(_order_keys(exprs, slots, grouped=folds or distinct), max_size=2))
    return ReadIR(
        name="q",
        params=(),
        match=block,
        returns=tuple(Projection(f"c{place}", expr) for place, expr in enumerate(exprs)),
        distinct=distinct,
        order=tuple(order),
        limit=draw(st.none() | st.integers(0, 4).map(lambda n: Const(n, I64))),
        offset=draw(st.none() | st.integers(0, 3).map(lambda n: Const(n, I64))),
        columns=tuple(
            ResultColumn(f"c{place}", "any", nullable=True) for place in range(len(exprs))
        ),
        reads=tuple(TypeUse("any", type_id, type_id) for type_id in CATALOG.types),
    )


@st.composite
def _order_keys(
    draw: st.DrawFn, exprs: Sequence[Expr], slots: Sequence[EntitySlot], *, grouped: bool
) -> OrderKey:
    """Draw the order of a read; aggregated rows are ordered by result columns, as the compiler
    requires.
    """
    choices: list[Expr] = [*exprs] if grouped else [*exprs, *_refs(slots)]
    single = [
        expr for expr in choices if not isinstance(type_of(expr), ListType | VectorType | None)
    ]
    return OrderKey(draw(st.sampled_from(single or [Const(1, I64)])), draw(st.booleans()))
