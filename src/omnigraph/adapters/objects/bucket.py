"""Small objects through obstore: in a bucket, or in memory.

Both are durable as far as they can be the moment a write returns; there is nothing to sync and no
root to make.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.objects.keys import missing, require_key, require_prefix
from omnigraph.errors import NotFound, StorageFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from omnigraph.adapters.objects.options import BucketOptions
    from omnigraph.adapters.objects.uris import Location

__all__ = ["BucketObjects", "open_bucket", "open_memory"]


_CHUNK_BYTES = 8 * 2**20


class _Counted:
    """Passes chunks on and adds up how long they are."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self.size += len(chunk)
        return chunk


class BucketObjects:
    """Objects under one prefix of an object store."""

    def __init__(self, store: Any, uri: str) -> None:
        self._store = store
        self._uri = uri

    def __repr__(self) -> str:
        return f"BucketObjects({self._uri!r})"

    @property
    def uri(self) -> str:
        return self._uri

    def create_root(self) -> None:
        """A prefix needs no making."""

    def get(self, key: str) -> bytes:
        with self._faults("read", require_key(key)):
            return bytes(self._store.get(key).bytes())

    def size(self, key: str) -> int:
        with self._faults("read", require_key(key)):
            return int(self._store.head(key)["size"])

    def exists(self, key: str) -> bool:
        try:
            self.size(key)
        except NotFound:
            return False
        return True

    def put(self, key: str, body: bytes) -> None:
        with self._faults("write", require_key(key)):
            self._store.put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with self._faults("write", require_key(key)):
            try:
                self._store.put(key, body, mode="create")
            except _exceptions().AlreadyExistsError:
                return self._holds(key, body)
        return True

    def sync(self, key: str) -> None:
        """A bucket is durable when it replies."""
        del key

    def read_chunks(self, key: str) -> Iterator[bytes]:
        with self._faults("read", require_key(key)):
            for chunk in self._store.get(key).stream(min_chunk_size=_CHUNK_BYTES):
                yield bytes(chunk)

    def write_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        """An upload in several requests, for what does not fit into one; atomic all the same."""
        counted = _Counted(chunks)
        with self._faults("write", require_key(key)):
            first, second = next(counted, b""), next(counted, None)
            if second is None:
                self._store.put(key, first)
            else:
                pieces = chain([first, second], counted)
                self._store.put(key, pieces, chunk_size=_CHUNK_BYTES)
        return counted.size

    def delete(self, key: str) -> None:
        try:
            with self._faults("delete", require_key(key)):
                self._store.delete(key)
        except NotFound:
            return

    def list(self, prefix: str) -> list[str]:
        inside = f"{require_prefix(prefix)}/" if prefix else ""
        with self._faults("list", prefix):
            pages = self._store.list(prefix or None)
            keys = [entry["path"] for page in pages for entry in page]
        return sorted(key for key in keys if key.startswith(inside))

    def list_starting(self, prefix: str, start: str) -> Sequence[str]:
        first = f"{require_prefix(prefix)}/{start}"
        found: Sequence[str] = []
        with self._faults("list", prefix):
            for page in self._store.list(prefix, offset=first):
                for entry in page:
                    if not entry["path"].startswith(first):
                        return found
                    found = [*found, entry["path"]]
        return found

    def list_modified(self, prefix: str) -> Sequence[tuple[str, int]]:
        with self._faults("list", require_prefix(prefix)):
            listed = self._store.list_with_delimiter(prefix)["objects"]
        found = [
            (entry["path"], int(entry["last_modified"].timestamp() * 1_000_000)) for entry in listed
        ]
        return sorted(found, key=itemgetter(1), reverse=True)

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        """A bucket shows no unfinished upload; its own lifecycle rules remove them."""
        del prefixes, before_micros
        return 0

    def delete_prefix(self, prefix: str) -> None:
        for key in self.list(prefix):
            self.delete(key)

    def _holds(self, key: str, body: bytes) -> bool:
        try:
            return self.get(key) == body
        except NotFound:  # the winner's object is gone again; this writer has still lost
            return False

    @contextmanager
    def _faults(self, verb: str, key: str) -> Iterator[None]:
        errors = _exceptions()
        try:
            yield
        except (FileNotFoundError, errors.NotFoundError):
            raise missing(key, self._uri) from None
        except (OSError, errors.BaseError) as error:
            # Only the first line: the rest is a dump of the request.
            reason = (str(error).splitlines() or ["no reason given"])[0]
            raise StorageFault(
                "storage.failed",
                f"cannot {verb} {self._uri}/{key}: {reason}",
                details={"key": key, "uri": self._uri},
                remedy="Check the endpoint, the credentials and the rights on the bucket.",
            ) from error


def open_bucket(location: Location, options: BucketOptions) -> BucketObjects:
    """The objects under an ``s3://`` URI."""
    from obstore.store import S3Store  # noqa: PLC0415 - obstore's door: 40 ms that disks never pay

    errors = _exceptions()
    try:
        store = S3Store(
            location.bucket,
            prefix=location.path or None,
            config=dict(options.config),
            client_options=dict(options.client) or None,
        )
    except (errors.BaseError, ValueError, TypeError) as error:
        raise StorageFault(
            "storage.options",
            f"the options for {location.uri} are not understood by the S3 client",
            details={"uri": location.uri, "options": sorted(options.config)},
            remedy="Check the names in storage_options and the AWS_* variables.",
        ) from error
    return BucketObjects(store, location.uri)


def open_memory(location: Location) -> BucketObjects:
    """Objects that live as long as the store; for tests."""
    from obstore.store import MemoryStore  # noqa: PLC0415 - obstore's door

    return BucketObjects(MemoryStore(), location.uri)


def _exceptions() -> Any:
    from obstore import exceptions  # noqa: PLC0415 - obstore's door

    return exceptions
