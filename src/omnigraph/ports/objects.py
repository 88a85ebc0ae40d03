"""Small objects under one root: refs, intents, schemas, locks.

Keys are relative, ``/``-separated, never empty, never with ``.``, ``..`` or empty segments. An
adapter raises ``NotFound("object.missing")`` for a missing key and ``StorageFault`` for everything
that is neither success nor absence: a permission error is never "absent".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["FileStore", "ObjectStore"]


class ObjectStore(Protocol):
    """A flat store of small objects."""

    @property
    def uri(self) -> str:
        """The root, as a user would write it."""
        ...

    def create_root(self) -> None:
        """Make the root; one that exists is fine.

        Only ``init`` asks. No other call makes it: a write under a root that was moved away is
        ``StorageFault("storage.root_missing")``, never a new directory under the old name. A bucket
        has no root to make.
        """
        ...

    def get(self, key: str) -> bytes:
        """The whole object."""
        ...

    def size(self, key: str) -> int:
        """Its size in bytes."""
        ...

    def put(self, key: str, body: bytes) -> None:
        """Create or replace, atomically: a reader sees the old object or the new one, whole."""
        ...

    def put_if_absent(self, key: str, body: bytes) -> bool:
        """Create unless it exists. One of many racers wins.

        A reply can be lost, so "exists" is answered by reading back: True when the object holds
        exactly ``body``. Callers that race put a nonce into the body.
        """
        ...

    def sync(self, key: str) -> None:
        """Make an existing object survive a power cut, whoever put it.

        A writer that puts an object does not need it: a put is durable when it returns. It is for
        an object whose writer may have died between the two.
        """
        ...

    def exists(self, key: str) -> bool:
        """Whether there is an object; a directory is none."""
        ...

    def delete(self, key: str) -> None:
        """Remove; removing nothing is fine."""
        ...

    def list(self, prefix: str) -> list[str]:
        """The keys below ``prefix + "/"``, at any depth, sorted; ``""`` lists all.

        ``a`` never lists what lies under ``ab``; an empty directory lists as nothing.
        """
        ...

    def delete_prefix(self, prefix: str) -> None:
        """Remove everything below ``prefix + "/"``; nothing there is fine."""
        ...

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        """Remove unfinished writes below some prefixes that were last touched before a time.

        ``""`` means the objects at the root, not those below. A writer that was killed leaves
        unfinished writes; they are no objects and no listing shows them. Looks
        at a bounded number of files, and returns how many it removed. A store whose writes leave
        nothing behind removes nothing.
        """
        ...


class FileStore(ObjectStore, Protocol):
    """A store whose objects may be larger than memory: whole files of tables lie beside the small
    ones, and a copy of a graph reads and writes them piece by piece."""

    def read_chunks(self, key: str) -> Iterator[bytes]:
        """The object in pieces."""
        ...

    def list_starting(self, prefix: str, start: str) -> Sequence[str]:
        """The keys directly below ``prefix`` whose names begin with ``start``, sorted. In a bucket
        the number of requests depends on them alone, not on their neighbours."""
        ...

    def list_modified(self, prefix: str) -> Sequence[tuple[str, int]]:
        """Return the keys directly below ``prefix``, newest first, each with the time of its last
        change in microseconds of the store's own clock."""
        ...

    def write_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        """Create or replace, atomically, like ``put``; how many bytes were written."""
        ...
