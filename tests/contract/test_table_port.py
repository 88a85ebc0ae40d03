"""The suite of the table port. Every adapter passes every test of it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.adapters.objects import open_objects
from omnigraph.datatypes.arrow import BLOB
from omnigraph.errors import AlreadyExists, Conflict, InvalidInput, NotFound, StorageFault
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, Pin, Staged
from omnigraph.runtime.ids import new_short_id, new_ulid

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.objects import ObjectStore
    from omnigraph.ports.tables import Table, TableStore
    from omnigraph.testing.s3 import S3Endpoint

PATH = "nodes/person-1"
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ("age", pa.int64())])


@dataclass(frozen=True)
class Place:
    """One root, openable as often as one likes: each opening is another process, nearly."""

    uri: str
    options: dict[str, str] | None
    durable: bool

    def tables(self) -> TableStore:
        return LanceTables(self.uri, self.options, durable=self.durable)

    def objects(self) -> ObjectStore:
        return open_objects(self.uri, self.options)


@pytest.fixture(params=["local", "local, durable", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "s3":
        endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
        return Place(
            endpoint.uri(f"tables-{new_short_id()}"), endpoint.storage_options, durable=False
        )
    place = Place(str(tmp_path / "my graph.omni"), None, durable="durable" in request.param)
    place.objects().create_root()
    return place


@pytest.fixture
def tables(place: Place) -> TableStore:
    return place.tables()


def people(*ids: str, age: int = 1) -> pa.Table:
    return pa.table({"id": list(ids), "age": [age] * len(ids)}, schema=SCHEMA)


def created(tables: TableStore, *ids: str) -> Pin:
    """A table, with rows in one fragment if any."""
    pin = tables.create(PATH, SCHEMA, operation_id="create")
    return appended(tables, pin, *ids) if ids else pin


def appended(tables: TableStore, pin: Pin, *ids: str, operation_id: str = "append") -> Pin:
    return tables.commit(
        pin, tables.open(pin).stage_append(people(*ids)), operation_id=operation_id
    )


def ids_of(tables: TableStore, pin: Pin) -> list[str]:
    return list(tables.open(pin).scan(["id"])["id"].to_pylist())


def located(table: Table, *ids: str) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and row ids, in the order of ``ids``."""
    rows = table.scan(["id"], row_ids=True, row_addresses=True).to_pylist()
    by_id = {row["id"]: row for row in rows}
    addresses = np.array([by_id[name][ROW_ADDRESS] for name in ids], np.uint64)
    return addresses, np.array([by_id[name][ROW_ID] for name in ids], np.uint64)


# --- creating and opening ---


def test_a_new_table_is_empty_and_pinned(tables: TableStore) -> None:
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    assert (pin.path, pin.version, pin.rows) == (PATH, 1, 0)
    assert pin.fingerprint
    assert tables.open(pin).schema.equals(SCHEMA)
    assert tables.open(pin).scan().num_rows == 0
    assert tables.operation_of(PATH, 1) == "op"


def test_a_table_is_created_once(tables: TableStore) -> None:
    pin = created(tables, "a")
    with pytest.raises(AlreadyExists) as caught:
        tables.create(PATH, SCHEMA, operation_id="again")
    assert caught.value.code == "table.exists"
    assert ids_of(tables, pin) == ["a"]


def test_of_many_creators_one_wins(place: Place) -> None:
    def create(number: int) -> Pin | None:
        try:
            return place.tables().create(PATH, SCHEMA, operation_id=f"op{number}")
        except AlreadyExists:
            return None

    with ThreadPoolExecutor(4) as pool:
        pins = [pin for pin in pool.map(create, range(4)) if pin is not None]
    assert len(pins) == 1
    assert place.tables().open(pins[0]).count() == 0


def test_a_missing_table_is_not_found(tables: TableStore) -> None:
    for ask in (tables.latest, tables.latest_version):
        with pytest.raises(NotFound) as caught:
            ask("nodes/none")
        assert caught.value.code == "table.missing"
    with pytest.raises(NotFound) as caught:
        tables.open(Pin("nodes/none", 1, "x", 0))
    assert caught.value.code == "table.missing"


