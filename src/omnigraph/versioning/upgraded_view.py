"""A graph of an earlier format as a read-only open shows it: as if it were migrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import NotFound, Unsupported
from omnigraph.versioning import layout
from omnigraph.versioning.format_1 import unnumbered_refs, with_number
from omnigraph.versioning.format_2 import incarnations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ports.objects import ObjectStore
    from omnigraph.versioning.format_2 import Format2

__all__ = ["UpgradedView"]


class UpgradedView:
    """Shows an older graph under the keys of this format, and refuses to write.

    Another process may migrate the graph meanwhile, so objects of this format come first.
    """

    def __init__(self, objects: ObjectStore, old: Format2) -> None:
        self._objects = objects
        self._old = old
        self._refs = {new: old for old, new in unnumbered_refs(objects).items()}
        self._audit = old.audit()

    @property
    def uri(self) -> str:
        return self._objects.uri

    def create_root(self) -> None:
        raise self._refusal("creation of the root")

    def size(self, key: str) -> int:
        return len(self.get(key))

    def get(self, key: str) -> bytes:
        try:
            return self._objects.get(key)
        except NotFound:
            if key in self._refs:
                return with_number(self._objects.get(self._refs[key]))
            if key in self._audit:
                return self._audit[key]
            if not layout.manifest_number(key):
                raise
        try:
            return self._old.manifest(*_incarnation_and_number(key))
        except NotFound:
            # The graph may have been migrated between the two.
            return self._objects.get(key)

    def exists(self, key: str) -> bool:
        if self._objects.exists(key) or key in self._refs or key in self._audit:
            return True
        if layout.manifest_number(key) and self._old.has(*_incarnation_and_number(key)):
            return True
        return self._objects.exists(key)

    def list(self, prefix: str) -> list[str]:
        hidden = set(self._refs.values())
        shown = set(self._objects.list(prefix)) - hidden
        shown |= {key for key in (*self._refs, *self._audit) if key.startswith(f"{prefix}/")}
        if prefix.startswith(layout.MANIFESTS):
            shown |= set(self._manifests(prefix))
        return sorted(shown)

    def _manifests(self, prefix: str) -> Iterable[str]:
        for incarnation in incarnations(self._objects):
            if f"{layout.manifest_path(incarnation)}/".startswith(f"{prefix}/"):
                oldest, newest = self._old.oldest(incarnation), self._old.newest(incarnation)
                for number in range(oldest, newest + 1):
                    yield layout.manifest(incarnation, number)

    def sync(self, key: str) -> None:
        """Nothing that a reader sees depends on it."""

    def put(self, key: str, body: bytes) -> None:
        raise self._refusal(f"put of {key} ({len(body)} bytes)")

    def put_if_absent(self, key: str, body: bytes) -> bool:
        raise self._refusal(f"put of {key} ({len(body)} bytes)")

    def delete(self, key: str) -> None:
        raise self._refusal(f"delete of {key}")

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        del prefixes, before_micros
        raise self._refusal("removal of unfinished writes")

    def delete_prefix(self, prefix: str) -> None:
        raise self._refusal(f"delete of {prefix}")

    def _refusal(self, request: str) -> Unsupported:
        return Unsupported(
            "graph.read_only",
            f"{self.uri} was opened read-only: {request} refused",
            remedy="open it read-write once to migrate it",
        )


def _incarnation_and_number(key: str) -> tuple[str, int]:
    """The incarnation and the number of a manifest."""
    return key.split("/")[1], layout.manifest_number(key)
