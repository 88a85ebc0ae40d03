"""The part of the table port that is about indexes and searching; every adapter passes it."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.errors import Conflict
from omnigraph.ports.indexes import IndexKind, IndexSpec, NewSegment
from omnigraph.ports.tables import Staged
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.tables import Pin, TableStore
    from omnigraph.testing.s3 import S3Endpoint

PATH = "nodes/doc-1"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("text", pa.string()),
        ("flag", pa.bool_()),
        ("vector", pa.list_(pa.float32(), 2)),
    ]
)
SPECS = {
    "id": IndexSpec("id", IndexKind.BTREE),
    "flag": IndexSpec("flag", IndexKind.BITMAP),
    "words": IndexSpec("text", IndexKind.INVERTED),
    "vector": IndexSpec("vector", IndexKind.IVF),
}
WORDS = SPECS["words"]


@pytest.fixture(params=["local", "local, durable", pytest.param("s3", marks=pytest.mark.s3)])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> TableStore:
    if request.param == "s3":
        endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
        uri = endpoint.uri(f"indexes-{new_short_id()}")
        return LanceTables(uri, endpoint.storage_options)
    uri = str(tmp_path / "g.omni")
    open_objects(uri).create_root()
    return LanceTables(uri, durable="durable" in request.param)


def docs(*texts: str | None, start: int = 0) -> pa.Table:
    return pa.table(
        {
            "id": [f"d{start + number}" for number in range(len(texts))],
            "text": list(texts),
            "flag": [number % 2 == 0 for number in range(len(texts))],
            "vector": [[1.0, float(start + number)] for number in range(len(texts))],
        },
        schema=SCHEMA,
    )


def created(tables: TableStore, *texts: str | None) -> Pin:
    return appended(tables, tables.create(PATH, SCHEMA, operation_id="create"), *texts)


def appended(tables: TableStore, pin: Pin, *texts: str | None, start: int = 0) -> Pin:
    staged = tables.open(pin).stage_append(docs(*texts, start=start))
    return tables.commit(pin, staged, operation_id="append")


def indexed(tables: TableStore, pin: Pin, *segments: NewSegment) -> Pin:
    staged = tables.open(pin).stage_indexes(segments)
    assert staged is not None
    # As it crosses processes, and is kept in an intent.
    staged = Staged.from_json(json.loads(json.dumps(staged.to_json())))
    return tables.commit(pin, staged, operation_id="index")


def found(tables: TableStore, pin: Pin) -> dict[str, Any]:
    return {index.name: index for index in tables.open(pin).indexes()}


# --- parts and positions ---


def test_a_part_keeps_its_key_while_rows_of_it_go(tables: TableStore) -> None:
    first = created(tables, "a", "b", "c")
    [part] = tables.open(first).fragments()
    assert (part.rows, part.written) == (3, 3)
    table = tables.open(first)
    addresses = table.scan(["id"], filter="id = 'd1'", row_addresses=True)["_rowaddr"].to_numpy()
    thinned = tables.commit(first, table.stage_change(delete=addresses), operation_id="delete")  # type: ignore[arg-type]
    [left] = tables.open(thinned).fragments()
    assert (left.key, left.rows, left.written) == (part.key, 2, 3)


def test_parts_can_be_read_by_themselves(tables: TableStore) -> None:
    table = tables.open(created(tables, "a", "b"))
    whole = [place for place, _ in enumerate(table.fragments())]
    assert table.scan(["id"], fragments=whole)["id"].to_pylist() == ["d0", "d1"]
    assert table.scan(["id"], fragments=[]).num_rows == 0


def test_positions_are_places_in_a_scan(tables: TableStore) -> None:
    first = created(tables, *(["x"] * 6))
    table = tables.open(first)
    gone = table.scan(["id"], filter="id in ('d1', 'd4')", row_addresses=True)["_rowaddr"]
    pin = tables.commit(first, table.stage_change(delete=gone.to_numpy()), operation_id="delete")  # type: ignore[arg-type]
    table = tables.open(pin)
    positions = table.find(pc.field("id").isin(["d5", "d2", "d1"]))
    assert positions.tolist() == [1, 3]
    assert table.take(positions, ["id"])["id"].to_pylist() == ["d2", "d5"]


# --- building ---


def test_a_table_begins_without_indexes(tables: TableStore) -> None:
    table = tables.open(created(tables, "a"))
    assert table.indexes() == ()
    assert table.stage_indexes([]) is None


def test_a_table_is_read_while_its_indexes_are_built(tables: TableStore) -> None:
    pin = created(tables, *(["quick fox"] * 50))
    built = threading.Event()

    def read() -> int:
        rounds = 0
        while not built.is_set() or not rounds:
            assert tables.open(pin).scan(["id"]).num_rows == 50
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            for _ in range(10):
                assert tables.open(pin).stage_indexes([NewSegment(WORDS, (0,))]) is not None
        finally:
            built.set()
        assert all(reader.result() for reader in readers)


def test_every_kind_can_be_built_in_one_change(tables: TableStore) -> None:
    pin = created(tables, "quick fox", "lazy dog", None)
    done = indexed(tables, pin, *(NewSegment(spec, (0,)) for spec in SPECS.values()))
    assert done.rows == pin.rows
    assert tables.operation_of(PATH, done.version) == "index"
    infos = found(tables, done)
    assert {info.spec for info in infos.values()} == set(SPECS.values())
    assert {(info.covered_rows, info.uncovered_rows) for info in infos.values()} == {(3, 0)}
    assert tables.open(done).scan(["id"]).equals(tables.open(pin).scan(["id"]))


def test_new_rows_are_uncovered_until_a_segment_covers_them(tables: TableStore) -> None:
    pin = indexed(tables, created(tables, "quick fox"), NewSegment(WORDS, (0,)))
    grown = appended(tables, pin, *(["slow fox"] * 600), start=1)
    before = found(tables, grown)[WORDS.name]
    assert before.uncovered_rows > 0
    covered = indexed(tables, grown, NewSegment(WORDS, before.uncovered))
    after = found(tables, covered)[WORDS.name]
    assert (after.uncovered_rows, after.uncovered) == (0, ())
    assert len(after.segments) == len(before.segments) + 1


def test_segments_can_be_replaced_by_one(tables: TableStore) -> None:
    pin = indexed(tables, created(tables, *(["fox"] * 600)), NewSegment(WORDS, (0,)))
    pin = appended(tables, pin, *(["fox"] * 600), start=600)
    places = tuple(range(len(tables.open(pin).fragments())))
    done = indexed(tables, pin, NewSegment(WORDS, places, replaces=True))
    info = found(tables, done)[WORDS.name]
    assert len(info.segments) == 1
    assert info.covered_rows == 1_200


def test_notes_are_kept_with_a_segment(tables: TableStore) -> None:
    pin = created(tables, "fox")
    noted = indexed(tables, pin, NewSegment(WORDS, (0,), notes=b"remember"))
    [segment] = found(tables, noted)[WORDS.name].segments
    assert tables.open(noted).index_notes(segment) == b"remember"
    bare = indexed(tables, pin, NewSegment(WORDS, (0,)))
    [segment] = found(tables, bare)[WORDS.name].segments
    assert tables.open(bare).index_notes(segment) is None


def test_an_index_is_built_at_a_pin_and_committed_beside_another_branch(tables: TableStore) -> None:
    pin = created(tables, "quick fox")
    staged = tables.open(pin).stage_indexes([NewSegment(WORDS, (0,))])
    appended(tables, pin, "other branch", start=9)
    assert staged is not None
    done = tables.commit(pin, staged, operation_id="index")
    assert tables.open(done).search_words("text", ["fox", "other"]).tolist() == [0]


def test_an_index_belongs_to_the_version_that_it_was_built_at(tables: TableStore) -> None:
    pin = created(tables, "quick fox")
    staged = tables.open(pin).stage_indexes([NewSegment(WORDS, (0,))])
    later = appended(tables, pin, "more", start=5)
    assert staged is not None
    with pytest.raises(Conflict) as caught:
        tables.commit(later, staged, operation_id="index")
    assert caught.value.code == "table.staged_elsewhere"


# --- searching ---


def test_words_are_found_in_what_is_covered(tables: TableStore) -> None:
    pin = indexed(
        tables,
        created(tables, "quick Fox", "lazy dog", "fox and dog", None),
        NewSegment(WORDS, (0,)),
    )
    table = tables.open(pin)
    assert table.search_words("text", ["fox"]).tolist() == [0, 2]
    assert table.search_words("text", ["fox", "lazy"]).tolist() == [0, 1, 2]
    assert table.search_words("text", ["fox", "dog"], every=True).tolist() == [2]
    assert table.search_words("text", ["cat"]).tolist() == []


def test_replaced_rows_are_not_found_by_what_they_were(tables: TableStore) -> None:
    """An index must not take a row for covered that it does not know."""
    specs = [NewSegment(spec, (0,)) for spec in SPECS.values()]
    pin = indexed(tables, created(tables, "quick fox", "lazy dog"), *specs)
    table = tables.open(pin)
    old = table.scan(["id"], filter="id = 'd0'", row_addresses=True)
    staged = table.stage_change(replace=(old["_rowaddr"].to_numpy(), docs("slow cat")))
    assert staged is not None
    changed = tables.commit(pin, staged, operation_id="update")
    table = tables.open(changed)
    assert table.search_words("text", ["quick"]).tolist() == []
    assert all(info.uncovered_rows == 1 for info in table.indexes())
    assert table.scan(["id"], filter="text = 'slow cat'")["id"].to_pylist() == ["d0"]
    assert table.count("contains(text, 'quick')") == 0


def test_near_vectors_come_nearest_first_whether_covered_or_not(tables: TableStore) -> None:
    pin = indexed(tables, created(tables, *(["x"] * 40)), NewSegment(SPECS["vector"], (0,)))
    pin = appended(tables, pin, *(["x"] * 600), start=40)
    table = tables.open(pin)
    query = np.array([1.0, 100.0])
    rows = table.search_vector("vector", query, 5, probes=50)
    assert table.take(rows, ["id"])["id"].to_pylist()[0] == "d100"
    assert len(set(rows.tolist())) == 5
