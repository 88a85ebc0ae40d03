"""Rules of values, as tables, against SQL: DuckDB, and SQLite where it has the type.

Every rule is evaluated three times: by the engine, by the reference evaluator and by SQL. Where the
language differs from SQL on purpose, the row of the table names its own expectation and the reason.
"""

# ruff: noqa: S608 - the SQL is built from the tables of this file
from __future__ import annotations

import datetime as dt
import itertools
import math
import sqlite3
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from omnigraph.datatypes.arrow import table_schema
from omnigraph.datatypes.types import BOOL, F64, I64, STRING
from omnigraph.ir.expressions import (
    Aggregate,
    AggregateFunc,
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
    PropertyRef,
    Slot,
    StringMatch,
    StringOp,
)
from omnigraph.ir.queries import (
    Block,
    EntitySlot,
    OrderKey,
    Projection,
    ReadIR,
    ResultColumn,
    TypeUse,
)
from omnigraph.testing.agreement import Question, same
from omnigraph.testing.kit import catalog_of

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
CATALOG = catalog_of(
    """
    node Row {
        key: String @key
        i32: I32?
        i64: I64?
        u32: U32?
        u64: U64?
        f32: F32?
        f64: F64?
        text: String?
        day: Date?
        moment: DateTime?
        flag: Bool?
        marks: [I64]?
        names: [String]?
    }
    """
)
(ROW,) = CATALOG.nodes
PROPS = {prop.name: prop for prop in ROW.properties}
NAN, INF = math.nan, math.inf
# Values of each type, the borders of its range among them. No property holds NaN or an infinity.
VALUES: dict[str, list[Any]] = {
    "i32": [None, 0, 1, -1, 2**31 - 1, -(2**31)],
    "i64": [None, 0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "u32": [None, 0, 1, 2**32 - 1],
    "u64": [None, 0, 1, 2**53 + 1, 2**63, 2**64 - 1],
    "f32": [None, 0.0, -0.0, 1.0, 0.5, 0.10000000149011612, 3.4028234663852886e38],
    "f64": [None, 0.0, -0.0, 1.0, 0.1, 5e-324, 2.0**53, 2.0**63, 1e300, -1e300],
    "text": [None, "", "a", "B", "b", "ab", "ä", "a\u0308", "z", "\uffff", "\U00010000"],
    "day": [None, dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1)],
    "moment": [
        None,
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        NOW,
    ],
    "flag": [None, False, True],
}
NUMBERS = ["i32", "i64", "u32", "u64", "f32", "f64"]
OPERATORS = list(CompareOp)

# --- evaluation --------------------------------------------------------------------------------


def ref(name: str, slot: int = 0) -> PropertyRef:
    prop = PROPS[name]
    return PropertyRef(Slot(slot), prop.id, prop.dtype, nullable=True)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    named = [
        {"id": f"r{place:04}", PROPS["key"].column: f"r{place:04}"}
        | {PROPS[name].column: value for name, value in row.items()}
        for place, row in enumerate(rows)
    ]
    return pa.Table.from_pylist(named, schema=table_schema(ROW))


def read(exprs: list[Expr], order: tuple[OrderKey, ...] = (), *, distinct: bool = False) -> ReadIR:
    return ReadIR(
        name="q",
        params=(),
        match=Block((EntitySlot(Slot(0), ROW.id, "r"),), (), ()),
        returns=tuple(Projection(f"c{place}", expr) for place, expr in enumerate(exprs)),
        distinct=distinct,
        order=order,
        limit=None,
        offset=None,
        columns=tuple(
            ResultColumn(f"c{place}", "any", nullable=True) for place in range(len(exprs))
        ),
        reads=(TypeUse("node", ROW.id, ROW.name),),
    )


def evaluate(table: pa.Table, ir: ReadIR) -> list[tuple[Any, ...]]:
    """The rows by the engine, in every way of access, and by the reference evaluator."""
    schema, rows = Question(ir, CATALOG, {ROW.id: table}, {}, NOW).require_agreement()
    assert schema != "failed", rows
    return [tuple(row.values()) for row in rows]


def truths(table: pa.Table, condition: Expr) -> list[bool | None]:
    """The truth of a condition on each row, by which of three filters it passes."""
    found: list[bool | None] = [None] * table.num_rows
    for truth, asked in ((True, condition), (False, Not(condition))):
        ir = read([PropertyRef(Slot(0), "@id", STRING, nullable=False)])
        ir = _filtered(ir, asked)
        for (name,) in evaluate(table, ir):
            found[int(name[1:])] = truth
    return found