def test_a_missing_version_is_not_found(tables: TableStore) -> None:
    pin = created(tables)
    with pytest.raises(NotFound) as caught:
        tables.open(Pin(PATH, 9, pin.fingerprint, 0))
    assert caught.value.code == "table.version_missing"


def test_a_pin_with_another_fingerprint_is_refused(place: Place) -> None:
    pin = created(place.tables(), "a")
    with pytest.raises(StorageFault) as caught:
        place.tables().open(Pin(PATH, pin.version, "somebody-else", 1))
    assert caught.value.code == "table.pin_mismatch"


def test_every_version_stays_readable_from_any_process(place: Place) -> None:
    first = created(place.tables(), "a")
    second = appended(place.tables(), first, "b")
    fresh = place.tables()
    assert ids_of(fresh, first) == ["a"]
    assert ids_of(fresh, second) == ["a", "b"]


# --- reading ---


def test_a_scan_filters_projects_limits_and_counts(tables: TableStore) -> None:
    pin = created(tables, "a", "b", "c")
    table = tables.open(pin)
    assert table.scan(["id"], filter="id >= 'b'")["id"].to_pylist() == ["b", "c"]
    assert table.scan(["id"], filter=pc.field("id") == "b")["id"].to_pylist() == ["b"]
    assert table.scan(limit=2).num_rows == 2
    assert table.scan(["age", "id"]).column_names == ["age", "id"]
    assert table.count() == 3
    assert table.count("id > 'a'") == 2
    assert table.count(pc.field("id") > "a") == 2
    assert sum(batch.num_rows for batch in table.batches(["id"], filter="id < 'c'")) == 2


def test_row_ids_and_addresses_come_on_request(tables: TableStore) -> None:
    table = tables.open(created(tables, "a", "b"))
    assert table.scan([], row_ids=True).column_names == [ROW_ID]
    assert table.scan([], row_addresses=True).column_names == [ROW_ADDRESS]
    assert table.scan().column_names == ["id", "age"]


def test_a_filter_that_means_nothing_is_the_callers_mistake(tables: TableStore) -> None:
    table = tables.open(created(tables, "a"))
    with pytest.raises(InvalidInput):
        table.scan(filter="nobody = 1")
    with pytest.raises(InvalidInput):
        table.scan(["nobody"])


def test_blobs_are_bytes(tables: TableStore) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("photo", pa.large_binary(), metadata={BLOB: b"true"}),
        ]
    )
    photos = [b"small", None, b"", b"m" * 100_000, b"l" * 5_000_000]
    rows = pa.table({"id": list("abcde"), "photo": photos}, schema=schema)
    pin = tables.create(PATH, schema, operation_id="create")
    staged = tables.open(pin).stage_append(rows)
    assert len(staged.files) > 1, "large values lie in files of their own"
    pin = tables.commit(pin, staged, operation_id="append")
    table = tables.open(pin)
    assert table.schema.equals(schema, check_metadata=False)
    assert table.schema.field("photo").metadata[BLOB] == b"true"
    assert table.scan()["photo"].to_pylist() == photos
    assert table.scan(["id"])["id"].to_pylist() == list("abcde")
    assert table.scan(["photo"], filter="id = 'd'")["photo"].to_pylist() == [photos[3]]
    [batch] = table.batches(["photo"], filter="id = 'a'")
    assert batch["photo"].to_pylist() == [b"small"]
    addresses, _ = located(table, "a")
    replacement = pa.table({"id": ["a"], "photo": [b"new"]}, schema=schema)
    change = table.stage_change(replace=(addresses, replacement))
    assert change is not None
    pin = tables.commit(pin, change, operation_id="replace")
    after = {row["id"]: row["photo"] for row in tables.open(pin).scan().to_pylist()}
    assert after == {**dict(zip("abcde", photos, strict=True)), "a": b"new"}

    # --- staging and advancing ---
    addresses = table.scan(["id"], row_addresses=True)[ROW_ADDRESS].to_pylist()
    opened = [table.blob("photo", address) for address in addresses]
    assert [blob and blob.read(0, blob.size) for blob in opened] == photos
    assert len({blob.tag for blob in opened if blob is not None}) == 4
    large = opened[-1]
    assert large is not None
    assert (large.size, large.read(4_999_999, 1)) == (5_000_000, b"l")


