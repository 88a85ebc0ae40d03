"""Conditions are simplified without changing what they mean."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.datatypes.types import BOOL, I64
from omnigraph.ir.expressions import (
    And,
    Compare,
    CompareOp,
    Const,
    Exists,
    Expr,
    InList,
    IsNull,
    MakeList,
    Not,
    Or,
    PropertyRef,
    Slot,
)
from omnigraph.ir.queries import Block, EntitySlot
from omnigraph.planner.passes.constants import FALSE, TRUE, simplify
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.semantics.predicates import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

X = PropertyRef(Slot(0), "x", I64, nullable=True)
Y = PropertyRef(Slot(0), "y", I64, nullable=True)
NULL = Const(None, BOOL)
NOW = micros_to_datetime(0)


def less(left: Expr, right: Expr) -> Compare:
    return Compare(CompareOp.LT, left, right)


def number(value: int | None) -> Const:
    return Const(value, I64)


EXAMPLES: Sequence[tuple[Expr, Expr]] = [
    (Not(Not(less(X, Y))), less(X, Y)),
    (Not(less(X, Y)), Compare(CompareOp.GE, X, Y)),
    (Not(IsNull(X, negated=False)), IsNull(X, negated=True)),
    (Not(Or((less(X, Y), IsNull(X, False)))), And((Compare(CompareOp.GE, X, Y), IsNull(X, True)))),
    (And((TRUE, less(X, Y))), less(X, Y)),
    (And((less(X, Y), FALSE)), FALSE),
    (Or((less(X, Y), TRUE)), TRUE),
    (Or((FALSE, less(X, Y))), less(X, Y)),
    (And((And((less(X, Y), IsNull(X, True))), IsNull(Y, True))),
     And((less(X, Y), IsNull(X, True), IsNull(Y, True)))),
    (less(number(1), number(2)), TRUE),
    (less(number(2), number(1)), FALSE),
    (less(X, number(None)), NULL),
    (IsNull(number(None), negated=False), TRUE),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "simple"), EXAMPLES)
def test_a_condition_becomes_the_simplest_equal_one(expr: Expr, simple: Expr) -> None:
    assert simplify(expr) == simple


def test_what_cannot_be_turned_round_stays_below_its_negation() -> None:
    member = InList(X, MakeList((number(1),), I64))
    assert simplify(Not(member)) == Not(member)


def test_a_negated_block_asks_for_no_row() -> None:
    block = Block((EntitySlot(Slot(1), "T", "x"),), (), ())
    assert simplify(Not(Exists(block, negated=False))) == Exists(block, negated=True)


def test_conditions_inside_a_block_are_simplified_too() -> None:
    block = Block((EntitySlot(Slot(1), "T", "x"),), (), (Not(Not(less(X, Y))), TRUE))
    simple = simplify(Exists(block, negated=False))
    assert simple == Exists(Block(block.slots, (), (less(X, Y),)), negated=False)


numbers = st.sampled_from([X, Y, number(0), number(1), number(None)])
atoms = (
    st.builds(Compare, st.sampled_from(list(CompareOp)), numbers, numbers)
    | st.builds(IsNull, numbers, st.booleans())
    | st.builds(InList, st.sampled_from([X, Y]), st.just(MakeList((number(1),), I64)))
    | st.sampled_from([TRUE, FALSE, NULL])
)
conditions = st.recursive(
    atoms,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=8,
)


@given(conditions)
def test_a_simple_condition_has_the_same_truth_on_every_row(condition: Expr) -> None:
    for x, y in itertools.product((None, 0, 1), repeat=2):
        row = {"x": x, "y": y}
        assert matches(simplify(condition), row, {}, NOW) == matches(condition, row, {}, NOW)
