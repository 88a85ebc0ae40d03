"""Vectors for texts, made by a model that lives elsewhere."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Embedder", "EmbeddingTask"]


class EmbeddingTask(StrEnum):
    """The use of a vector: some models embed queries and stored texts differently."""

    DOCUMENT = "document"
    QUERY = "query"


class Embedder(Protocol):
    """A provider of embeddings. Equal arguments give equal vectors.

    Errors: ``InvalidInput`` with ``embed.model`` or ``embed.dimension`` for a model or a dimension
    that it does not have; ``StorageFault`` with another code of ``embed`` if it fails.
    """

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> Sequence[Sequence[float]]:
        """Return a vector of ``dim`` numbers per text; ``model`` None is the provider's default."""
        ...