def test_staging_is_invisible_until_it_is_committed(place: Place) -> None:
    tables = place.tables()
    pin = created(tables, "a")
    staged = tables.open(pin).stage_append(people("b"))
    assert ids_of(place.tables(), pin) == ["a"]
    after = tables.commit(pin, staged, operation_id="op")
    assert after.rows == 2
    assert tables.operation_of(PATH, after.version) == "op"
    assert ids_of(tables, after) == ["a", "b"]


def test_a_staged_change_crosses_processes_as_json(place: Place) -> None:
    pin = created(place.tables(), "a")
    staged = place.tables().open(pin).stage_append(people("b"))
    carried = Staged.from_json(json.loads(json.dumps(staged.to_json())))
    assert carried == staged
    tables = place.tables()
    assert ids_of(tables, tables.commit(pin, carried, operation_id="op")) == ["a", "b"]


def test_rows_are_matched_by_column_name_and_must_have_them_all(tables: TableStore) -> None:
    pin = created(tables)
    shuffled = pa.table({"age": pa.array([7], pa.int32()), "id": ["a"]})
    pin = tables.commit(pin, tables.open(pin).stage_append(shuffled), operation_id="op")
    assert tables.open(pin).scan().to_pylist() == [{"id": "a", "age": 7}]
    for rows in (
        pa.table({"id": ["a"]}),
        pa.table({"id": ["a"], "age": [1], "more": [1]}),
        pa.table({"id": ["a"], "age": ["old"]}),
        pa.table({"id": pa.array([None], pa.string()), "age": [1]}),
    ):
        with pytest.raises(InvalidInput) as caught:
            tables.open(pin).stage_append(rows)
        assert caught.value.code == "table.columns"


def test_delete_replace_and_insert_are_one_version(tables: TableStore) -> None:
    pin = created(tables, "a", "b", "c", "d")
    table = tables.open(pin)
    deleted, _ = located(table, "a")
    addresses, _ = located(table, "c", "b")
    staged = table.stage_change(
        delete=deleted, replace=(addresses, people("c", "b", age=9)), insert=people("e")
    )
    assert staged is not None
    after = tables.commit(pin, staged, operation_id="op")
    assert after.rows == 4
    rows = {row["id"]: row["age"] for row in tables.open(after).scan().to_pylist()}
    assert rows == {"b": 9, "c": 9, "d": 1, "e": 1}
    assert sorted(ids_of(tables, pin)) == ["a", "b", "c", "d"], "the old version is untouched"


def test_replaced_rows_are_new_rows(tables: TableStore) -> None:
    pin = created(tables, "a", "b", "c")
    addresses, row_ids = located(tables.open(pin), "a")
    staged = tables.open(pin).stage_change(
        replace=(addresses, people("a", age=9)), insert=people("d")
    )
    assert staged is not None
    assert len(staged.files) == 2, "one data file and one of deletions"
    after = tables.commit(pin, staged, operation_id="op")
    assert after.rows == 4
    rows = {row["id"]: row["age"] for row in tables.open(after).scan().to_pylist()}
    assert rows == {"a": 9, "b": 1, "c": 1, "d": 1}
    assert located(tables.open(after), "a")[1] != row_ids
    with pytest.raises(InvalidInput):
        tables.open(pin).stage_change(replace=(addresses, people("a", "b")))


def test_a_fragment_whose_rows_are_all_gone_is_removed(tables: TableStore) -> None:
    pin = appended(tables, created(tables, "a", "b"), "c", "d")
    table = tables.open(pin)
    addresses, _ = located(table, "a", "b", "c")
    staged = table.stage_change(delete=addresses)
    assert staged is not None
    pin = tables.commit(pin, staged, operation_id="op")
    assert ids_of(tables, pin) == ["d"]
    addresses, _ = located(tables.open(pin), "d")
    staged = tables.open(pin).stage_change(delete=addresses)
    assert staged is not None
    pin = tables.commit(pin, staged, operation_id="op")
    assert pin.rows == 0
    assert ids_of(tables, appended(tables, pin, "e")) == ["e"]


