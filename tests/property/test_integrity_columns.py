"""Rules over whole columns find exactly what a loop over values finds."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.changeset.rows import to_arrow
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.keys import repeated
from omnigraph.integrity.violations import Report
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable

CATALOG = catalog_of(
    """
node T {
    need: String
    kind: enum(x, y)?
    small: I32?
    large: U64?
    real: F64?
    single: F32?
    code: String?
    words: [String]?
    reals: [F64]?
    vec: Vector(2)?
    @range(small, -3..5)
    @range(large, 2..)
    @range(real, ..1.5)
    @check(code, "[a-c]{1,2}")
}
"""
)
ENTITY = CATALOG.nodes[0]
floats = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([math.nan, math.inf, -math.inf]))
ROWS = st.fixed_dictionaries(
    {
        "need": st.none() | st.sampled_from(["", "a"]),
        "kind": st.none() | st.sampled_from(["x", "y", "z", ""]),
        "small": st.none() | st.integers(-5, 7),
        "large": st.none() | st.integers(0, 4) | st.just(2**64 - 1),
        "real": st.none() | floats,
        "single": st.none() | floats,
        "code": st.none() | st.text("abcd\n", max_size=3),
        "words": st.none() | st.lists(st.none() | st.just("w"), max_size=3),
        "reals": st.none() | st.lists(st.none() | floats, max_size=3),
        "vec": st.none() | st.lists(floats | st.sampled_from([0.0, -0.0]), min_size=2, max_size=2),
    }
)


def wild(number: float | None) -> bool:
    return number is not None and not math.isfinite(number)


# When a value that is there breaks a rule. NaN is neither above nor below a bound; that it is no
# number is told by another rule.
BREAKS: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("enum", "kind", lambda value: value not in ("x", "y")),
    ("range", "small", lambda value: not -3 <= value <= 5),
    ("range", "large", lambda value: value < 2),
    ("range", "real", lambda value: value > 1.5),
    ("finite", "real", wild),
    ("finite", "single", wild),
    ("check", "code", lambda value: not re.fullmatch("[a-c]{1,2}", value)),
    ("list", "words", lambda value: None in value),
    ("list", "reals", lambda value: None in value),
    ("finite", "reals", lambda value: any(map(wild, value))),
    ("vector", "vec", lambda value: any(map(wild, value)) or not any(value)),
)


def broken(row: dict[str, Any]) -> set[tuple[str, str]]:
    """What is wrong with a row, by looking at one value after the other."""
    found = {
        (rule, name) for rule, name, breaks in BREAKS if row[name] is not None and breaks(row[name])
    }
    return found if row["need"] is not None else found | {("required", "need")}


@given(st.lists(ROWS, max_size=8), st.integers(1, 3))
def test_a_column_is_judged_like_its_values(rows: list[dict[str, Any]], chunks: int) -> None:
    by_name = {prop.name: prop.id for prop in ENTITY.properties}
    typed: list[dict[str, Any]] = [
        {ID.id: str(n), **{by_name[name]: value for name, value in row.items()}}
        for n, row in enumerate(rows)
    ]
    # The rules must not depend on how a column is cut into chunks.
    size = max(1, len(typed) // chunks)
    parts = [typed[at : at + size] for at in range(0, len(typed), size)] or [[]]
    table = pa.concat_tables([to_arrow(ENTITY, part) for part in parts])
    report = Report(limit=1_000)
    check_columns(TypeChange(ENTITY, Mode.APPEND, table, records=np.arange(len(rows))), report)
    found: dict[int, set[tuple[str, str]]] = {n: set() for n in range(len(rows))}
    for violation in report.violations:
        assert violation.record is not None
        assert violation.property is not None
        found[violation.record].add((violation.rule, violation.property))
    assert [found[n] for n in range(len(rows))] == [broken(row) for row in rows]
    assert report.total == sum(map(len, found.values()))


@given(
    st.lists(
        st.tuples(st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 1)), max_size=9
    ),
    st.booleans(),
)
def test_repeats_are_those_that_a_loop_finds(
    keys: list[tuple[str | None, int | None]], composite: bool
) -> None:
    table = pa.table(
        {"a": pa.array([a for a, _ in keys], pa.string()), "b": [b for _, b in keys]},
        schema=pa.schema([("a", pa.string()), ("b", pa.int64())]),
    )
    names = ["a", "b"] if composite else ["a"]
    earlier, later = repeated(table.select(names))
    wanted = [key if composite else key[:1] for key in keys]
    last = {key: at for at, key in enumerate(wanted) if None not in key}
    pairs = [(at, last[key]) for at, key in enumerate(wanted) if key in last and last[key] != at]
    assert list(zip(earlier.tolist(), later.tolist(), strict=True)) == pairs