def _filtered(ir: ReadIR, condition: Expr) -> ReadIR:
    block = Block(ir.match.slots, (), (condition,))
    return replace(ir, match=block)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(config={"threads": 1})
    made.execute("SET TimeZone = 'UTC'")
    return made


def in_duckdb(table: pa.Table, sql: str) -> list[tuple[Any, ...]]:
    names = {prop.column: name for name, prop in PROPS.items()}
    renamed = table.rename_columns([names.get(name, name) for name in table.column_names])
    connection().register("t", renamed)
    return connection().execute(sql).fetchall()


def in_sqlite(rows: list[dict[str, Any]], columns: list[str], sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE t (id, {', '.join(columns)})")
        for place, row in enumerate(rows):
            values = [f"r{place:04}", *(row.get(name) for name in columns)]
            database.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
        return database.execute(sql).fetchall()


# --- comparisons -------------------------------------------------------------------------------


def pairs(one: str, other: str) -> list[dict[str, Any]]:
    """Rows that hold every pair of values; for one column, the pairs of its values with itself."""
    return [
        {one: left, other: right} for left, right in itertools.product(VALUES[one], VALUES[other])
    ]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("name", ["text", "day", "moment", "flag", "f64"])
def test_values_of_one_type_compare_as_in_duckdb(name: str, op: CompareOp) -> None:
    # Two rows of one type: compared with a constant, value by value.
    for constant in VALUES[name]:
        table = table_of([{name: value} for value in VALUES[name]])
        found = truths(table, Compare(op, ref(name), Const(constant, PROPS[name].dtype)))
        connection().register(
            "c", pa.table({"c": pa.array([constant], table.schema.field(PROPS[name].column).type)})
        )
        sql = f"SELECT {name} {_sql(op)} (SELECT c FROM c) FROM t ORDER BY id"
        assert found == [truth for (truth,) in in_duckdb(table, sql)], constant


def _sql(op: CompareOp) -> str:
    return "<>" if op is CompareOp.NE else op.value


INTEGERS = ["i32", "i64", "u32", "u64"]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(INTEGERS, 2)))
def test_integers_of_two_types_compare_as_in_duckdb(one: str, other: str, op: CompareOp) -> None:
    rows = pairs(one, other)
    table = table_of(rows)
    sql = f"SELECT {one}::HUGEINT {_sql(op)} {other}::HUGEINT FROM t ORDER BY id"
    expected = [truth for (truth,) in in_duckdb(table, sql)]
    assert truths(table, Compare(op, ref(one), ref(other))) == expected


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("one", ["i32", "i64", "u32"])
@pytest.mark.parametrize("other", ["f32", "f64"])
def test_integers_and_floats_compare_by_their_exact_value_as_in_sqlite(
    one: str, other: str, op: CompareOp
) -> None:
    """SQLite compares INTEGER and REAL exactly; DuckDB rounds the integer to a double."""
    rows = pairs(one, other)
    sql = f"SELECT {one} {_sql(op)} {other} FROM t ORDER BY id"
    expected = [
        None if truth is None else bool(truth) for (truth,) in in_sqlite(rows, [one, other], sql)
    ]
    assert truths(table_of(rows), Compare(op, ref(one), ref(other))) == expected


@pytest.mark.parametrize("op", OPERATORS)
def test_single_and_double_floats_compare_as_in_duckdb(op: CompareOp) -> None:
    table = table_of(pairs("f32", "f64"))
    sql = f"SELECT f32::DOUBLE {_sql(op)} f64 FROM t ORDER BY id"
    expected = [truth for (truth,) in in_duckdb(table, sql)]
    assert truths(table, Compare(op, ref("f32"), ref("f64"))) == expected


# --- three-valued logic ------------------------------------------------------------------------

TRUTHS = [True, False, None]


@pytest.mark.parametrize("left", TRUTHS)
@pytest.mark.parametrize("right", TRUTHS)
@pytest.mark.parametrize(("kind", "word"), [(And, "AND"), (Or, "OR")])
def test_logic_is_that_of_sql(left: bool | None, right: bool | None, kind: Any, word: str) -> None:
    condition = kind((Const(left, BOOL), Const(right, BOOL)))
    sql = f"SELECT ({_literal(left)} {word} {_literal(right)}), NOT ({_literal(left)})"
    (expected,) = connection().execute(sql).fetchall()
    table = table_of([{}])
    assert (truths(table, condition)[0], truths(table, Not(Const(left, BOOL)))[0]) == expected
    (from_sqlite,) = in_sqlite([], ["x"], sql)
    assert [None if each is None else bool(each) for each in from_sqlite] == list(expected)