def test_deleting_again_from_a_fragment_keeps_the_earlier_deletions(tables: TableStore) -> None:
    pin = created(tables, "a", "b", "c")
    for gone in "ab":
        addresses, _ = located(tables.open(pin), gone)
        staged = tables.open(pin).stage_change(delete=addresses)
        assert staged is not None
        pin = tables.commit(pin, staged, operation_id="op")
    assert ids_of(tables, pin) == ["c"]


def test_nothing_to_change_stages_nothing(tables: TableStore) -> None:
    table = tables.open(created(tables, "a"))
    nothing = np.empty(0, np.uint64)
    assert table.stage_change() is None
    assert table.stage_change(delete=nothing) is None
    assert table.stage_change(replace=(nothing, people()), insert=people()) is None


def test_only_inserts_stage_as_an_append(tables: TableStore) -> None:
    pin = created(tables, "a")
    staged = tables.open(pin).stage_change(insert=people("b"))
    assert staged is not None
    assert json.loads(staged.operation)["kind"] == "append"


def test_a_row_cannot_be_replaced_twice_or_while_it_is_deleted(tables: TableStore) -> None:
    table = tables.open(created(tables, "a", "b"))
    addresses, _ = located(table, "a")
    for change in (
        {"replace": (np.repeat(addresses, 2), people("a", "a"))},
        {"delete": addresses, "replace": (addresses, people("a"))},
        {"replace": (addresses, people("a", "b"))},
    ):
        with pytest.raises(InvalidInput) as caught:
            table.stage_change(**change)
        assert caught.value.code == "table.replace"
    with pytest.raises(InvalidInput):
        table.stage_change(delete=np.array([99 << 32], np.uint64))


def test_an_overwrite_replaces_rows_and_schema(tables: TableStore) -> None:
    pin = created(tables, "a", "b")
    old_ids = set(tables.open(pin).scan([], row_ids=True)[ROW_ID].to_pylist())
    rows = pa.table({"id": ["z"], "name": ["Zoe"]})
    after = tables.commit(pin, tables.open(pin).stage_overwrite(rows), operation_id="op")
    assert after.rows == 1
    assert tables.open(after).scan().to_pylist() == [{"id": "z", "name": "Zoe"}]
    assert not old_ids & set(tables.open(after).scan([], row_ids=True)[ROW_ID].to_pylist())
    emptied = tables.commit(
        after, tables.open(after).stage_overwrite(rows.slice(0, 0)), operation_id="op"
    )
    assert tables.open(emptied).schema.names == ["id", "name"]
    assert emptied.rows == 0


# --- row counts ---


def _grown(tables: TableStore, pin: Pin, times: int) -> Pin:
    for number in range(times):
        pin = appended(tables, pin, f"small{number}")
    return pin


@pytest.mark.parametrize(
    ("delete", "replace", "insert"),
    [((), (), 2), (("a",), (), 0), (("a", "b", "c"), (), 0), (("a",), ("b",), 3)],
    ids=["insert", "delete some", "delete a fragment", "all of it"],
)
@pytest.mark.parametrize("small", [0, 17], ids=["one fragment", "with small fragments"])
def test_a_pin_counts_its_rows(
    delete: tuple[str, ...], replace: tuple[str, ...], insert: int, small: int, place: Place
) -> None:
    tables = place.tables()
    pin = _grown(tables, created(tables, "a", "b", "c"), small)
    table = tables.open(pin)
    addresses, _ = located(table, *replace)
    staged = table.stage_change(
        delete=located(table, *delete)[0],
        replace=(addresses, people(*replace, age=9)) if replace else None,
        insert=people(*(f"new{number}" for number in range(insert))),
    )
    assert staged is not None
    after = tables.commit(pin, staged, operation_id="op")
    assert after.rows == pin.rows + insert - len(delete) == len(ids_of(place.tables(), after))


