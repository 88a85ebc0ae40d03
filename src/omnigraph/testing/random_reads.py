"""Random small graphs and random reads, for comparisons of evaluators.

Reads are generated as IR, which covers unusual shapes: hops between the same two slots, constant
conditions, nested blocks, edges as the start of a pattern.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from omnigraph.catalog.model import EdgeType, TypeId
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
    Call,
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
    ValueRef,
    ValueSlot,
    type_of,
)
from omnigraph.ir.functions import Function
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
from omnigraph.testing.random_expressions import computed, computed_conditions, numbers
from omnigraph.testing.random_graphs import (
    CATALOG,
    CITY,
    F32_MAX,
    NOW,
    PARAMS,
    PERSON,
    RandomGraph,
    graphs,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ir.queries import Column


__all__ = [
    "CATALOG",
    "NOW",
    "PARAMS",
    "RandomGraph",
    "blocks",
    "conditions_on",
    "graphs",
    "reads",
    "values_shown",
]

_PARAM_REFS: tuple[ParamRef, ...] = (
    ParamRef("i", I64, nullable=False),
    ParamRef("f", F64, nullable=False),
    ParamRef("s", STRING, nullable=False),
    ParamRef("none", I64, nullable=True),
)
_MANY = ParamRef("many", ListType(Scalar.I64), nullable=False)

# --- conditions --------------------------------------------------------------------------------


def _refs(slots: Sequence[Column]) -> list[PropertyRef]:
    found: list[Any] = []
    for each in slots:
        if isinstance(each, ValueSlot):
            found.append(ValueRef(each.slot, each.dtype, each.nullable))
            continue
        entity = CATALOG.types[TypeId(each.type_id)]
        found.append(PropertyRef(each.slot, "@id", STRING, each.nullable))
        if isinstance(entity, EdgeType):
            found += [
                PropertyRef(each.slot, end, STRING, each.nullable) for end in ("@src", "@dst")
            ]
        found += [
            PropertyRef(each.slot, prop.id, prop.dtype, prop.nullable or each.nullable)
            for prop in entity.properties
            # Queries cannot read blobs.
            if prop.dtype != ScalarType(Scalar.BLOB)
        ]
    return found


def _entities(slots: Sequence[Column]) -> list[EntityRef]:
    """The whole entities in slots."""
    return [
        EntityRef(each.slot, each.type_id, each.nullable)
        for each in slots
        if isinstance(each, EntitySlot)
    ]


def values_shown(slots: Sequence[Column]) -> list[PropertyRef]:
    """The values that slots and the properties of their entities hold."""
    return _refs(slots)


def conditions_on(slots: Sequence[Column]) -> st.SearchStrategy[Expr]:
    """Draw conditions on values."""
    return computed_conditions(_refs(slots))


def _comparable(dtype: DataType) -> Any:
    """A representative of all types that can be compared with this one."""
    if is_numeric(dtype):
        return "number"
    return STRING if isinstance(dtype, EnumType) else dtype


# Literals at the borders of the range of a column, and beyond.
_LARGE = (2**31, 2**53 + 1, -(2**40), 2**63 - 1, -(2**63))
_BORDERS = (1.5, 0.1, -1e300, F32_MAX, 3.4028236e38, 1e-46, float(2**63), float(2**64))


def _constants(dtype: DataType) -> st.SearchStrategy[Expr]:
    """Constants that a value of the type may be compared with, typed NULLs among them."""
    own = (st.none() | values_of(dtype)).map(lambda value: Const(value, dtype))
    if is_numeric(dtype):
        whole = st.sampled_from([0, 2, *_LARGE]).map(lambda n: Const(n, I64))
        broken = st.sampled_from([0.5, 3e9, *_BORDERS]).map(lambda x: Const(x, F64))
        own = own | whole | broken
    given = [ref for ref in _PARAM_REFS if _comparable(ref.dtype) == _comparable(dtype)]
    return own | st.sampled_from(given) if given else own


@st.composite
def _atoms(draw: st.DrawFn, slots: Sequence[EntitySlot]) -> Expr:
    refs = _refs(slots)
    if draw(st.integers(0, 4)) == 0:
        return draw(computed_conditions(refs))
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
        EntitySlot(Slot(first + place), draw(st.sampled_from([PERSON, PERSON, CITY])), f"v{place}")
        for place in range(count)
    ]
    nodes = [each for each in (*outer, *slots) if each.type_id in (PERSON, CITY)]
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


_PLAIN_FOLDS = [*AggregateFunc][:5]


@st.composite
def _row_folds(draw: st.DrawFn, slots: Sequence[Column]) -> Aggregate:
    """An aggregate that needs whole rows."""
    refs = [ref for ref in _refs(slots) if not isinstance(ref.dtype, ListType | VectorType)]
    plain = [ref for ref in refs if is_numeric(ref.dtype) or ref.dtype in (STRING, DATE)]
    numeric = [ref for ref in refs if is_numeric(ref.dtype)]
    distinct = draw(st.booleans())
    func = draw(st.sampled_from([*AggregateFunc][5:]))
    ref = draw(st.sampled_from(plain))
    if func is AggregateFunc.COLLECT or not numeric:
        item = ref.dtype.scalar if isinstance(ref.dtype, ScalarType) else Scalar.STRING
        return Aggregate(AggregateFunc.COLLECT, ref, distinct, ListType(item))
    if func in (AggregateFunc.MIN_BY, AggregateFunc.MAX_BY):
        return Aggregate(func, ref, distinct, ref.dtype, draw(st.sampled_from(plain)))
    share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    parameter = Const(share, F64) if func is AggregateFunc.PERCENTILE else None
    return Aggregate(func, draw(st.sampled_from(numeric)), distinct, F64, parameter)


@st.composite
def _folded(draw: st.DrawFn, slots: Sequence[Column]) -> tuple[AggregateFunc, Expr, DataType]:
    """A fold, what it folds, and the type of the outcome."""
    func = draw(st.sampled_from(_PLAIN_FOLDS))
    if func is not AggregateFunc.COUNT and draw(st.integers(0, 3)) == 0:
        value = draw(numbers(_refs(slots), 1))
        dtype = type_of(value) or F64
        whole = isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES
        results = {AggregateFunc.SUM: I64 if whole else F64, AggregateFunc.AVG: F64}
        return func, value, results.get(func, dtype)
    refs = [ref for ref in _refs(slots) if not isinstance(ref.dtype, ListType | VectorType)]
    if func in (AggregateFunc.SUM, AggregateFunc.AVG):
        refs = [ref for ref in refs if is_numeric(ref.dtype)]
    elif func is not AggregateFunc.COUNT:
        refs = [
            ref for ref in refs if is_numeric(ref.dtype) or ref.dtype in (STRING, DATE, DATETIME)
        ]
    if func is AggregateFunc.COUNT or not refs:
        counted: list[Expr] = [
            *refs,
            *(
                EntityRef(each.slot, each.type_id, each.nullable)
                for each in slots
                if isinstance(each, EntitySlot)
            ),
        ]
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
def _aggregates(draw: st.DrawFn, slots: Sequence[Column]) -> Aggregate:
    if draw(st.integers(0, 3)) == 0:
        return Aggregate(AggregateFunc.COUNT, None, distinct=False, dtype=I64)
    if draw(st.integers(0, 3)) == 0:
        return draw(_row_folds(slots))
    func, operand, dtype = draw(_folded(slots))
    return Aggregate(func, operand, distinct=draw(st.booleans()), dtype=dtype)


def _own_slots(block: Block) -> list[EntitySlot]:
    """The slots of a block and of its optional blocks."""
    return [*block.slots, *(slot for inner in block.optionals for slot in _own_slots(inner))]


@st.composite
def reads(draw: st.DrawFn, match: st.SearchStrategy[Block] | None = None) -> ReadIR:
    """Draw a read of any shape without search."""
    block = draw(blocks() if match is None else match)
    source = () if block.source is None else block.source.outputs
    optional = [slot for inner in block.optionals for slot in _own_slots(inner)]
    slots = (*block.slots, *source, *(unwind.item for unwind in block.unwinds), *optional)
    entities = [each for each in slots if isinstance(each, EntitySlot)]
    shown: st.SearchStrategy[Expr] = st.sampled_from(
        [
            *_refs(slots),
            *(EntityRef(each.slot, each.type_id, each.nullable) for each in entities),
            Const(7, I64),
        ]
    )
    # Inner blocks have slots of their own.
    base = max((int(each.slot) for each in slots), default=0) // 1000 * 1000
    exprs: list[Expr] = []
    for place in range(draw(st.integers(1, 3))):
        # Every block has its own slots.
        inner = blocks(entities, base + 50 + 20 * place, 0)
        folds_of = inner.flatmap(lambda asked: _block_folds(asked, entities))
        exprs.append(draw(shown | shown | folds_of | computed(_refs(slots))))
    folds = draw(st.booleans())
    if folds:
        exprs += draw(st.lists(_aggregates(slots), min_size=1, max_size=2))
        if type_of(exprs[-1]) in (I64, F64) and draw(st.booleans()):
            # An aggregate inside of an expression.
            exprs[-1] = Call(Function.DIVIDE, (exprs[-1], Const(2, I64)), F64)
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
    draw: st.DrawFn, exprs: Sequence[Expr], slots: Sequence[Column], *, grouped: bool
) -> OrderKey:
    """Draw the order of a read; aggregated rows are ordered by result columns, as the compiler
    requires.
    """
    choices: list[Expr] = [*exprs] if grouped else [*exprs, *_refs(slots)]
    single = [
        expr for expr in choices if not isinstance(type_of(expr), ListType | VectorType | None)
    ]
    return OrderKey(draw(st.sampled_from(single or [Const(1, I64)])), draw(st.booleans()))
