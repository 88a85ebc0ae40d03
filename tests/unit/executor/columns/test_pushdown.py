"""What is handed to Lance, and that Lance understands it as we do."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
)
from omnigraph.executor.columns.pushdown import split
from omnigraph.ir.expressions import (
    And,
    Compare,
    CompareOp,
    Const,
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
)
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.semantics.predicates import matches

if TYPE_CHECKING:
    from pathlib import Path

NOW = micros_to_datetime(0)
F32, I32, U32, U64 = (ScalarType(each) for each in (Scalar.F32, Scalar.I32, Scalar.U32, Scalar.U64))
INSTANT = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
TYPES: dict[str, DataType] = {
    "i": I64,
    "j": I32,
    "f": F32,
    "d": F64,
    "s": STRING,
    "b": BOOL,
    "day": DATE,
    "at": DATETIME,
    "e": EnumType(("x", "y")),
    "u": U64,
    "v": U32,
    "l": ListType(Scalar.STRING),
}
PUSHABLE = [name for name in TYPES if name not in ("u", "v", "l")]
CELLS: dict[str, list[Any]] = {
    "i": [None, 0, 2, 2**53 + 1, -(2**63)],
    "j": [None, 0, 2, 2**31 - 1, -1],
    "f": [None, 0.0, -0.0, 0.5, 0.10000000149011612],
    "d": [None, 0.0, -0.0, 0.1, 1e300],
    "s": [None, "", "ab", "a%b", "it's ä"],
    "b": [None, True, False, True, False],
    "day": [None, dt.date(2026, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 1, 1), None],
    "at": [None, INSTANT, dt.datetime(1960, 1, 1, tzinfo=dt.UTC), INSTANT, None],
    "e": [None, "x", "y", "x", None],
    "u": [None, 0, 7, 2**64 - 1, 2**53],
    "v": [None, 0, 7, 2**32 - 1, 3],
    "l": [None, [], ["a"], ["a", "b"], ["b"]],
}
COLUMNS = {name: name for name in TYPES}
ROWS = [{name: cells[place] for name, cells in CELLS.items()} for place in range(5)]


def ref(name: str) -> PropertyRef:
    return PropertyRef(Slot(0), name, TYPES[name], nullable=True)


@pytest.fixture(scope="module", params=["plain", "indexed"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same rows, without and with indexes."""
    path: Path = tmp_path_factory.mktemp("pushdown") / "t.lance"
    schema = pa.schema([(name, arrow_type(dtype)) for name, dtype in TYPES.items()])
    found = lance.write_dataset(pa.Table.from_pylist(ROWS, schema=schema), str(path))
    if request.param == "indexed":
        for name in PUSHABLE:
            found.create_scalar_index(name, "BTREE")
    return lance.dataset(str(path))


def require_split(dataset: Any, condition: Expr, params: dict[str, Any]) -> None:
    """Pushed and residual together keep the rows for which the condition is true."""
    halves = split(condition, COLUMNS, params, NOW)
    kept = dataset.to_table(filter=halves.pushed).to_pylist()
    if halves.residual is not None:
        kept = [row for row in kept if matches(halves.residual, row, params, NOW)]
    assert kept == [row for row in ROWS if matches(condition, row, params, NOW)]


def constants(name: str) -> list[Const]:
    own = [Const(value, TYPES[name]) for value in CELLS[name]]
    if name in ("i", "j", "f", "d", "u", "v"):
        own += [Const(value, F64) for value in (2.7, 3e9, -1e300, 0.0)]
        own += [Const(value, I64) for value in (2**53 + 1, -7)]
    return own


@pytest.mark.parametrize("name", [name for name in TYPES if name != "l"])
def test_every_comparison_with_every_constant_keeps_the_right_rows(dataset: Any, name: str) -> None:
    for op, constant in itertools.product(CompareOp, constants(name)):
        require_split(dataset, Compare(op, ref(name), constant), {})
        require_split(dataset, Not(Compare(op, constant, ref(name))), {})


@pytest.mark.parametrize("name", [name for name in TYPES if name != "l"])
def test_membership_keeps_the_right_rows_with_and_without_nulls(dataset: Any, name: str) -> None:
    options = constants(name)
    for chosen in ((), tuple(options[1:3]), tuple(options), (options[0],)):
        member = InList(ref(name), MakeList(chosen, TYPES[name]))
        require_split(dataset, member, {})
        require_split(dataset, Not(member), {})


@pytest.mark.parametrize("op", list(StringOp))
@pytest.mark.parametrize("needle", ["", "a", "%", "it's", "ä", "zz", None])
def test_parts_of_strings_are_found_letter_by_letter(
    dataset: Any, op: StringOp, needle: str | None
) -> None:
    for name in ("s", "e"):
        part = StringMatch(op, ref(name), Const(needle, STRING))
        require_split(dataset, part, {})
        require_split(dataset, Not(part), {})


def test_parameters_are_bound_when_the_scan_is_made(dataset: Any) -> None:
    wanted = ParamRef("x", F64, nullable=True)
    for value in (2.0, 2.7, None):
        require_split(dataset, Compare(CompareOp.GE, ref("j"), wanted), {"x": value})
    many = ParamRef("many", ListType(Scalar.I64), nullable=True)
    for options in ([2, 0], [], None):
        require_split(dataset, InList(ref("i"), many), {"many": options})


@pytest.mark.parametrize("name", PUSHABLE)
def test_simple_conditions_leave_nothing_to_us(name: str) -> None:
    equal = Compare(CompareOp.EQ, ref(name), Const(CELLS[name][1], TYPES[name]))
    for condition in (equal, Not(equal), IsNull(ref(name), negated=True), Or((equal, equal))):
        halves = split(condition, COLUMNS, {}, NOW)
        assert halves.pushed is not None
        assert halves.residual is None


def test_what_lance_cannot_take_stays_with_us() -> None:
    conditions: list[Expr] = [
        Compare(CompareOp.EQ, ref("u"), Const(7, U64)),
        Compare(CompareOp.LT, ref("i"), ref("j")),
        ListContains(ref("l"), Const("a", STRING)),
        IsNull(ref("l"), negated=False),
    ]
    easy = Compare(CompareOp.EQ, ref("i"), Const(0, I64))
    for condition in conditions:
        assert split(condition, COLUMNS, {}, NOW).pushed is None
        halves = split(And((condition, easy)), COLUMNS, {}, NOW)
        assert halves.pushed is not None
        assert halves.residual == condition


atoms = st.sampled_from(PUSHABLE).flatmap(
    lambda name: (
        st.builds(
            Compare,
            st.sampled_from(list(CompareOp)),
            st.just(ref(name)),
            st.sampled_from(constants(name)),
        )
        | st.builds(IsNull, st.just(ref(name)), st.booleans())
    )
)
conditions = st.recursive(
    atoms | st.just(ref("b")) | st.just(Compare(CompareOp.EQ, ref("i"), ref("j"))),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.tuples(inner, inner))
        | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=6,
)


@given(condition=conditions)
def test_any_condition_keeps_the_right_rows(dataset: Any, condition: Expr) -> None:
    require_split(dataset, condition, {})