def test_a_pin_counts_the_rows_of_an_overwrite(tables: TableStore) -> None:
    pin = created(tables, "a", "b", "c")
    staged = tables.open(pin).stage_overwrite(people("d"))
    assert tables.commit(pin, staged, operation_id="op").rows == 1


# --- versions without an order, many branches ---


def test_any_number_of_versions_build_on_one_pin(tables: TableStore) -> None:
    base = created(tables, "a")
    main = appended(tables, base, "main")
    other = appended(tables, base, "other", operation_id="branch")
    assert ids_of(tables, other) == ["a", "other"]
    assert ids_of(tables, main) == ["a", "main"]
    assert len({base.version, main.version, other.version}) == 3
    assert tables.operation_of(PATH, other.version) == "branch"
    again = appended(tables, main, "main2")
    assert ids_of(tables, again) == ["a", "main", "main2"]


def test_versions_are_larger_than_signed_numbers_hold(tables: TableStore) -> None:
    pin = created(tables, "a")
    assert 2**63 <= pin.version < 2**64
    staged = tables.open(pin).stage_append(people("b"))
    carried = Staged.from_json(json.loads(json.dumps(staged.to_json())))
    assert carried.base_version == pin.version
    assert ids_of(tables, tables.commit(pin, carried, operation_id="op")) == ["a", "b"]


def test_row_ids_are_unique_within_a_version(tables: TableStore) -> None:
    """Versions that build on one pin give the same row ids to different rows."""
    base = created(tables, "a")
    heads = {"x": base, "y": base}
    for turn in range(4):
        for branch, head in heads.items():
            heads[branch] = appended(tables, head, f"{branch}{turn}")
            row_ids = tables.open(heads[branch]).scan(["id"], row_ids=True)[ROW_ID].to_pylist()
            assert len(set(row_ids)) == turn + 2


def test_a_staged_change_fits_its_pin_beside_other_versions(tables: TableStore) -> None:
    base = created(tables, "a", "b", "c")
    table = tables.open(base)
    gone, _ = located(table, "a")
    staged = table.stage_change(delete=gone, replace=(located(table, "b")[0], people("b", age=9)))
    assert staged is not None
    appended(tables, base, "orphan")
    after = tables.commit(base, staged, operation_id="op")
    rows = {row["id"]: row["age"] for row in tables.open(after).scan().to_pylist()}
    assert rows == {"b": 9, "c": 1}


def test_an_operation_is_found_by_what_it_committed(place: Place) -> None:
    tables = place.tables()
    base = created(tables, "a")
    operation, other = new_ulid(), new_ulid()
    assert tables.find_committed(base, operation) is None
    theirs = appended(tables, base, "b", operation_id=other)
    ours = appended(tables, base, "c", operation_id=operation)
    appended(tables, ours, "d", operation_id=new_ulid())
    again = place.tables()
    assert again.find_committed(base, operation) == ours
    assert again.find_committed(base, other) == theirs
    assert again.find_committed(theirs, operation) is None, "it built on another pin"


def test_a_transaction_without_a_version_is_not_found(place: Place) -> None:
    tables, operation = place.tables(), new_ulid()
    base = created(tables, "a")
    lost = appended(tables, base, "lost", operation_id=operation)
    place.objects().delete(f"{PATH}/_versions/{manifest_name(lost.version)}")
    appended(tables, base, "b", operation_id=new_ulid())
    assert place.tables().find_committed(base, operation) is None


def test_an_append_may_be_committed_on_a_later_pin(tables: TableStore) -> None:
    base = created(tables, "a")
    staged = tables.open(base).stage_append(people("late"))
    later = appended(tables, base, "b")
    assert ids_of(tables, tables.commit(later, staged, operation_id="op")) == ["a", "b", "late"]


