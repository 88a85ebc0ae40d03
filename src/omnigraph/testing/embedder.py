"""Embeddings without a model: texts with common words have similar vectors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.semantics.text import tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.embeddings import EmbeddingTask

__all__ = ["WordEmbedder"]


class WordEmbedder:
    """Adds a fixed direction per word and model, and normalises the sum."""

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        del task
        return [_embed(text, model or "", dim) for text in texts]


def _embed(text: str, model: str, dim: int) -> list[float]:
    total = sum((_direction(word, model, dim) for word in tokenize(text)), np.zeros(dim))
    length = float(np.linalg.norm(total))
    found: list[float] = (total / length if length else np.eye(1, dim)[0]).tolist()
    return found


def _direction(word: str, model: str, dim: int) -> np.ndarray:
    seed = hashlib.sha256(f"{model}/{word}".encode()).digest()
    return np.random.default_rng(list(seed)).normal(size=dim)
