"""Types and nullability of expressions."""

from __future__ import annotations

import pytest

from omnigraph.datatypes.types import (
    BOOL,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
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
    Now,
    Or,
    ParamRef,
    PropertyRef,
    RankFusion,
    Score,
    ScoreFunc,
    Slot,
    StringMatch,
    StringOp,
    TextFunc,
    TextMatch,
    is_nullable,
    type_of,
)
from omnigraph.ir.queries import Block

SURE = PropertyRef(Slot(0), "p", STRING, nullable=False)
UNSURE = PropertyRef(Slot(0), "p", STRING, nullable=True)
EMPTY = Block((), (), ())
NEAREST = Score(ScoreFunc.NEAREST, SURE, Const("x", STRING))
EQUAL = Compare(CompareOp.EQ, SURE, SURE)
MAYBE_EQUAL = Compare(CompareOp.EQ, SURE, UNSURE)


@pytest.mark.parametrize(
    ("expr", "dtype", "nullable"),
    [
        (Const(1, I64), I64, False),
        (Const(None, I64), I64, True),
        (ParamRef("p", STRING, nullable=True), STRING, True),
        (SURE, STRING, False),
        (Now(), DATETIME, False),
        (EntityRef(Slot(0), "t"), None, False),
        (MakeList((Const(1, I64),), I64), ListType(Scalar.I64), False),
        (MakeList((Const("a", STRING), UNSURE), EnumType(("a",))), ListType(Scalar.STRING), True),
        (EQUAL, BOOL, False),
        (MAYBE_EQUAL, BOOL, True),
        (StringMatch(StringOp.CONTAINS, UNSURE, SURE), BOOL, True),
        (ListContains(SURE, SURE), BOOL, False),
        (InList(SURE, MakeList((), STRING)), BOOL, False),
        (IsNull(UNSURE, negated=False), BOOL, False),
        (And((EQUAL, MAYBE_EQUAL)), BOOL, True),
        (Or((EQUAL, EQUAL)), BOOL, False),
        (Not(MAYBE_EQUAL), BOOL, True),
        (Exists(EMPTY, negated=True), BOOL, False),
        (BlockAggregate(AggregateFunc.COUNT, EMPTY, None, False, I64), I64, False),
        (BlockAggregate(AggregateFunc.SUM, EMPTY, SURE, False, I64), I64, True),
        (TextMatch(TextFunc.SEARCH, UNSURE, SURE, None), BOOL, True),
        (NEAREST, F64, True),
        (Score(ScoreFunc.BM25, SURE, Const("x", STRING)), F64, False),
        (RankFusion((NEAREST, NEAREST), Const(60, I64)), F64, False),
        (Aggregate(AggregateFunc.COUNT, UNSURE, False, I64), I64, False),
        (Aggregate(AggregateFunc.MAX, SURE, False, STRING), STRING, True),
    ],
)
def test_an_expression_knows_its_type_and_whether_it_may_be_null(
    expr: Expr, dtype: DataType | None, nullable: bool
) -> None:
    assert type_of(expr) == dtype
    assert is_nullable(expr) is nullable