def test_deletions_staged_elsewhere_are_refused(tables: TableStore) -> None:
    base = created(tables, "a", "b")
    first, second = (
        tables.open(base).stage_change(delete=located(tables.open(base), name)[0]) for name in "ab"
    )
    assert first is not None
    assert second is not None
    later = tables.commit(base, first, operation_id="op")
    with pytest.raises(Conflict) as caught:
        tables.commit(later, second, operation_id="op")
    assert caught.value.code == "table.staged_elsewhere"
    assert ids_of(tables, later) == ["b"]


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"id": ["z"], "name": ["Zoe"]}, id="another column with the same number"),
        pytest.param({"id": ["z"], "age": ["old"]}, id="another type"),
        pytest.param({"age": [1], "id": ["z"]}, id="columns swapped"),
        pytest.param({"id": ["z"]}, id="column dropped"),
    ],
)
def test_rows_staged_for_other_columns_are_refused(
    tables: TableStore, columns: dict[str, list[Any]]
) -> None:
    pin = created(tables, "a")
    staged = tables.open(pin).stage_append(people("b"))
    moved = tables.commit(
        pin, tables.open(pin).stage_overwrite(pa.table(columns)), operation_id="schema"
    )
    with pytest.raises(Conflict) as caught:
        tables.commit(moved, staged, operation_id="op")
    assert caught.value.code == "table.schema_moved"


def test_another_branchs_columns_do_not_disturb_this_one(tables: TableStore) -> None:
    base = created(tables, "a")
    staged = tables.open(base).stage_append(people("b"))
    tables.commit(
        base,
        tables.open(base).stage_overwrite(pa.table({"age": ["x"], "id": [1]})),
        operation_id="other",
    )
    after = tables.commit(base, staged, operation_id="op")
    assert tables.open(after).scan().to_pylist() == [
        {"id": "a", "age": 1},
        {"id": "b", "age": 1},
    ]
    later = tables.open(base).stage_append(people("c"))
    assert ids_of(tables, tables.commit(base, later, operation_id="op")) == ["a", "c"]


def test_a_staged_file_that_is_gone_is_caught(place: Place) -> None:
    tables = place.tables()
    pin = created(tables, "a", "b")
    staged = tables.open(pin).stage_append(people("c"))
    place.objects().delete(staged.files[0].path)
    with pytest.raises(Conflict) as caught:
        tables.commit(pin, staged, operation_id="op")
    assert caught.value.code == "table.staged_missing"
    deletion = tables.open(pin).stage_change(delete=located(tables.open(pin), "a")[0])
    assert deletion is not None
    place.objects().delete(deletion.files[0].path)
    with pytest.raises(Conflict):
        tables.commit(pin, deletion, operation_id="op")
    assert ids_of(place.tables(), pin) == ["a", "b"]


def test_a_staged_file_with_another_size_is_caught(place: Place) -> None:
    tables = place.tables()
    pin = created(tables, "a")
    staged = tables.open(pin).stage_append(people("c"))
    place.objects().put(staged.files[0].path, b"short")
    with pytest.raises(Conflict) as caught:
        tables.commit(pin, staged, operation_id="op")
    assert caught.value.code == "table.staged_missing"


def test_racing_writers_of_one_pin_all_commit(place: Place) -> None:
    base = created(place.tables(), "base")

    def write(number: int) -> tuple[str, Pin]:
        tables = place.tables()
        name = f"w{number}"
        staged = tables.open(base).stage_append(people(name))
        return name, tables.commit(base, staged, operation_id=name)

    with ThreadPoolExecutor(4) as pool:
        committed = list(pool.map(write, range(8)))
    tables = place.tables()
    assert len({pin.version for _, pin in committed}) == 8
    for name, pin in committed:
        assert ids_of(tables, pin) == ["base", name]
        assert tables.operation_of(PATH, pin.version) == name


# --- logs ---

LOG = "log"


def logged(tables: TableStore, *ids: str) -> None:
    """A log with one version per row, after the first one."""
    tables.create(LOG, SCHEMA, operation_id="create")
    for name in ids:
        tables.append(LOG, people(name), operation_id=new_ulid())


