"""Random reads of several stages, unions and lists that become rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from omnigraph.datatypes.types import (
    I64,
    STRING,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.ir.expressions import (
    Compare,
    CompareOp,
    Const,
    EntityRef,
    MakeList,
    Slot,
    ValueRef,
    ValueSlot,
    type_of,
)
from omnigraph.ir.queries import (
    Block,
    EntitySlot,
    Projection,
    ReadIR,
    Stage,
    Union,
    Unwind,
)
from omnigraph.testing.random_reads import blocks, conditions_on, reads, values_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ir.queries import Column

__all__ = ["optional_reads", "staged_reads"]

# Slots of one stage and of its inner blocks stay below the first slot of the next one.
_SLOTS = 1_000


@st.composite
def staged_reads(draw: st.DrawFn) -> ReadIR:
    """A read that extends the rows of a stage or of a union."""
    stage = _as_stage(draw(reads()), _SLOTS - 100)
    source: Stage | Union = stage
    if draw(st.integers(0, 2)) == 0:
        source = draw(_unions(stage))
    block = draw(_extending(source, _SLOTS))
    read = draw(reads(st.just(block)))
    if draw(st.integers(0, 2)) == 0:
        # One stage more.
        middle = _as_stage(read, 2 * _SLOTS - 100)
        read = draw(reads(_extending(middle, 2 * _SLOTS)))
    return read


@st.composite
def optional_reads(draw: st.DrawFn) -> ReadIR:
    """A read with optional blocks, whose rows may be those of a stage."""
    block = draw(blocks(most=2))
    optionals: list[Block] = []
    visible = list(block.slots)
    for at in range(draw(st.integers(1, 2))):
        inner = draw(blocks(visible, 200 * (at + 1), 0, most=2))
        if draw(st.integers(0, 3)) == 0:
            nested = draw(blocks([*visible, *inner.slots], 200 * (at + 1) + 100, 0, most=1))
            inner = replace(inner, optionals=(_nullable(nested),))
        optionals.append(_nullable(inner))
        visible += _slots_of(optionals[-1])
    filters = draw(st.lists(conditions_on(visible), max_size=1))
    found = replace(block, optionals=tuple(optionals), filters=(*block.filters, *filters))
    read = draw(reads(st.just(found)))
    if draw(st.integers(0, 2)) == 0:
        read = draw(reads(_extending(_as_stage(read, _SLOTS - 100), _SLOTS)))
    return read


def _nullable(block: Block) -> Block:
    return replace(block, slots=tuple(replace(each, nullable=True) for each in block.slots))


def _slots_of(block: Block) -> list[EntitySlot]:
    return [*block.slots, *(slot for inner in block.optionals for slot in _slots_of(inner))]


def _as_stage(read: ReadIR, first: int) -> Stage:
    """A read as a stage; each column has a slot, so that those of lists of enums are left out."""
    outputs = tuple(_output(each, Slot(first + at)) for at, each in enumerate(read.returns))
    return Stage(
        read.match,
        read.returns,
        read.distinct,
        read.having,
        read.order,
        read.limit,
        read.offset,
        outputs,
    )


def _output(projection: Projection, slot: Slot) -> Column:
    expr = projection.expr
    if isinstance(expr, EntityRef):
        return EntitySlot(slot, expr.type_id, projection.name, expr.nullable)
    dtype = type_of(expr) or STRING
    held = STRING if isinstance(dtype, EnumType) else dtype
    return ValueSlot(slot, held, nullable=True, name=projection.name)


@st.composite
def _unions(draw: st.DrawFn, stage: Stage) -> Union:
    """The same columns twice, from different pages of the same rows."""
    first = int(stage.outputs[0].slot) + 20
    other = replace(
        stage,
        limit=draw(st.none() | st.integers(0, 3).map(lambda n: Const(n, I64))),
        outputs=tuple(
            replace(each, slot=Slot(first + at)) for at, each in enumerate(stage.outputs)
        ),
    )
    outputs = tuple(
        replace(each, slot=Slot(first + 20 + at)) for at, each in enumerate(stage.outputs)
    )
    return Union((stage, other), draw(st.booleans()), outputs)


@st.composite
def _extending(draw: st.DrawFn, source: Stage | Union, first: int) -> Block:
    """A pattern that extends the rows of a source."""
    entities = [each for each in source.outputs if isinstance(each, EntitySlot)]
    values = [each for each in source.outputs if isinstance(each, ValueSlot)]
    # The entities of the source are outer slots of the pattern, as its own ones are later.
    block = draw(blocks(entities, first, 0, most=2))
    unwinds = draw(_unwinds(values, first + 500))
    known: list[Column] = [*entities, *block.slots, *values, *(unwind.item for unwind in unwinds)]
    filters = list(block.filters)
    if draw(st.booleans()) and known:
        filters += draw(st.lists(conditions_on(known), max_size=1))
    filters += draw(_links(values, block.slots))
    return replace(block, filters=tuple(filters), source=source, unwinds=tuple(unwinds))


@st.composite
def _links(
    draw: st.DrawFn, values: Sequence[ValueSlot], slots: Sequence[EntitySlot]
) -> list[Compare]:
    """A property that equals a value of the source."""
    pairs = [
        (ValueRef(value.slot, value.dtype, value.nullable), ref)
        for value in values
        for ref in values_shown(slots)
        if value.dtype == ref.dtype and not isinstance(value.dtype, ListType | VectorType)
    ]
    if not pairs or draw(st.booleans()):
        return []
    return [Compare(CompareOp.EQ, *draw(st.sampled_from(pairs)))]


@st.composite
def _unwinds(draw: st.DrawFn, values: Sequence[ValueSlot], first: int) -> list[Unwind]:
    lists = [each for each in values if isinstance(each.dtype, ListType)]
    found = []
    for at in range(draw(st.sampled_from([0, 0, 1, 2]))):
        if lists and at:
            chosen = draw(st.sampled_from(lists))
            items = ValueRef(chosen.slot, chosen.dtype, nullable=True)
            held = ScalarType(chosen.dtype.item) if isinstance(chosen.dtype, ListType) else STRING
        else:
            numbers = draw(st.lists(st.integers(-2, 3), max_size=3))
            items_of = tuple(Const(number, I64) for number in numbers)
            found.append(Unwind(_item(first + at, Scalar.I64), MakeList(items_of, I64)))
            continue
        found.append(Unwind(_item(first + at, held.scalar), items))
    return found


def _item(slot: int, scalar: Scalar) -> ValueSlot:
    return ValueSlot(Slot(slot), ScalarType(scalar), nullable=True, name=f"i{slot}")
