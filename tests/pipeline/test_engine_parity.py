"""The same batches to both engines: verdicts and resulting graphs are equal.

What a load means is defined in process; Spark must not mean anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileWriter

from omnigraph.pipeline.spark_load import SparkLoadOptions
from omnigraph.testing.engine_parity import Twins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def place(country: str, code: int) -> dict[str, Any]:
    return {"type": "Place", "data": {"country": country, "zip": code}}


def note(key: str, text: str, **data: Any) -> dict[str, Any]:
    return {"type": "Note", "id": key, "data": {"text": text, **data}}


def edge(name: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": name, "from": source, "to": target, "data": data}


def gone(name: str, key: str) -> dict[str, Any]:
    return {"delete": name, "id": key}


START = (
    person("ann", age=30, mail="ann@x", mood="glad"),
    person("ben", age=40, mail="ben@x"),
    person("cat", code="abc", score=1.5),
    place("no", 1),
    place("no", 2),
    note("n1", "one", tags=["a", "b"], embedding=[1, 0, 0]),
    edge("Knows", "ann", "ben", since="2026-01-01"),
    edge("Knows", "ann", "cat"),
    edge("LivesIn", "ann", '["no","1"]'),
    edge("Mentions", "n1", "ann", weight=18446744073709551615),
)

# Everything that can be wrong. Records that cannot be read keep the rules about what must exist
# from being checked, so those have a batch of their own.
WRONG: dict[str, tuple[Any, ...]] = {
    "records": (
        person("dan", age=151),
        person("eve", mood="angry"),
        person("fay", code="TOO LONG"),
        person("gus", age=-1, mood="?", code=""),
        note("n2", "two", embedding=[0, 0, 0]),
        note("n3", "three", tags=["a", None]),
        {"type": "Place", "data": {"country": "no"}},
        {"type": "Place", "data": {"country": "no", "zip": 2**40}},
        {"type": "Note", "data": {"tags": []}},
        {"type": "Person", "data": {"name": "hal", "age": "old"}},
        {"type": "Person", "data": {"name": "ida", "unknown": 1}},
        {"type": "Persn", "data": {"name": "jan"}},
        edge("Knows", "ann", "nobody"),
        '{"type": "Person", "data": {"name": "dan"',
        person("eve", mail="ann@x"),
        '{"type": "Person", "data": {"name": "fay"}} trailing',
        "[1, 2]",
        "",
        b'{"type": "Person", "data": {"name": "\xff"}}',
        '{"edge": "Knows", "from": "ann"}',
        '{"edge": "Knows", "type": "Person"}',
        person("kim", mood="sad", mail="kim@x"),
        person("lea", mail="kim@x"),
    ),
    "entities": (
        person("dan", mail="ann@x", age=200),
        person("eve", mail="new@x"),
        person("fay", mail="new@x"),
        person("gus", mail="new@x"),
        note("n2", "one"),
        edge("Mentions", "n1", "ben", weight=18446744073709551615),
        edge("Knows", "ann", "nobody"),
        edge("Knows", "nobody", "ann"),
        edge("Knows", "zoe", "noone"),
        edge("LivesIn", "ben", '["se","1"]'),
        person("zoe", score=-0.0),
        edge("Knows", "ann", "ann"),
        edge("Knows", "ann", "ben"),
        edge("LivesIn", "ann", '["no","2"]'),
        note("n4", "four"),
    ),
}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Twins:
    """Graphs that no test here may change."""
    twins = Twins(tmp_path_factory.mktemp("seeded"), spark)
    assert twins.load(twins.write("start.ndjson", *START), "append").ending == "done"
    return twins


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_batch_is_told_alike(seeded: Twins, case: str, mode: str) -> None:
    found = seeded.load(seeded.write("wrong.ndjson", *WRONG[case]), mode)
    assert found.ending.startswith("ValidationFailure")


@pytest.mark.usefixtures("as_users_have_it")
def test_what_is_wrong_is_told_alike_with_the_settings_that_users_have(seeded: Twins) -> None:
    found = seeded.load(seeded.write("wrong.ndjson", *WRONG["entities"]), "merge")
    assert found.ending.startswith("ValidationFailure")


def test_a_strict_insert_that_meets_somebody_is_told_alike(seeded: Twins) -> None:
    path = seeded.write("again.ndjson", person("dan"), person("ann"), person("ben"))
    assert seeded.load(path, "append").ending == "KeyConflict key.exists"


@pytest.mark.parametrize(
    ("case", "records", "counts"),
    [
        ("an edge to a node that goes", (gone("Person", "ben"), edge("Knows", "ann", "ben")), 1),
        ("nodes that edges need", (person("ann"), person("cat")), 1),
    ],
)
def test_edges_need_their_nodes(
    seeded: Twins, case: str, records: tuple[Any, ...], counts: int
) -> None:
    mode = "merge" if "delete" in records[0] else "overwrite"
    assert seeded.load(seeded.write("edges.ndjson", *records), mode).counts == {"endpoint": counts}


def test_the_same_id_twice_is_a_violation_unless_the_mode_is_merge(seeded: Twins) -> None:
    path = seeded.write("a.ndjson", person("x", age=999), person("y"), person("x"), person("x"))
    assert seeded.load(path, "append").counts == {"key": 2, "range": 1}
    # What is wrong with a record by itself is told also of one that does not count.
    assert seeded.load(path, "merge").counts == {"range": 1}


@pytest.mark.usefixtures("as_users_have_it")
def test_a_batch_that_is_right_gives_the_same_graph_in_every_mode(twins: Twins) -> None:
    assert twins.load(twins.write("a.ndjson", *START), "append").ending == "done"
    found = twins.load(
        twins.write(
            "b.ndjson",
            person("ann", age=31, mail=None),
            person("dan", mail="ann@x"),
            edge("LivesIn", "dan", '["no","1"]'),
            edge("LivesIn", "ann", '["no","1"]', from_day="2026-02-03"),
            note("n1", "one again"),
            person("dan", mail="dan@x", age=5),
            person("dan", mail="ann@x", age=6),
        ),
        "merge",
    )
    assert found.counts["superseded"] == 2
    edges = (edge("Knows", "dan", "ann"), edge("Knows", "cat", "dan"))
    assert twins.load(twins.write("c.ndjson", *edges), "overwrite").ending == "done"
    # A note needs a mention, but not after it was replaced by another one.
    notes = (note("n5", "five"), edge("Mentions", "n5", "dan"))
    assert twins.load(twins.write("d.ndjson", *notes), "overwrite").ending == "done"


UPSERTS = {
    "stored values stay": (person("ann", age=31), person("new", mood="sad"), person("ben")),
    "explicit nulls clear": (person("ann", mail=None, age=None), person("dan", mail="ann@x")),
    "earlier records count": (
        person("dan", age=1, mail="d@x"),
        person("ann", mood="sad"),
        person("dan", age=2),
        person("ann", age=None),
        person("dan", mood="glad"),
    ),
    "a deletion between begins anew": (
        person("ann", mood="sad"),
        gone("Person", "ann"),
        person("ann", age=7),
        edge("LivesIn", "ann", '["no","1"]'),
    ),
    "kept values are unique": (person("ann", age=1), person("dan", mail="ann@x")),
    "required values are named or stored": (
        {"type": "Note", "id": "n1", "data": {"tags": ["z"]}},
        {"type": "Note", "id": "n2", "data": {"tags": ["y"]}},
    ),
    "required values of new entities": (
        note("n2", "two"),
        gone("Note", "n1"),
        {"type": "Note", "id": "n1", "data": {"tags": ["z"]}},
    ),
    "edges keep what they have": (
        edge("LivesIn", "ann", '["no","1"]', from_day="2026-02-03"),
        edge("LivesIn", "ann", '["no","1"]'),
    ),
}


@pytest.mark.parametrize("case", UPSERTS)
def test_a_merge_keeps_what_it_does_not_name(twins: Twins, case: str) -> None:
    assert twins.load(twins.write("start.ndjson", *START), "append").ending == "done"
    # Chunks of about one record, so that values are inherited across chunks.
    twins.order = SparkLoadOptions(split_bytes=100, chunk_bytes=100)
    twins.load(twins.write("upsert.ndjson", *UPSERTS[case]), "merge")


def test_columns_that_a_file_does_not_have_keep_their_values(twins: Twins) -> None:
    assert twins.load(twins.write("start.ndjson", *START), "append").ending == "done"
    path = twins.directory / "people.csv"
    path.write_text("name,age\nann,\nben,41\nnew,3\n", encoding="utf-8")
    assert twins.load(str(path), "merge", type="Person").ending == "done"
    rows = twins.spark.query(
        "query all() { match { $p: Person } return { $p.name, $p.age, $p.mail, $p.mood } }"
    ).rows()
    ann = next(row for row in rows if row["p.name"] == "ann")
    assert ann == {"p.name": "ann", "p.age": None, "p.mail": "ann@x", "p.mood": "glad"}


@pytest.mark.usefixtures("as_users_have_it")
def test_deletions_take_edges_along_and_the_last_record_counts(twins: Twins) -> None:
    twins.load(twins.write("a.ndjson", *START), "append")
    found = twins.load(
        twins.write(
            "b.ndjson",
            gone("Person", "ann"),
            gone("Person", "nobody"),
            person("ben", age=1),
            gone("Person", "ben"),
            gone("Place", '["no", "2"]'),
            place("no", 2),
            gone("Note", "n1"),
            gone("Note", "n1"),
            person("zoe"),
            gone("Person", "zoe"),
        )
    )
    assert found.ending == "done"
    assert found.counts["deleted"] == 7


def test_a_unique_number_that_is_missing_clashes_with_nobody(twins: Twins) -> None:
    twins.load(twins.write("a.ndjson", *START), "append")
    again = {**edge("Mentions", "n1", "ben", weight=None), "id": "m2"}
    assert twins.load(twins.write("b.ndjson", again), "merge").ending == "done"


def test_what_is_wrong_with_one_record_is_told_in_the_same_order(seeded: Twins) -> None:
    wrong = note("n9", "nine", embedding=[1, 2], tags=["a", None])
    found = seeded.load(seeded.write("order.ndjson", wrong), "merge")
    assert found.ending == "ValidationFailure data.type"


@pytest.mark.parametrize("kind", ["dataset", "file"])
def test_lance_is_loaded_alike(twins: Twins, kind: str) -> None:
    def write(name: str, ages: list[int]) -> str:
        rows = pa.table({"name": ["ann", "ben", "cat"], "age": pa.array(ages, pa.int64())})
        path = str(twins.directory / f"{name}.lance")
        if kind == "dataset":
            lance.write_dataset(rows, path, max_rows_per_file=2)
        else:
            with LanceFileWriter(path, rows.schema) as writer:
                writer.write_batch(rows)
        return path

    twins.order = SparkLoadOptions(split_bytes=1)
    assert twins.load(write("right", [1, 2, 3]), "append", type="Person").ending == "done"
    assert twins.load(write("wrong", [1, 2, 151]), type="Person").counts == {"range": 1}
    assert twins.load(write("untyped", [1, 2, 3])).ending == "InvalidInput load.type_missing"
    nowhere = twins.directory / "nothing.lance"
    nowhere.mkdir()
    assert twins.load(str(nowhere), type="Person").ending == "InvalidInput load.corrupt"