def _literal(truth: bool | None) -> str:
    return "CAST(NULL AS BOOLEAN)" if truth is None else str(truth).upper()


@pytest.mark.parametrize("name", sorted(VALUES))
def test_is_null_is_never_unknown(name: str) -> None:
    table = table_of([{name: value} for value in VALUES[name]])
    for negated, word in ((False, "IS NULL"), (True, "IS NOT NULL")):
        sql = f"SELECT {name} {word} FROM t ORDER BY id"
        expected = [truth for (truth,) in in_duckdb(table, sql)]
        assert truths(table, IsNull(ref(name), negated)) == expected


@pytest.mark.parametrize("options", [(), (1,), (2, None), (None,), (1, 1)])
def test_in_is_that_of_sql(options: tuple[int | None, ...]) -> None:
    table = table_of([{"i64": value} for value in (None, 1, 2, 3)])
    listed = MakeList(tuple(Const(option, I64) for option in options), I64)
    found = truths(table, InList(ref("i64"), listed))
    # SQL has no empty list; an empty subquery is one.
    among = ", ".join(f"({'NULL' if option is None else option})" for option in options)
    values = f"SELECT * FROM (VALUES {among}) v(x)" if options else "SELECT 1 WHERE false"
    sql = f"SELECT i64 IN ({values}) FROM t ORDER BY id"
    expected = [truth for (truth,) in in_duckdb(table, sql)]
    if not options:
        # A NULL item is unknown, even among no options: it is compared before the list is read.
        expected = [None, False, False, False]
    assert found == expected


@pytest.mark.parametrize("item", [None, 1, 5])
def test_contains_asks_every_item_of_a_list(item: int | None) -> None:
    table = table_of([{"marks": marks} for marks in (None, [], [1], [2, 1], [2, 3])])
    found = truths(table, ListContains(ref("marks"), Const(item, I64)))
    literal = "NULL::BIGINT" if item is None else str(item)
    sql = f"SELECT list_contains(marks, {literal}) FROM t ORDER BY id"
    expected = [truth for (truth,) in in_duckdb(table, sql)]
    assert found == ([None] * table.num_rows if item is None else expected)


@pytest.mark.parametrize(
    ("op", "function"), [(StringOp.CONTAINS, "contains"), (StringOp.STARTS_WITH, "starts_with")]
)
@pytest.mark.parametrize("part", [None, "", "a", "b", "%", "\u0308", "ab"])
def test_text_is_matched_letter_by_letter(op: StringOp, function: str, part: str | None) -> None:
    table = table_of([{"text": text} for text in (*VALUES["text"], "100%", "a_b")])
    connection().register("c", pa.table({"c": pa.array([part], pa.string())}))
    sql = f"SELECT {function}(text, (SELECT c FROM c)) FROM t ORDER BY id"
    expected = [truth for (truth,) in in_duckdb(table, sql)]
    assert truths(table, StringMatch(op, ref("text"), Const(part, STRING))) == expected


# --- order and groups --------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(VALUES))
@pytest.mark.parametrize("descending", [False, True])
def test_order_is_that_of_sql_with_nulls_first_ascending(name: str, descending: bool) -> None:
    table = table_of([{name: value} for value in VALUES[name]])
    ir = read(
        [PropertyRef(Slot(0), "@id", STRING, nullable=False)], (OrderKey(ref(name), descending),)
    )
    way = "DESC NULLS LAST" if descending else "ASC NULLS FIRST"
    # DuckDB orders text by bytes of UTF-8, which is the order of code points, and NaN last.
    assert evaluate(table, ir) == in_duckdb(table, f"SELECT id FROM t ORDER BY {name} {way}, id")


@pytest.mark.parametrize("name", [*sorted(VALUES), "marks", "names"])
def test_distinct_values_are_those_of_sql(name: str) -> None:
    lists: dict[str, list[Any]] = {
        "marks": [None, [], [1], [1, 2], [1], []],
        "names": [None, ["a"], ["a"], ["A"], []],
    }
    values = [*lists.get(name, VALUES.get(name, [])) * 2]
    table = table_of([{name: value} for value in values])
    found = [value for (value,) in evaluate(table, read([ref(name)], distinct=True))]
    expected = in_duckdb(table, f"SELECT DISTINCT {name} FROM t ORDER BY {name} ASC NULLS FIRST")
    assert same(found, [value for (value,) in expected])


