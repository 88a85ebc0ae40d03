"""Requests and responses of Gemini, which embeds documents and queries differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from omnigraph.adapters.embedders.vectors import invalid_response
from omnigraph.ports.embeddings import EmbeddingTask

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GeminiFormat"]

_TASKS = {
    EmbeddingTask.DOCUMENT: "RETRIEVAL_DOCUMENT",
    EmbeddingTask.QUERY: "RETRIEVAL_QUERY",
}


class GeminiFormat:
    """The format of ``batchEmbedContents``."""

    batch_max = 100

    def path(self, model: str) -> str:
        return f"/models/{quote(model, safe='')}:batchEmbedContents"

    def headers(self, key: str | None) -> dict[str, str]:
        # A header, never the query: URLs are logged.
        return {} if key is None else {"x-goog-api-key": key}

    def body(self, texts: Sequence[str], model: str, dim: int, task: EmbeddingTask) -> Any:
        return {
            "requests": [
                {
                    "model": f"models/{model}",
                    "content": {"parts": [{"text": text}]},
                    "taskType": _TASKS[task],
                    "outputDimensionality": dim,
                }
                for text in texts
            ]
        }

    def vectors(self, answer: Any) -> Any:
        found = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise invalid_response("gemini", "it has no list `embeddings`")
        return [each.get("values") for each in found]
