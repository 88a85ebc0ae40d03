"""Compiled queries, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.compilation import compile_source, require_texts
from omnigraph.language.source import DEFAULT_SOURCE_NAME
from omnigraph.runtime.lru_cache import LruCache

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
        self._entries: LruCache[_Key, QueryIR] = LruCache(max(1, capacity))

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
        return self._entries.get_or_make(
            key, lambda: compile_source(catalog, text, name, source_name=source_name)
        )

    def clear(self) -> None:
        """Forgets everything."""
        self._entries.clear()
