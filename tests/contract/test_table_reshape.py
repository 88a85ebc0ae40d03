"""A table gets another schema: rows keep their identity, columns that stay keep their files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.datatypes.arrow import BLOB, PROPERTY
from omnigraph.errors import Conflict
from omnigraph.ports.indexes import IndexKind, IndexSpec, NewSegment
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, ColumnFill, Pin, Staged
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from omnigraph.testing.s3 import S3Endpoint

PATH = "nodes/person-1"


def column(name: str, dtype: pa.DataType, prop: str | None = None) -> pa.Field:
    """A column as ``datatypes.arrow`` makes them."""
    metadata = {PROPERTY: (prop or f"p-{name}").encode()}
    if dtype == pa.large_binary():
        metadata[BLOB] = b"true"
    return pa.field(name, dtype, nullable=name != "id", metadata=metadata)


ID = column("id", pa.string(), "@id")
AGE = column("age", pa.int32())
NAME = column("name", pa.string())
SCHEMA = pa.schema([ID, AGE, NAME])


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> LanceTables:
    if request.param == "s3":
        endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
        return LanceTables(endpoint.uri(f"t-{new_short_id()}"), endpoint.storage_options)
    return local_tables(tmp_path / "graph.omni", durable=True)


def local_tables(path: Path, *, durable: bool = False) -> LanceTables:
    open_objects(str(path)).create_root()
    return LanceTables(str(path), durable=durable)


def people(tables: LanceTables) -> Pin:
    """Three fragments, of which one has a deleted row."""
    pin = tables.create(PATH, SCHEMA, operation_id="create")
    for ids in ("ab", "cd", "e"):
        rows = pa.table(
            {"id": list(ids), "age": [ord(key) for key in ids], "name": [key * 2 for key in ids]},
            schema=SCHEMA,
        )
        pin = tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="append")
    located = tables.open(pin).scan(["id"], row_addresses=True).to_pylist()
    gone = [row[ROW_ADDRESS] for row in located if row["id"] == "c"]
    change = tables.open(pin).stage_change(delete=np.array(gone, np.uint64))
    assert change is not None
    return tables.commit(pin, change, operation_id="delete")


def reshaped(
    tables: LanceTables, pin: Pin, fields: Sequence[pa.Field], filling: ColumnFill | None = None
) -> Pin:
    staged = tables.open(pin).stage_reshape(pa.schema(fields), filling)
    assert staged is not None
    carried = Staged.from_json(json.loads(json.dumps(staged.to_json())))
    after = tables.commit(pin, carried, operation_id="reshape")
    tables.sync([after], [carried])
    return after


def fill(name: str, reads: str, value: Callable[[pa.Array], pa.Array]) -> ColumnFill:
    return ColumnFill(
        (name,),
        (reads,),
        lambda batch: pa.RecordBatch.from_arrays([value(batch.column(reads))], [name]),
    )


def rows_of(tables: LanceTables, pin: Pin) -> list[dict[str, Any]]:
    return list(tables.open(pin).scan().to_pylist())


def identity(tables: LanceTables, pin: Pin) -> dict[str, int]:
    """Row ids by key."""
    found = tables.open(pin).scan(["id"], row_ids=True).to_pylist()
    return {row["id"]: row[ROW_ID] for row in found}


def test_a_column_without_values_comes_without_files(tables: LanceTables) -> None:
    pin = people(tables)
    nick, photo = column("nick", pa.string()), column("photo", pa.large_binary())
    staged = tables.open(pin).stage_reshape(pa.schema([ID, nick, AGE, NAME, photo]))
    assert staged is not None
    assert staged.files == (), "nothing is written"
    after = tables.commit(pin, staged, operation_id="op")
    assert after.rows == pin.rows
    assert tables.open(after).schema.names == ["id", "nick", "age", "name", "photo"]
    assert tables.open(after).schema.field("photo").metadata[BLOB] == b"true"
    assert rows_of(tables, after)[0] == {
        "id": "a", "nick": None, "age": 97, "name": "aa", "photo": None,
    }  # fmt: skip
    assert identity(tables, after) == identity(tables, pin)
    assert tables.open(after).count("nick is null") == 4


def test_a_column_goes_and_its_namesake_is_another(tables: LanceTables) -> None:
    pin = people(tables)
    without = reshaped(tables, pin, [ID, AGE])
    assert rows_of(tables, without)[0] == {"id": "a", "age": 97}
    again = reshaped(tables, without, [ID, AGE, NAME])
    assert {row["name"] for row in rows_of(tables, again)} == {None}
    assert rows_of(tables, pin)[0]["name"] == "aa", "the old version has it"


def test_a_column_of_another_property_is_not_taken_for_this_one(tables: LanceTables) -> None:
    pin = people(tables)
    other = column("name", pa.string(), "somebody-else")
    after = reshaped(tables, pin, [ID, AGE, other])
    assert {row["name"] for row in rows_of(tables, after)} == {None}


def test_values_are_computed_from_other_columns(tables: LanceTables) -> None:
    pin = people(tables)
    filling = ColumnFill(
        ("shout", "twice"),
        ("name", "age"),
        lambda batch: pa.RecordBatch.from_arrays(
            [
                pa.array([f"{name}!" for name in batch.column("name").to_pylist()]),
                pa.array([[age, age] for age in batch.column("age").to_pylist()]),
            ],
            ["shout", "twice"],
        ),
    )
    fields = [ID, column("shout", pa.string()), column("twice", pa.list_(pa.int64())), AGE]
    after = reshaped(tables, pin, fields, filling)
    assert rows_of(tables, after) == [
        {"id": key, "shout": f"{key * 2}!", "twice": [ord(key), ord(key)], "age": ord(key)}
        for key in "abde"
    ]
    assert identity(tables, after) == identity(tables, pin)


def test_a_column_changes_its_type_under_its_name(tables: LanceTables) -> None:
    pin = people(tables)
    wide = column("age", pa.int64())
    filling = fill("age", "age", lambda ages: ages.cast(pa.int64()))
    after = reshaped(tables, pin, [ID, wide, NAME], filling)
    assert tables.open(after).schema.equals(pa.schema([ID, wide, NAME]))
    assert tables.open(after).count("age > 99") == 2
    rows = pa.table({"id": ["z"], "age": [2**40], "name": ["zz"]}, schema=tables.open(after).schema)
    later = tables.commit(after, tables.open(after).stage_append(rows), operation_id="op")
    assert {row["id"]: row["age"] for row in rows_of(tables, later)} == {
        "a": 97, "b": 98, "d": 100, "e": 101, "z": 2**40,
    }  # fmt: skip
    assert tables.open(pin).schema.field("age").type == pa.int32()


def test_what_changes_nothing_is_no_change(tables: LanceTables) -> None:
    pin = people(tables)
    assert tables.open(pin).stage_reshape(SCHEMA) is None
    assert tables.open(pin).stage_reshape(pa.schema([ID, NAME, AGE])) is None, "order means nothing"


def test_an_empty_table_is_reshaped_without_files(tables: LanceTables) -> None:
    pin = tables.create(PATH, SCHEMA, operation_id="create")
    filling = fill("age", "age", lambda ages: ages.cast(pa.int64()))
    wide = column("age", pa.int64())
    staged = tables.open(pin).stage_reshape(pa.schema([ID, wide]), filling)
    assert staged is not None
    assert staged.files == ()
    after = tables.commit(pin, staged, operation_id="op")
    rows = pa.table({"id": ["a"], "age": [2**40]}, schema=pa.schema([ID, wide]))
    later = tables.commit(after, tables.open(after).stage_append(rows), operation_id="op")
    assert rows_of(tables, later) == [{"id": "a", "age": 2**40}]


def test_blobs_that_stay_are_not_touched(tables: LanceTables) -> None:
    schema = pa.schema([ID, column("photo", pa.large_binary())])
    photos = [b"small", None, b"l" * 5_000_000]
    pin = tables.create(PATH, schema, operation_id="create")
    rows = pa.table({"id": list("abc"), "photo": photos}, schema=schema)
    pin = tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="append")
    filling = fill("copy", "id", lambda ids: ids)
    fields = [*schema, column("copy", pa.string())]
    staged = tables.open(pin).stage_reshape(pa.schema(fields), filling)
    assert staged is not None
    assert sum(file.size for file in staged.files) < 100_000
    after = tables.commit(pin, staged, operation_id="op")
    assert tables.open(after).scan(["photo"])["photo"].to_pylist() == photos
    assert tables.open(after).scan(["copy"])["copy"].to_pylist() == list("abc")


def test_branches_with_different_schemas_share_a_table(tables: LanceTables) -> None:
    base = people(tables)
    left = reshaped(tables, base, [ID, NAME, column("nick", pa.string())])
    right = reshaped(
        tables,
        base,
        [ID, column("age", pa.int64()), NAME],
        fill("age", "age", lambda ages: ages.cast(pa.int64())),
    )
    more = pa.table({"id": ["l"], "name": ["ll"], "nick": ["el"]}, schema=tables.open(left).schema)
    left = tables.commit(left, tables.open(left).stage_append(more), operation_id="left")
    other = pa.table(
        {"id": ["r"], "age": [2**40], "name": ["rr"]}, schema=tables.open(right).schema
    )
    right = tables.commit(right, tables.open(right).stage_append(other), operation_id="right")
    assert [row["id"] for row in rows_of(tables, left)] == [*"abde", "l"]
    assert [row["age"] for row in rows_of(tables, right)] == [97, 98, 100, 101, 2**40]
    assert [row["age"] for row in rows_of(tables, base)] == [97, 98, 100, 101]


def test_a_reshape_is_bound_to_the_version_it_was_staged_at(tables: LanceTables) -> None:
    pin = people(tables)
    staged = tables.open(pin).stage_reshape(pa.schema([ID, AGE]))
    assert staged is not None
    rows = pa.table({"id": ["z"], "age": [1], "name": ["zz"]}, schema=SCHEMA)
    later = tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="op")
    with pytest.raises(Conflict) as caught:
        tables.commit(later, staged, operation_id="op")
    assert caught.value.code == "table.staged_elsewhere"


def test_an_index_of_a_column_that_stays_still_covers_everything(tmp_path: Path) -> None:
    tables = local_tables(tmp_path / "graph.omni")
    pin = people(tables)
    every = tuple(range(len(tables.open(pin).fragments())))
    segments = [NewSegment(IndexSpec(name, IndexKind.BTREE), every) for name in ("id", "age")]
    staged = tables.open(pin).stage_indexes(segments)
    assert staged is not None
    pin = tables.commit(pin, staged, operation_id="index")
    after = reshaped(
        tables,
        pin,
        [ID, column("age", pa.int64()), column("nick", pa.string())],
        fill("age", "age", lambda ages: ages.cast(pa.int64())),
    )
    found = tables.open(after).dataset
    assert [index.name for index in found.describe_indices()] == ["id.order"], "the other has gone"
    assert found.stats.index_stats("id.order")["num_unindexed_rows"] == 0
    assert tables.open(after).scan(["age"], filter="id = 'd'")["age"].to_pylist() == [100]


# --- against a model ---

COLUMNS = ("p", "q", "r")
TYPES = (pa.int32(), pa.int64(), pa.string())


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("drop"), st.sampled_from(COLUMNS)),
            st.tuples(st.just("null"), st.sampled_from(COLUMNS), st.sampled_from(TYPES)),
            st.tuples(st.just("copy"), st.sampled_from(COLUMNS)),
            st.tuples(st.just("widen"), st.sampled_from(COLUMNS)),
            st.tuples(st.just("insert"), st.integers(0, 5)),
            st.tuples(st.just("delete"), st.integers(0, 9)),
            st.tuples(st.just("back"), st.integers(0, 9)),
        ),
        max_size=14,
    )
)
def test_any_sequence_of_reshapes_and_writes_tells_the_truth(
    tmp_path: Path, steps: list[tuple[Any, ...]]
) -> None:
    tables = local_tables(tmp_path / new_short_id())
    start = tables.create(PATH, pa.schema([ID]), operation_id="create")
    # Every version that was ever reached, with what it must hold.
    states: list[State] = [(start, {}, {})]
    for number, (verb, what, *more) in enumerate(steps):
        if verb == "back":
            states.append(states[what % len(states)])
            continue
        _, shape, rows = states[-1]
        copied = dict(shape), {key: dict(row) for key, row in rows.items()}
        changed = _change(verb, what, more, copied, number)
        if changed is not None:
            shape, rows, filling = changed
            states.append((_step(tables, states[-1], (shape, rows), filling, number), shape, rows))
    fresh = LanceTables(tables._root.uri)
    for pin, shape, rows in states:
        assert fresh.open(pin).schema.names[1:] == list(shape)
        found = {row.pop("id"): row for row in rows_of(fresh, pin)}
        assert found == rows


Shape = dict[str, pa.DataType]
Rows = dict[str, dict[str, Any]]
State = tuple[Pin, Shape, Rows]


def _change(
    verb: str, what: Any, more: list[Any], state: tuple[Shape, Rows], number: int
) -> tuple[Shape, Rows, ColumnFill | None] | None:
    """What a step makes of the model; None when it cannot be taken here."""
    shape, rows = state
    match verb:
        case "insert":
            new = {
                f"{number}-{n}": {k: _value(t, n) for k, t in shape.items()} for n in range(what)
            }
            return shape, rows | new, None
        case "delete" if rows:
            del rows[sorted(rows)[what % len(rows)]]
            return shape, rows, None
        case "drop" if what in shape:
            del shape[what]
            return shape, {key: _without(row, what) for key, row in rows.items()}, None
        case "null" if what not in shape:
            nulls = {key: {**row, what: None} for key, row in rows.items()}
            return shape | {what: more[0]}, nulls, None
        case "copy" if what not in shape:
            copies = {key: {**row, what: key} for key, row in rows.items()}
            return shape | {what: pa.string()}, copies, fill(what, "id", lambda ids: ids)
        case "widen" if shape.get(what) == pa.int32():
            wider = fill(what, what, lambda values: values.cast(pa.int64()))
            return shape | {what: pa.int64()}, rows, wider
        case _:
            return None


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _value(dtype: pa.DataType, number: int) -> Any:
    return None if number == 2 else str(number) if dtype == pa.string() else number


def _step(
    tables: LanceTables,
    before: State,
    after: tuple[Shape, Rows],
    filling: ColumnFill | None,
    number: int,
) -> Pin:
    """Bring the table from one state to the next, by whatever that takes."""
    shape, rows = after
    pin = before[0]
    table = tables.open(pin)
    fields = [ID, *(column(name, dtype, f"{name}-{number}") for name, dtype in shape.items())]
    known = {field.name: field for field in table.schema}
    fields = [
        known[field.name] if field.name in known and known[field.name].type == field.type else field
        for field in fields
    ]
    staged: Staged | None
    if list(shape.items()) != list(before[1].items()):
        staged = table.stage_reshape(pa.schema(fields), filling)
    else:
        gone = set(before[2]) - set(rows)
        located = table.scan(["id"], row_addresses=True).to_pylist()
        new = {key: row for key, row in rows.items() if key not in before[2]}
        staged = table.stage_change(
            delete=np.array([row[ROW_ADDRESS] for row in located if row["id"] in gone], np.uint64),
            insert=pa.Table.from_pylist(
                [{"id": key, **row} for key, row in new.items()], schema=table.schema
            ),
        )
    return pin if staged is None else tables.commit(pin, staged, operation_id=f"op{number}")
