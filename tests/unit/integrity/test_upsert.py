"""Partial rows, completed from what the branch holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.changeset.rows import from_arrow
from omnigraph.errors import KeyConflict
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.lookup import PUSHED_MAX
from omnigraph.integrity.upsert import find_stored, keep_unnamed

JudgeOf = Callable[[str], Any]

SCHEMA = """
node T {
    key: String @key
    number: I32? @default(7)
    words: [String]?
    vector: Vector(2)?
    data: Blob?
}
"""
STORED = {"key": "a", "number": 1, "words": ["x"], "vector": [1.0, 0.0], "data": "base64:AAE="}


def stored(judge: Any, *rows: Mapping[str, Any]) -> Any:
    judge.add(*({"type": "T", "data": row} for row in rows))
    snapshot = judge.engine.snapshot()
    return snapshot.table(snapshot.catalog.entity("T").id)


def completed(
    judge: Any, table: Any, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    change = judge.change("T", rows)
    props = change.entity.properties
    named = {prop.column: pa.array([prop.name in row for row in rows]) for prop in props}
    named = {column: mask for column, mask in named.items() if not all(mask.to_pylist())}
    whole, located = keep_unnamed(table, change.rows, named)
    names = {prop.id: prop.name for prop in props}
    plain = [
        {names[key]: value for key, value in row.items() if key in names}
        for row in from_arrow(change.entity, whole)
    ]
    assert whole.schema == change.rows.schema
    return plain, located.column("id").to_pylist()


def test_an_existing_row_keeps_every_value_that_is_not_named(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    table = stored(judge, STORED)
    kept = {**STORED, "data": b"\x00\x01"}
    assert completed(judge, table, [{"key": "a"}]) == ([kept], ["a"])
    assert completed(judge, table, [{"key": "a", "number": 2}]) == ([{**kept, "number": 2}], ["a"])


def test_null_that_is_named_clears_a_value(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    table = stored(judge, STORED)
    ((row,), _) = completed(judge, table, [{"key": "a", "words": None, "number": None}])
    assert (row["words"], row["number"], row["vector"]) == (None, None, [1.0, 0.0])


def test_a_new_row_has_its_defaults_beside_rows_that_exist(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    table = stored(judge, STORED)
    rows: list[dict[str, Any]] = [
        {"key": "b", "words": ["n"]},
        {"key": "a", "words": ["m"]},
        {"key": "c", "number": 3},
    ]
    found, located = completed(judge, table, rows)
    assert [(row["key"], row["number"], row["words"]) for row in found] == [
        ("b", 7, ["n"]),
        ("a", 1, ["m"]),
        ("c", 3, None),
    ]
    assert located == ["a"]


def test_masks_are_by_row(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    table = stored(judge, STORED, {**STORED, "key": "b", "number": 2})
    found, _ = completed(judge, table, [{"key": "b", "words": []}, {"key": "a", "number": 9}])
    assert [(row["number"], row["words"]) for row in found] == [(2, []), (9, ["x"])]


def test_more_rows_than_a_filter_takes_are_completed_alike(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    count = PUSHED_MAX + 50
    table = stored(judge, *({"key": f"k{n}", "number": n} for n in range(count)))
    rows = [{"key": f"k{n}", "words": [str(n)]} for n in reversed(range(count + 10))]
    found, located = completed(judge, table, rows)
    assert len(located) == count
    expected = [(n if n < count else 7, [str(n)]) for n in reversed(range(count + 10))]
    assert [(row["number"], row["words"]) for row in found] == expected


@pytest.mark.parametrize("columns", [(), ("number",), ("id", "number")])
def test_nothing_stored_is_an_empty_table_of_the_same_columns(
    judge_of: JudgeOf, columns: tuple[str, ...]
) -> None:
    judge = judge_of(SCHEMA)
    entity = judge.change("T", []).entity
    by_name = {prop.name: prop.column for prop in entity.properties}
    wanted = [by_name.get(name, name) for name in columns]
    empty = judge.engine.snapshot().table(entity.id)
    ids = pa.array(["x"], pa.string())
    before = find_stored(empty, ids, wanted)
    after = find_stored(stored(judge, STORED), pa.array(["a"], pa.string()), wanted)
    assert (before.num_rows, after.num_rows) == (0, 1)
    assert before.column_names == after.column_names


def test_strict_ids_conflict_in_any_mode(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    stored(judge, STORED)
    change = judge.change("T", [{"key": "b"}, {"key": "a"}])
    judge.evaluate(change).raise_if_broken()
    strict = TypeChange(change.entity, change.mode, change.rows, strict=pa.array(["b", "a"]))
    with pytest.raises(KeyConflict) as found:
        judge.evaluate(strict).raise_if_broken()
    assert found.value.details["ids"] == ["a"]
