"""The IR as text. The fixtures of the compiler show every shape; here is what they cannot."""

from __future__ import annotations

from omnigraph.datatypes.types import I64, STRING, ListType, Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import (
    AggregateFunc,
    And,
    BlockAggregate,
    Compare,
    CompareOp,
    Const,
    EntityRef,
    MakeList,
    Or,
    ParamRef,
    PropertyRef,
    Slot,
)
from omnigraph.ir.printer import print_ir
from omnigraph.ir.queries import (
    Assignment,
    Block,
    EntitySlot,
    Hop,
    Insert,
    InsertMode,
    MutationIR,
    ParamSpec,
    Projection,
    ReadIR,
    ResultColumn,
    TypeUse,
)


def test_without_names_types_and_properties_are_shown_by_id() -> None:
    age = PropertyRef(Slot(0), "p1", I64, nullable=True)
    query = ReadIR(
        name="q",
        params=(ParamSpec("v", VectorType(3), nullable=True),),
        match=Block(
            slots=(EntitySlot(Slot(0), "t1", "_"), EntitySlot(Slot(1), "t1", "_")),
            hops=(Hop(Slot(0), Slot(1), "e1", None, False, 1, 2),),
            filters=(
                Compare(CompareOp.GT, age, Const(1, I64)),
                Or(
                    (
                        And((Const(True, I64), Const(False, I64))),
                        Compare(
                            CompareOp.EQ,
                            BlockAggregate(AggregateFunc.COUNT, Block((), (), ()), age, True, I64),
                            Const(2, I64),
                        ),
                    )
                ),
            ),
        ),
        returns=(Projection("x", EntityRef(Slot(0), "t1")), Projection("l", age)),
        distinct=False,
        order=(),
        limit=None,
        offset=ParamRef("n", I64, nullable=False),
        columns=(ResultColumn("x", "object", False), ResultColumn("l", "bigint", True)),
        reads=(TypeUse("node", "t1", "T"),),
    )
    assert print_ir(query) == (
        "query q($v: Vector(3)?)\n"
        "  reads node T\n"
        "  match\n"
        "    _: t1\n"
        "    _#1: t1\n"
        "    _ -[e1 {1,2}]-> _#1\n"
        "    filter _.p1 > 1\n"
        "    filter (true and false) or (count distinct {\n"
        "      fold _.p1\n"
        "    } = 2)\n"
        "  return\n"
        "    x: object = _\n"
        "    l: bigint? = _.p1\n"
        "  offset $n\n"
    )


def test_long_lists_and_bytes_are_abbreviated() -> None:
    blob = ScalarType(Scalar.BLOB)
    statement = Insert(
        InsertMode.UPSERT,
        "t1",
        "node",
        (
            Assignment("p1", Const(tuple(float(at) for at in range(9)), VectorType(9))),
            Assignment("p2", Const(b"12345", blob)),
            Assignment("p3", MakeList((Const("a", STRING),), STRING)),
            Assignment("p4", ParamRef("list", ListType(Scalar.STRING), nullable=False)),
        ),
        None,
        None,
    )
    query = MutationIR("m", (), (statement,), (), ())
    assert print_ir(query).splitlines()[3:] == [
        "  insert node t1",
        "    p1 = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, … 9 items]",
        "    p2 = 5 bytes",
        '    p3 = ["a"]',
        "    p4 = $list",
    ]
