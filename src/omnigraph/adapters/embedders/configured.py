"""The embedder of a configuration. It compares the model that a schema names with its own."""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from omnigraph.adapters.embedders.cache import VectorCache
from omnigraph.adapters.embedders.caching import CachingEmbedder
from omnigraph.adapters.embedders.settings import Provider, read_settings
from omnigraph.adapters.embedders.vectors import require_text
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.adapters.embedders.settings import ProviderSettings
    from omnigraph.ports.embeddings import Embedder, EmbeddingTask

__all__ = ["ConfiguredEmbedder", "configured_embedder"]


class ConfiguredEmbedder:
    """Reads its configuration and connects on first use, so that opening a graph needs neither."""

    def __init__(self, provider: str | None = None, model: str | None = None) -> None:
        self._given = (provider, model)
        self._lock = threading.Lock()
        self._made: tuple[ProviderSettings, Embedder] | None = None

    @property
    def model(self) -> str:
        """The model for properties that name none."""
        return self._opened()[0].default_model

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> Sequence[Sequence[float]]:
        settings, embedder = self._opened()
        chosen = _chosen_model(settings, model)
        for text in texts:
            require_text(text)
        return embedder.embed(texts, model=chosen, dim=dim, task=task)

    def _opened(self) -> tuple[ProviderSettings, Embedder]:
        with self._lock:
            if self._made is None:
                provider, model = self._given
                settings = read_settings(os.environ, provider=provider, model=model)
                self._made = settings, _embedder(settings)
            return self._made


def configured_embedder(spec: str | None = None) -> ConfiguredEmbedder:
    """Return the embedder of the environment, or of ``PROVIDER`` or ``PROVIDER:MODEL``."""
    if spec is None:
        return ConfiguredEmbedder()
    provider, _, model = spec.partition(":")
    return ConfiguredEmbedder(provider, model or None)


def _chosen_model(settings: ProviderSettings, declared: str | None) -> str:
    if declared is None or declared == settings.model:
        return settings.default_model
    if settings.model is not None:
        raise InvalidInput(
            "embed.model",
            f"the schema declares the model {declared!r}, and {settings.model!r} is configured",
            remedy=f"set OMNIGRAPH_EMBED_MODEL={declared}, or declare the configured model",
            details={"declared": declared, "configured": settings.model},
        )
    return declared


def _embedder(settings: ProviderSettings) -> Embedder:
    match settings.provider:
        case Provider.LOCAL:
            return _local()
        case Provider.MOCK:
            from omnigraph.adapters.embedders.mock import MockEmbedder  # noqa: PLC0415

            return MockEmbedder()
        case Provider.OPENAI | Provider.OPENAI_COMPATIBLE | Provider.GEMINI:
            return _over_http(settings)
        case unknown:
            assert_never(unknown)


@lru_cache(1)
def _local() -> Embedder:
    # One copy of the weights per process.
    from omnigraph.adapters.embedders.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder()


def _over_http(settings: ProviderSettings) -> Embedder:
    # httpx, on first use.
    from omnigraph.adapters.embedders.gemini_format import GeminiFormat  # noqa: PLC0415
    from omnigraph.adapters.embedders.http_embedder import HttpEmbedder  # noqa: PLC0415
    from omnigraph.adapters.embedders.openai_format import OpenAiFormat  # noqa: PLC0415

    gemini = settings.provider is Provider.GEMINI
    wire = GeminiFormat() if gemini else OpenAiFormat(str(settings.provider))
    cache = None
    if settings.cache is not None and settings.cache_bytes:
        cache = VectorCache(settings.cache, settings.cache_bytes)
    return CachingEmbedder(
        HttpEmbedder(settings, wire),
        cache,
        identity=f"{settings.provider} {settings.base_url}",
        chunk_texts=settings.batch_texts * settings.concurrency,
    )
