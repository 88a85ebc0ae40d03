"""An object store with injected faults: before the n-th request, or after it (a lost reply)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from omnigraph.ports.objects import ObjectStore

    Answer = TypeVar("Answer")

__all__ = ["Fault", "FaultyObjects", "ObjectVerb", "When"]


class ObjectVerb(StrEnum):
    GET = "get"
    PUT = "put"  # both kinds of put
    LIST = "list"
    DELETE = "delete"
    HEAD = "head"


class When(StrEnum):
    BEFORE = "before"  # not executed
    AFTER = "after"  # executed, and the reply is lost


@frozen
class Fault:
    """Fails the ``nth`` request (from 1) of a kind whose key starts with ``prefix``."""

    verb: ObjectVerb
    nth: int = 1
    when: When = When.BEFORE
    prefix: str = ""
    # Fail every later one as well.
    lasting: bool = False


class FaultyObjects:
    """Forwards all requests except those with a fault.

    Below the port, the adapter reads back after a lost reply of ``put_if_absent``; this store sits
    above the port, where a lost reply is an error with an unknown outcome.
    """

    def __init__(self, inner: ObjectStore, *faults: Fault) -> None:
        self._inner = inner
        self._faults = list(faults)
        self._seen = [0] * len(faults)
        self.hits: list[tuple[ObjectVerb, str]] = []

    def add(self, fault: Fault) -> None:
        """Add a fault, counted from now on."""
        self._faults.append(fault)
        self._seen.append(0)

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()
        self._seen.clear()

    @property
    def uri(self) -> str:
        return self._inner.uri

    def create_root(self) -> None:
        self._inner.create_root()

    def get(self, key: str) -> bytes:
        return self._run(ObjectVerb.GET, key, lambda: self._inner.get(key))

    def size(self, key: str) -> int:
        return self._run(ObjectVerb.HEAD, key, lambda: self._inner.size(key))

    def exists(self, key: str) -> bool:
        return self._run(ObjectVerb.HEAD, key, lambda: self._inner.exists(key))

    def put(self, key: str, body: bytes) -> None:
        self._run(ObjectVerb.PUT, key, lambda: self._inner.put(key, body))

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return self._run(ObjectVerb.PUT, key, lambda: self._inner.put_if_absent(key, body))

    def sync(self, key: str) -> None:
        self._run(ObjectVerb.PUT, key, lambda: self._inner.sync(key))

    def delete(self, key: str) -> None:
        self._run(ObjectVerb.DELETE, key, lambda: self._inner.delete(key))

    def list(self, prefix: str) -> list[str]:
        return self._run(ObjectVerb.LIST, prefix, lambda: self._inner.list(prefix))

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        return self._inner.remove_temporaries(prefixes, before_micros=before_micros)

    def delete_prefix(self, prefix: str) -> None:
        for key in self.list(prefix):
            self.delete(key)

    def _run(self, verb: ObjectVerb, key: str, request: Callable[[], Answer]) -> Answer:
        when = self._strike(verb, key)
        if when is When.BEFORE:
            raise self._error(verb, key)
        answer = request()
        if when is When.AFTER:
            raise self._error(verb, key)
        return answer

    def _strike(self, verb: ObjectVerb, key: str) -> When | None:
        struck: When | None = None
        for index, fault in enumerate(self._faults):
            if fault.verb is not verb or not key.startswith(fault.prefix):
                continue
            self._seen[index] += 1
            reached = self._seen[index]
            if reached == fault.nth or (fault.lasting and reached > fault.nth):
                struck = struck or fault.when
        return struck

    def _error(self, verb: ObjectVerb, key: str) -> StorageFault:
        self.hits.append((verb, key))
        return StorageFault(
            "storage.failed", f"injected fault: {verb} {key}", details={"key": key, "uri": self.uri}
        )
