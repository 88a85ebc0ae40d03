"""Compiled queries, kept."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from omnigraph.compiler.compilation import compile_source, require_texts
from omnigraph.language.source import DEFAULT_SOURCE_NAME

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.queries import QueryIR

__all__ = ["CompileCache"]

DEFAULT_CAPACITY = 512

_Key = tuple[str, str, str | None]


class CompileCache:
    """The most recently used compiled queries, by schema digest, text and query name.

    The IR depends on nothing else, so an entry is never stale. Failures are not kept. Thread-safe:
    two threads may compile the same text at once, and either result is right.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = max(1, capacity)
        self._entries: OrderedDict[_Key, QueryIR] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def compile(
        self,
        catalog: Catalog,
        digest: str,
        text: str,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
    ) -> QueryIR:
        """The compiled query; ``digest`` is that of the catalog."""
        require_texts(text, name)
        key = (digest, text, name)
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                return found
        compiled = compile_source(catalog, text, name, source_name=source_name)
        with self._lock:
            self._entries[key] = compiled
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return compiled

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._entries.clear()
