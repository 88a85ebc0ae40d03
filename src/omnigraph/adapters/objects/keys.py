"""What a key may look like, on every adapter alike."""

from __future__ import annotations

from functools import lru_cache

from omnigraph.errors import InvalidInput, NotFound

__all__ = ["TEMPORARY", "missing", "require_key", "require_prefix"]

# Half-written files carry this prefix; no key may, and no listing shows them.
TEMPORARY = ".omnigraph-tmp-"


@lru_cache(4_096)
def require_key(key: str) -> str:
    """The key itself, or ``InvalidInput("object.key")``."""
    segments = key.split("/")
    if "\0" in key or any(
        segment in {"", ".", ".."} or segment.startswith(TEMPORARY) for segment in segments
    ):
        raise InvalidInput(
            "object.key",
            f"{key!r} is not an object key",
            remedy="Use relative segments joined by '/', none of them empty, '.' or '..'.",
        )
    return key


def require_prefix(prefix: str) -> str:
    """A prefix is a key, or empty for everything."""
    return require_key(prefix) if prefix else ""


def missing(key: str, uri: str) -> NotFound:
    return NotFound("object.missing", f"no object {key!r} in {uri}", details={"key": key})
