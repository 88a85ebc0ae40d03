"""Validation of the vectors that a provider returns."""

from __future__ import annotations

from typing import Any

from omnigraph.errors import InvalidInput, StorageFault

__all__ = ["invalid_response", "require_text", "require_vectors", "wrong_dimension"]

# The largest value of the 32-bit numbers that a graph stores.
_LARGEST = 3.4028234e38
# Above the context of every known model; more would be paid for and ignored.
TEXT_CHARS_MAX = 2**20


def require_vectors(provider: str, answer: Any, count: int, dim: int) -> list[list[float]]:
    """Return the vectors of an answer, or raise an error that names the first fault."""
    if not isinstance(answer, list) or len(answer) != count:
        found = len(answer) if isinstance(answer, list) else "no"
        raise invalid_response(provider, f"it returned {found} vectors for {count} texts")
    return [_vector(provider, each, dim) for each in answer]


def _vector(provider: str, vector: Any, dim: int) -> list[float]:
    if not isinstance(vector, list) or not all(type(each) in (int, float) for each in vector):
        raise invalid_response(provider, "it returned a vector that is not a list of numbers")
    if len(vector) != dim:
        raise wrong_dimension(provider, len(vector), dim)
    # False for NaN as well.
    if not all(abs(each) <= _LARGEST for each in vector):
        raise invalid_response(provider, "it returned a vector with numbers that are not finite")
    if not any(vector):
        raise invalid_response(provider, "it returned a vector of zeros, which has no direction")
    return [float(each) for each in vector]


def wrong_dimension(model: str, actual: int, expected: int) -> InvalidInput:
    """Return the error of a model whose vectors do not fit the property."""
    return InvalidInput(
        "embed.dimension",
        f"{model} makes vectors of {actual} dimensions, and the property has {expected}",
        remedy=f"declare the property as Vector({actual}), or configure another model",
        details={"expected": expected, "actual": actual},
    )


def invalid_response(provider: str, why: str) -> StorageFault:
    """Return the error of a response that no correct provider sends."""
    return StorageFault(
        "embed.answer",
        f"the embedding provider {provider} sent an invalid response: {why}",
        remedy="check OMNIGRAPH_EMBED_BASE_URL and OMNIGRAPH_EMBED_MODEL",
    )


def require_text(text: str) -> None:
    """Refuse a text that no provider embeds."""
    if not text.strip():
        raise InvalidInput(
            "embed.empty_text", "an empty text has no embedding", remedy="pass a text with words"
        )
    if len(text) > TEXT_CHARS_MAX:
        raise InvalidInput(
            "embed.text_too_large",
            f"the text has {len(text)} characters, and at most {TEXT_CHARS_MAX} are embedded",
            remedy="split it, or embed a summary",
        )
