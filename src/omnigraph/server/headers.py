"""The headers of requests and responses."""

from __future__ import annotations

from typing import Any

from omnigraph.frozen import frozen

__all__ = [
    "ACTOR",
    "DEADLINE",
    "IDEMPOTENCY_KEY",
    "IF_COMMIT",
    "IF_MATCH",
    "IF_NONE_MATCH",
    "IF_RANGE",
    "RANGE",
    "Header",
]


@frozen
class Header:
    """A request header that operations use."""

    name: str
    summary: str
    required: bool = False
    schema: tuple[tuple[str, Any], ...] = (("type", "string"),)


DEADLINE = Header(
    "Omnigraph-Deadline-Ms",
    "Deadline in milliseconds. A started write is completed after it.",
    schema=(("type", "integer"), ("minimum", 1), ("maximum", 86_400_000)),
)
IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "A repeated request with the same key has no second effect for seven days.",
    schema=(("type", "string"), ("minLength", 1), ("maxLength", 255)),
)
IF_COMMIT = Header(
    "Omnigraph-If-Graph-Commit",
    "Require the branch to be at this commit; otherwise 412.",
    required=True,
)
# The authenticated actor, in every response to a token; percent-encoded.
ACTOR = b"omnigraph-actor"
RANGE = Header("Range", "One range of bytes.")
IF_RANGE = Header(
    "If-Range",
    "The tag that the range refers to; otherwise the whole blob is sent.",
)
IF_MATCH = Header("If-Match", "Require this tag; otherwise 412.")
IF_NONE_MATCH = Header("If-None-Match", "Require another tag; otherwise 304.")
