"""Which slots a piece of the IR needs."""

from omnigraph.datatypes.types import I64
from omnigraph.ir.expressions import (
    AggregateFunc,
    BlockAggregate,
    Compare,
    CompareOp,
    Const,
    Exists,
    PropertyRef,
    Slot,
)
from omnigraph.ir.queries import Block, EntitySlot, Hop
from omnigraph.ir.walk import nodes, slots_read


def number(slot: int) -> PropertyRef:
    return PropertyRef(Slot(slot), "n", I64, nullable=True)


KNOWS = Hop(Slot(0), Slot(1), "Knows", Slot(2), undirected=False, min_hops=1, max_hops=1)
INNER = Block((EntitySlot(Slot(1), "Person", "b"), EntitySlot(Slot(2), "Knows", "k")), (KNOWS,), ())


def test_a_comparison_needs_the_slots_of_both_sides() -> None:
    assert slots_read(Compare(CompareOp.EQ, number(3), number(4))) == {3, 4}
    assert slots_read(Const(1, I64)) == frozenset()


def test_a_hop_needs_its_ends_and_its_edge() -> None:
    assert slots_read(KNOWS) == {0, 1, 2}


def test_a_block_needs_only_what_it_does_not_introduce() -> None:
    assert slots_read(INNER) == {0}
    assert slots_read(Exists(INNER, negated=True)) == {0}


def test_a_fold_over_a_block_may_use_the_slots_of_the_block() -> None:
    total = BlockAggregate(AggregateFunc.SUM, INNER, number(1), distinct=False, dtype=I64)
    assert slots_read(total) == {0}


def test_nodes_are_found_at_any_depth() -> None:
    tree = Compare(CompareOp.GT, number(0), Const(1, I64))
    assert [type(node).__name__ for node in nodes((tree,))][:2] == ["Compare", "PropertyRef"]
    assert KNOWS in list(nodes(Exists(INNER, negated=False)))