def test_the_newest_version_of_a_log_counts(place: Place) -> None:
    logged(place.tables(), "a", "b")
    tables = place.tables()
    assert tables.latest_version(LOG) == 3
    assert ids_of(tables, tables.latest(LOG)) == ["a", "b"]


# --- torn versions ---


def tear(place: Place, path: str, version: int, body: bytes = b"torn") -> str:
    key = f"{path}/_versions/{manifest_name(version)}"
    place.objects().put(key, body)
    return key


@pytest.mark.parametrize("body", [b"", b"torn", bytes(700)], ids=["empty", "text", "zeros"])
def test_a_torn_version_harms_only_its_own_pin(place: Place, body: bytes) -> None:
    pin = created(place.tables(), "a")
    lost = appended(place.tables(), pin, "lost")
    tear(place, PATH, lost.version, body)
    tables = place.tables()
    with pytest.raises(StorageFault) as caught:
        tables.open(lost)
    assert caught.value.code == "table.torn"
    assert caught.value.details == {"table": PATH, "version": lost.version}
    after = appended(tables, pin, "b")
    assert ids_of(tables, after) == ["a", "b"]
    tables.sync([after])
    assert tables.find_committed(pin, "append") == after


@pytest.mark.parametrize("missing", [1, 3])
def test_versions_that_are_missing_can_come_back(place: Place, missing: int) -> None:
    """A copy of the graph has their files. Brought back, they replace no other version."""
    pin = newest = created(place.tables(), "a")
    keys = []
    for number in range(missing):
        newest = appended(place.tables(), newest, f"lost{number}")
        keys.append(f"{PATH}/_versions/{manifest_name(newest.version)}")
    objects = place.objects()
    bodies = [objects.get(key) for key in keys]
    for key in keys:
        objects.delete(key)
    tables = place.tables()
    with pytest.raises(NotFound) as caught:
        tables.open(newest)
    assert caught.value.code == "table.version_missing"
    assert caught.value.details["file"] == keys[-1]
    later = appended(tables, pin, "b")
    assert ids_of(tables, later) == ["a", "b"]
    for key, body in zip(keys, bodies, strict=True):
        objects.put(key, body)
    assert "lost0" in ids_of(place.tables(), newest)
    assert ids_of(place.tables(), later) == ["a", "b"]


def test_a_torn_log_heals(place: Place) -> None:
    tables = place.tables()
    logged(tables, "a")
    key = tear(place, LOG, 3)
    with pytest.raises(StorageFault) as caught:
        tables.append(LOG, people("b"), operation_id="op")
    assert caught.value.code == "table.torn"
    assert tables.quarantine_torn(LOG, 3) == f"{key}.torn-1"
    tables.append(LOG, people("b"), operation_id="op")
    assert ids_of(tables, place.tables().latest(LOG)) == ["a", "b"]


def test_a_second_tear_of_one_number_gets_another_name(place: Place) -> None:
    tables = place.tables()
    logged(tables)
    for number, body in ((1, b"first"), (2, b"second")):
        key = tear(place, LOG, 2, body)
        assert tables.quarantine_torn(LOG, 2) == f"{key}.torn-{number}"


def test_only_a_torn_newest_version_is_set_aside(place: Place) -> None:
    tables = place.tables()
    logged(tables, "a")
    with pytest.raises(Conflict) as caught:
        tables.quarantine_torn(LOG, 2)
    assert caught.value.code == "table.not_torn"
    tear(place, LOG, 1)
    with pytest.raises(Conflict):
        tables.quarantine_torn(LOG, 1)
    with pytest.raises(NotFound):
        tables.quarantine_torn(LOG, 9)
    with pytest.raises(NotFound):
        tables.quarantine_torn("nodes/none", 1)
    assert ids_of(tables, place.tables().latest(LOG)) == ["a"]


def test_syncing_is_fine_everywhere(tables: TableStore) -> None:
    pin = created(tables, "a")
    staged = tables.open(pin).stage_append(people("b"))
    tables.sync([], [staged])
    after = tables.commit(pin, staged, operation_id="op")
    tables.sync([after], [staged])
    tables.sync([pin, after])
