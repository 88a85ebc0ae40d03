"""Vectors for texts, made by a model that lives elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Embedder"]


class Embedder(Protocol):
    """A provider of embeddings. The same text, model and dimension give the same vector.

    Errors: ``InvalidInput("embed.model")`` for a model or a dimension that it does not have,
    ``StorageFault("embed.unreachable")`` when it does not answer.
    """

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int
    ) -> Sequence[Sequence[float]]:
        """A vector of ``dim`` numbers for each text; ``model`` None is the provider's own."""
        ...
