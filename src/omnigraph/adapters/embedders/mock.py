"""Deterministic vectors without a model: texts with common words have similar vectors."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.embeddings import EmbeddingTask

__all__ = ["MockEmbedder"]


class MockEmbedder:
    """Adds a fixed direction per word and model. For tests and offline trials."""

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        del task
        return [_vector(text, model or "mock", dim).tolist() for text in texts]


def _vector(text: str, model: str, dim: int) -> np.ndarray:
    words = text.lower().split() or [""]
    total = np.sum([_direction(word, model, dim) for word in words], axis=0)
    length = np.linalg.norm(total)
    found: np.ndarray = total / length if length else np.eye(1, dim)[0]
    return found


@lru_cache(4_096)
def _direction(word: str, model: str, dim: int) -> np.ndarray:
    digest = hashlib.shake_256(f"{model}/{word}".encode()).digest(2 * dim)
    return np.frombuffer(digest, dtype="<i2").astype(np.float64)
