"""Requests and responses of ``POST /embeddings``, which many providers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.embedders.vectors import invalid_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.embeddings import EmbeddingTask

__all__ = ["OpenAiFormat"]

# Other models refuse the parameter.
_SHORTENED = "text-embedding-3"


class OpenAiFormat:
    """The format. It does not distinguish documents from queries."""

    batch_max = 2_048

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, model: str) -> str:
        del model
        return "/embeddings"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, texts: Sequence[str], model: str, dim: int, task: EmbeddingTask) -> Any:
        del task
        body: dict[str, Any] = {"model": model, "input": list(texts), "encoding_format": "float"}
        return {**body, "dimensions": dim} if _SHORTENED in model else body

    def vectors(self, answer: Any) -> Any:
        """Return the vectors in the order of the texts, which a provider may not keep."""
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise invalid_response(self._provider, "it has no list `data` of embeddings")
        indexes = [each.get("index") for each in data]
        if any(index is not None for index in indexes):
            if not all(type(index) is int for index in indexes) or (
                sorted(indexes) != list(range(len(data)))
            ):
                raise invalid_response(self._provider, "its indexes are not those of the texts")
            data = sorted(data, key=lambda each: each["index"])
        return [each.get("embedding") for each in data]
