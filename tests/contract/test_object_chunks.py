"""Files that are larger than one request or one buffer, on every object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.errors import InvalidInput, NotFound, StorageFault
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.ports.objects import FileStore
    from omnigraph.testing.s3 import S3Endpoint

BIG = bytes(range(256)) * 100_000


@pytest.fixture(
    params=["local", "local, durable", "memory", pytest.param("s3", marks=pytest.mark.s3)]
)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    if request.param == "s3":
        endpoint: S3Endpoint = request.getfixturevalue("s3_endpoint")
        return open_objects(endpoint.uri(f"files-{new_short_id()}"), endpoint.storage_options)
    if request.param == "memory":
        return open_objects("memory://files")
    store = open_objects(str(tmp_path / "files"), durable="durable" in request.param)
    store.create_root()
    return store


@pytest.mark.parametrize("body", [b"", b"small", BIG], ids=["empty", "small", "big"])
def test_what_is_written_in_pieces_reads_the_same(files: FileStore, body: bytes) -> None:
    pieces = [body[start : start + 9_000_000] for start in range(0, len(body), 9_000_000)]
    assert files.write_chunks("deep/down/file", pieces) == len(body)
    assert files.size("deep/down/file") == len(body)
    assert b"".join(files.read_chunks("deep/down/file")) == body
    assert files.get("deep/down/file") == body
    assert files.list("deep") == ["deep/down/file"]


def test_a_large_file_comes_in_pieces(files: FileStore) -> None:
    files.put("file", BIG)
    largest = max(map(len, files.read_chunks("file")))
    assert largest < len(BIG) or files.uri.startswith("memory:"), "memory has it whole anyway"


def test_writing_again_replaces(files: FileStore) -> None:
    files.write_chunks("file", [b"one"])
    files.write_chunks("file", [b"two", b"!"])
    assert files.get("file") == b"two!"


def test_a_file_whose_pieces_end_early_never_appears(files: FileStore) -> None:
    def breaking() -> Iterator[bytes]:
        yield from [BIG, BIG]
        raise StorageFault("storage.failed", "the other end is gone")

    with pytest.raises(StorageFault, match="the other end is gone"):
        files.write_chunks("file", breaking())
    assert not files.exists("file")
    assert files.list("") == []


def test_a_missing_file_is_not_found(files: FileStore) -> None:
    with pytest.raises(NotFound) as caught:
        list(files.read_chunks("none"))
    assert caught.value.code == "object.missing"


def test_a_bad_key_is_refused(files: FileStore) -> None:
    with pytest.raises(InvalidInput):
        files.write_chunks("../file", [b""])
    with pytest.raises(InvalidInput):
        list(files.read_chunks("a//b"))
