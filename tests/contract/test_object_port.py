"""The suite of the object port. Every adapter passes every test of it."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.objects import FileStore, ObjectStore
    from omnigraph.testing.s3 import S3Endpoint

ADAPTERS = [
    "local",
    "local, durable",
    "memory",
    pytest.param("s3", marks=pytest.mark.s3),
]


@pytest.fixture(params=ADAPTERS)
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    store: FileStore
    match request.param:
        case "memory":
            store = open_objects("memory://contract")
        case "s3":
            endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
            uri = endpoint.uri(f"objects-{new_short_id()}")
            store = open_objects(uri, endpoint.storage_options)
        case name:
            store = open_objects(str(tmp_path / "graph.omni"), durable="durable" in name)
    store.create_root()
    return store


def test_what_was_put_is_got_back(objects: ObjectStore) -> None:
    objects.put("_refs/branches/main/1.json", b'{"n": 1}')
    assert objects.get("_refs/branches/main/1.json") == b'{"n": 1}'
    assert objects.size("_refs/branches/main/1.json") == 8


def test_an_empty_object_is_an_object(objects: ObjectStore) -> None:
    objects.put("empty", b"")
    assert objects.exists("empty")
    assert objects.get("empty") == b""
    assert objects.size("empty") == 0


def test_a_put_replaces(objects: ObjectStore) -> None:
    objects.put("key", b"old")
    objects.put("key", b"new and longer")
    assert objects.get("key") == b"new and longer"


def test_a_sync_leaves_an_object_as_it_is(objects: ObjectStore) -> None:
    assert objects.put_if_absent("a/b.json", b"text")
    objects.sync("a/b.json")
    assert objects.get("a/b.json") == b"text"


def test_a_missing_object_is_not_found(objects: ObjectStore) -> None:
    for ask in (objects.get, objects.size):
        with pytest.raises(NotFound) as caught:
            ask("nowhere/at/all")
        assert caught.value.code == "object.missing"
    assert not objects.exists("nowhere/at/all")


def test_names_are_listed_by_their_beginning(objects: FileStore) -> None:
    for name in ("1-a", "2-a", "2-b", "20-a", "3-a"):
        objects.put(f"some/{name}", b"1")
        objects.put(f"someone/{name}", b"1")
    objects.put("some/2/inside", b"1")
    assert objects.list_starting("some", "2-") == ["some/2-a", "some/2-b"]
    assert objects.list_starting("some", "4-") == []
    assert objects.list_starting("nowhere", "2-") == []


def test_changes_are_listed_newest_first(objects: FileStore) -> None:
    assert objects.list_modified("some") == []
    for key in ("some/old", "some/deep/other", "some/new"):
        objects.put(key, b"1")
        SYSTEM_CLOCK.sleep(1.1 if objects.uri.startswith("s3") else 0.02)
    found = objects.list_modified("some")
    assert [key for key, _ in found] == ["some/new", "some/old"]
    assert found[0][1] > found[1][1] > 0


def test_put_if_absent_creates_once(objects: ObjectStore) -> None:
    assert objects.put_if_absent("lock", b"mine")
    assert not objects.put_if_absent("lock", b"yours")
    assert objects.get("lock") == b"mine"


def test_put_if_absent_again_with_the_same_body_is_a_lost_reply(objects: ObjectStore) -> None:
    assert objects.put_if_absent("lock", b"nonce")
    assert objects.put_if_absent("lock", b"nonce")


def test_put_if_absent_has_one_winner_among_threads(objects: ObjectStore) -> None:
    def race(key: str) -> list[bool]:
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda i: objects.put_if_absent(key, b"%d" % i), range(8)))

    for round_number in range(5):
        key = f"race/{round_number}"
        won = race(key)
        assert won.count(True) == 1
        assert objects.get(key) == b"%d" % won.index(True)


def test_a_directory_is_no_object(objects: ObjectStore) -> None:
    objects.put("directory/inside", b"1")
    assert not objects.exists("directory")
    with pytest.raises(NotFound):
        objects.get("directory")
    with pytest.raises(NotFound):
        objects.size("directory")
    objects.delete("directory")
    assert objects.get("directory/inside") == b"1"


def test_a_directory_that_was_emptied_does_not_exist(objects: ObjectStore) -> None:
    objects.put("directory/inside", b"1")
    objects.delete("directory/inside")
    assert not objects.exists("directory")
    assert objects.list("directory") == []
    assert objects.list("") == []


def test_deleting_is_idempotent(objects: ObjectStore) -> None:
    objects.put("key", b"1")
    objects.delete("key")
    objects.delete("key")
    objects.delete("never/there")
    assert not objects.exists("key")


def test_a_listing_is_deep_sorted_and_relative_to_the_root(objects: ObjectStore) -> None:
    for key in ("b", "a/2", "a/10", "a/sub/1"):
        objects.put(key, b"")
    assert objects.list("") == ["a/10", "a/2", "a/sub/1", "b"]
    assert objects.list("a") == ["a/10", "a/2", "a/sub/1"]
    assert objects.list("a/sub") == ["a/sub/1"]
    assert objects.list("nowhere") == []


def test_a_prefix_does_not_bleed_into_its_siblings(objects: ObjectStore) -> None:
    for key in ("a/1", "ab/1", "a.b", "a-b/1"):
        objects.put(key, b"")
    assert objects.list("a") == ["a/1"]
    objects.delete_prefix("a")
    assert objects.list("") == ["a-b/1", "a.b", "ab/1"]


def test_nothing_lies_below_an_object(objects: ObjectStore) -> None:
    objects.put("key", b"1")
    assert objects.list("key") == []


def test_delete_prefix_is_idempotent(objects: ObjectStore) -> None:
    for key in ("a/1", "a/b/2", "a/b/c/3"):
        objects.put(key, b"")
    objects.delete_prefix("a")
    objects.delete_prefix("a")
    objects.delete_prefix("never/there")
    assert objects.list("") == []
    objects.put("a/1", b"again")
    assert objects.list("a") == ["a/1"]


@pytest.mark.parametrize(
    "key",
    [
        "with space/and more",
        "ümlaut/日本",
        "a%20b",
        "plus+and=and&",
        "a:b",
        "#1?x",
        "~tilde",
        "'\"",
    ],
)
def test_any_characters_round_trip(objects: ObjectStore, key: str) -> None:
    objects.put(key, key.encode())
    assert objects.get(key) == key.encode()
    assert objects.list("") == [key]
    assert not objects.put_if_absent(key, b"other")
    objects.delete(key)
    assert objects.list("") == []


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b"])
def test_a_key_that_is_no_key_is_refused(objects: ObjectStore, key: str) -> None:
    for ask in (objects.get, objects.size, objects.exists, objects.delete):
        with pytest.raises(InvalidInput) as caught:
            ask(key)
        assert caught.value.code == "object.key"
    with pytest.raises(InvalidInput):
        objects.put(key, b"")
    with pytest.raises(InvalidInput):
        objects.put_if_absent(key, b"")


def test_large_objects_are_whole(objects: ObjectStore) -> None:
    body = bytes(range(256)) * 8_192  # 2 MB
    objects.put("large", body)
    assert objects.get("large") == body
    assert objects.size("large") == len(body)


def test_a_reader_sees_the_old_object_or_the_new_one_whole(objects: ObjectStore) -> None:
    bodies = [bytes([letter]) * 50_000 for letter in b"abcd"]
    objects.put("key", bodies[0])

    def write() -> None:
        for turn in range(20):
            objects.put("key", bodies[turn % 4])

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            assert objects.get("key") in bodies
        writing.result()


def _claim(uri: str, options: dict[str, str] | None, name: bytes, keys: int) -> int:
    store = open_objects(uri, options)
    return sum(store.put_if_absent(f"claims/{number}", name) for number in range(keys))


@pytest.mark.parametrize("where", ["local", pytest.param("s3", marks=pytest.mark.s3)])
def test_put_if_absent_has_one_winner_among_processes(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, str] | None = None
    uri = str(tmp_path)
    if where == "s3":
        endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
        uri, options = endpoint.uri(f"claims-{new_short_id()}"), endpoint.storage_options
    keys = 40
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        claims = [(uri, options, b"%d" % worker, keys) for worker in range(3)]
        won = pool.starmap(_claim, claims)
    assert sum(won) == keys
