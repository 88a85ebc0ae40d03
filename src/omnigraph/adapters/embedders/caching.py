"""Embeds each text once: repeated texts share a vector, and earlier ones come from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.adapters.embedders.cache import VectorCache, text_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.embeddings import Embedder, EmbeddingTask

__all__ = ["CachingEmbedder"]


class CachingEmbedder:
    """An embedder in front of another; ``identity`` names its provider and address."""

    def __init__(
        self, embedder: Embedder, cache: VectorCache | None, *, identity: str, chunk_texts: int
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._identity = identity
        self._chunk_texts = chunk_texts

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[Sequence[float]]:
        space = f"{self._identity}\n{model}\n{dim}\n{task}"
        keys = {text: text_key(space, text) for text in texts}
        found: dict[bytes, Sequence[float]] = {}
        if self._cache is not None:
            found.update(self._cache.get(list(keys.values()), dim))
        missing = [text for text, key in keys.items() if key not in found]
        # Chunks are stored as they arrive: after a failure, a retry does not repeat them.
        for start in range(0, len(missing), self._chunk_texts):
            chunk = missing[start : start + self._chunk_texts]
            vectors = self._embedder.embed(chunk, model=model, dim=dim, task=task)
            made = {keys[text]: vector for text, vector in zip(chunk, vectors, strict=True)}
            found |= made
            if self._cache is not None:
                self._cache.put(made)
        return [found[keys[text]] for text in texts]