# --- aggregates --------------------------------------------------------------------------------

CASES: dict[str, list[Any]] = {
    "empty": [],
    "nulls": [None, None],
    "one": [None, 3],
    "some": [1, 2, 2, None, -4],
}
WORDS = {
    "count": AggregateFunc.COUNT,
    "sum": AggregateFunc.SUM,
    "avg": AggregateFunc.AVG,
    "min": AggregateFunc.MIN,
    "max": AggregateFunc.MAX,
}


def aggregated(name: str, values: list[Any], word: str, *, distinct: bool = False) -> Any:
    func = WORDS[word]
    dtype: Any = PROPS[name].dtype
    if func is AggregateFunc.AVG:
        dtype = F64
    elif func is AggregateFunc.COUNT or (func is AggregateFunc.SUM and name in INTEGERS):
        dtype = I64
    elif func is AggregateFunc.SUM:
        dtype = F64
    expr = Aggregate(func, ref(name), distinct=distinct, dtype=dtype)
    ((found,),) = evaluate(table_of([{name: value} for value in values]), read([expr]))
    return found


def aggregated_in_duckdb(name: str, values: list[Any], call: str) -> Any:
    table = table_of([{name: value} for value in values])
    ((found,),) = in_duckdb(table, f"SELECT {call} FROM t")
    return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", ["i64", "f64", "i32", "f32"])
def test_aggregates_are_those_of_sql(name: str, word: str, case: str, distinct: bool) -> None:
    values = [
        None if each is None else each * (1.0 if name[0] == "f" else 1) for each in CASES[case]
    ]
    found = aggregated(name, values, word, distinct=distinct)
    operand = f"{name}::DOUBLE" if name == "f32" and word == "sum" else name
    call = f"{word}({'DISTINCT ' if distinct else ''}{operand})"
    assert same(found, aggregated_in_duckdb(name, values, call))


@pytest.mark.parametrize("word", ["min", "max", "count"])
@pytest.mark.parametrize("name", ["text", "day", "moment", "f64"])
def test_extremes_are_those_of_the_order(name: str, word: str) -> None:
    found = aggregated(name, VALUES[name], word)
    assert same(found, aggregated_in_duckdb(name, VALUES[name], f"{word}({name})"))


# Values, the aggregate, the result, and what SQL does instead.
@pytest.mark.parametrize(
    ("name", "values", "word", "expected"),
    [
        # DuckDB's sum of doubles depends on their order; ours is exact and rounded once.
        ("f64", [1e300, 1.0, -1e300], "sum", 1.0),
        ("f64", [0.1] * 10, "sum", 1.0),
        # A mean lies between its values, also where their sum is beyond the doubles.
        ("f64", [1.7e308, 1.7e308], "avg", 1.7e308),
        ("i64", [2**63 - 1, 2**63 - 1], "avg", float(2**63 - 1)),
        # DuckDB refuses both; IEEE 754 has an answer.
        ("f64", [1.7e308, 1.7e308], "sum", INF),
        ("f64", [INF, -INF], "sum", NAN),
        ("f64", [INF, 1.0], "sum", INF),
        ("f64", [NAN, 1.0], "sum", NAN),
    ],
)
def test_totals_that_sql_rounds_or_refuses(
    name: str, values: list[Any], word: str, expected: Any
) -> None:
    assert same(aggregated(name, values, word), expected)


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [-(2**63), -1]])
def test_a_sum_beyond_64_bits_is_an_error(values: list[int]) -> None:
    """SQLite reports an integer overflow; DuckDB widens to 128 bits."""
    expr = Aggregate(AggregateFunc.SUM, ref("i64"), distinct=False, dtype=I64)
    table = table_of([{"i64": value} for value in values])
    question = Question(read([expr]), CATALOG, {ROW.id: table}, {}, NOW)
    question.require_agreement()
    assert question.by_reference() == ("failed", "query.sum_overflow")
    with pytest.raises(sqlite3.OperationalError, match="integer overflow"):
        in_sqlite([{"i64": value} for value in values], ["i64"], "SELECT sum(i64) FROM t")
