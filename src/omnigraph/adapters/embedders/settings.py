"""The configuration of a provider, from the environment and the file of credentials."""

from __future__ import annotations

import os
import re
from dataclasses import field
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.frozen import frozen
from omnigraph.runtime.credentials import credentials_path, read_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Provider", "ProviderSettings", "find_key", "read_settings"]


class Provider(StrEnum):
    """A kind of provider."""

    OPENAI_COMPATIBLE = "openai-compatible"
    OPENAI = "openai"
    GEMINI = "gemini"
    LOCAL = "local"
    MOCK = "mock"


PROVIDER_VARIABLE = "OMNIGRAPH_EMBED_PROVIDER"
URL_VARIABLE = "OMNIGRAPH_EMBED_BASE_URL"
MODEL_VARIABLE = "OMNIGRAPH_EMBED_MODEL"
MOCK_VARIABLE = "OMNIGRAPH_EMBEDDINGS_MOCK"
KEY_VARIABLE = "OMNIGRAPH_EMBED_API_KEY"
CACHE_VARIABLE = "OMNIGRAPH_EMBED_CACHE"

BASE_URLS = {
    Provider.OPENAI_COMPATIBLE: "https://openrouter.ai/api/v1",
    Provider.OPENAI: "https://api.openai.com/v1",
    Provider.GEMINI: "https://generativelanguage.googleapis.com/v1beta",
}
MODELS = {
    Provider.OPENAI_COMPATIBLE: "openai/text-embedding-3-large",
    Provider.OPENAI: "text-embedding-3-large",
    Provider.GEMINI: "gemini-embedding-2",
    Provider.LOCAL: "all-MiniLM-L6-v2",
    Provider.MOCK: "mock",
}
# The variable of the key, at the provider's own address only.
_KEYS = {
    Provider.OPENAI_COMPATIBLE: "OPENROUTER_API_KEY",
    Provider.OPENAI: "OPENAI_API_KEY",
    Provider.GEMINI: "GEMINI_API_KEY",
}


@frozen
class ProviderSettings:
    """The configuration of a provider. It contains no key."""

    provider: Provider
    base_url: str = ""
    # None: the default of the provider, and a schema may name another model.
    model: str | None = None
    deadline_ms: int = 60_000
    timeout_ms: int = 30_000
    retry_attempts: int = 4
    retry_backoff_ms: int = 200
    batch_texts: int = 64
    concurrency: int = 4
    # None: the cache is off.
    cache: str | None = None
    cache_bytes: int = 2**30
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def default_model(self) -> str:
        return self.model or MODELS[self.provider]


def read_settings(
    environment: Mapping[str, str], *, provider: str | None = None, model: str | None = None
) -> ProviderSettings:
    """Read and validate the configuration; the arguments override the environment."""
    kind = _provider(environment, provider)
    default_url = BASE_URLS.get(kind, "")
    # A base URL belongs to the provider that the environment selects.
    configured = environment.get(URL_VARIABLE) if provider is None else None
    url = _checked_url(configured) if configured and default_url else default_url
    cache = environment.get(CACHE_VARIABLE)
    if cache is None:
        cache = str(credentials_path().parent / "cache" / "embeddings.sqlite")
    return ProviderSettings(
        kind,
        url,
        model or environment.get(MODEL_VARIABLE) or None,
        _number(environment, "OMNIGRAPH_EMBED_DEADLINE_MS", 60_000, 1),
        _number(environment, "OMNIGRAPH_EMBED_TIMEOUT_MS", 30_000, 1),
        _number(environment, "OMNIGRAPH_EMBED_RETRY_ATTEMPTS", 4, 0),
        _number(environment, "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", 200, 0),
        _number(environment, "OMNIGRAPH_EMBED_BATCH", 64, 1),
        _number(environment, "OMNIGRAPH_EMBED_CONCURRENCY", 4, 1),
        None if cache in ("", "off") else cache,
        _number(environment, "OMNIGRAPH_EMBED_CACHE_BYTES", 2**30, 0),
        environment,
    )


def find_key(settings: ProviderSettings) -> str | None:
    """Return the key of a provider, from the environment or the file of credentials.

    The key of a vendor is sent to the vendor's own address only; another base URL has a key of its
    own, or none.
    """
    kind = settings.provider
    own = settings.base_url != BASE_URLS.get(kind)
    variable = KEY_VARIABLE if own else _KEYS[kind]
    # No server can be named like a section: a colon is not part of a name.
    section = "embedding:custom" if own else f"embedding:{kind}"
    key = settings.environment.get(variable) or read_credentials(credentials_path()).get(section)
    if not key:
        if own:
            return None
        raise Unsupported(
            "embed.no_key",
            f"the embedding provider {kind} needs a key, and none is configured",
            remedy=f"set {variable}, or write [{section}] with token = … into {credentials_path()}",
        )
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise InvalidInput(
            "embed.bad_key",
            f"the key of the embedding provider {kind} contains spaces or control characters",
            remedy=f"correct {variable}, or [{section}] in {credentials_path()}",
        )
    if own and urlsplit(settings.base_url).scheme == "http" and not _is_loopback(settings.base_url):
        raise InvalidInput(
            "embed.insecure",
            f"{URL_VARIABLE} is not encrypted, so the key is not sent",
            remedy="use https://, or omit the key",
        )
    return key


def _provider(environment: Mapping[str, str], given: str | None) -> Provider:
    name = given or environment.get(PROVIDER_VARIABLE)
    if not name:
        return Provider.MOCK if _is_mocked(environment) else Provider.OPENAI_COMPATIBLE
    try:
        return Provider(name)
    except ValueError:
        raise _bad(PROVIDER_VARIABLE, f"{name[:40]!r} is unknown", ", ".join(Provider)) from None


def _is_mocked(environment: Mapping[str, str]) -> bool:
    return environment.get(MOCK_VARIABLE, "").lower() not in ("", "0", "false", "off")


def _number(environment: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) < least:
        raise _bad(name, f"{text[:40]!r} is not a number", f"a whole number from {least}")
    return int(text)


def _checked_url(text: str) -> str:
    # The text may contain a password, so no message repeats it.
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _bad(URL_VARIABLE, "is not a URL", "https://host/path") from None
    if parts.scheme not in ("http", "https") or not host:
        raise _bad(URL_VARIABLE, "is not the address of a server", "https://host/path")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _bad(
            URL_VARIABLE,
            "contains credentials, a query or a fragment",
            f"https://host/path; keys belong in {KEY_VARIABLE}",
        )
    if _is_link_local(host):
        raise _bad(URL_VARIABLE, "is a link-local address", "the address of a provider")
    return text.rstrip("/")


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host).is_link_local
    except ValueError:
        return False


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bad(name: str, why: str, choices: str) -> InvalidInput:
    return InvalidInput("embed.bad_setting", f"{name}: {why}", remedy=f"set it to {choices}")
