"""Idempotency keys: a repeated request returns its first commit.

The key is stored in the commit row and is valid for seven days on its branch. The same key with
another request is a conflict. Failures are not stored.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.writer.plan import WriteRequest

__all__ = ["RACED", "digest_of", "encode_value", "find_earlier", "run_once"]

# The code that publish reports when another request has used the key meanwhile.
RACED = "idempotency.raced"
_KEY_LENGTH_MAX = 255
_MEMORY_MICROS = 7 * 86_400 * 1_000_000


def digest_of(*parts: Any) -> str:
    """Return a digest of the content of a request."""
    return hashlib.sha256(encode_value(parts)).hexdigest()


def encode_value(value: Any) -> bytes:
    """Encode a value as bytes; equal values have equal encodings.

    Values without a JSON form (nested too deeply, names that are not strings) are refused later, so
    they need not be distinguished.
    """
    try:
        return json.dumps(value, sort_keys=True, default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        return b"unspeakable"


def _plain(value: Any) -> Any:
    # The repr of a long array omits its middle.
    return value.tolist() if hasattr(value, "tolist") else str(value)


def run_once(
    engine: Engine, order: WriteRequest, attempt: Callable[[WriteRequest], Manifest | None]
) -> Commit | None:
    """Run a request with a key, or return the commit of its first run, even of a concurrent one."""
    key, digest = order.idempotency_key or "", order.request_digest or ""
    _require_key(key)
    new_at = engine.heads.of_branch(order.branch)[1].commit.id
    earlier = find_earlier(engine, order.branch, key, digest)
    if earlier is not None:
        return earlier
    try:
        manifest = attempt(replace(order, key_new_at=new_at))
    except Conflict as error:
        earlier = find_earlier(engine, order.branch, key, digest) if error.code == RACED else None
        if earlier is None:
            raise
        return earlier
    return manifest.commit if manifest else None


def find_earlier(engine: Engine, branch: str, key: str, digest: str) -> Commit | None:
    """Return the commit of an earlier run of this request, if there is one."""
    _require_key(key)
    oldest = engine.root.clock.now_micros() - _MEMORY_MICROS
    for commit in engine.lineage.history(engine.heads.of_branch(branch)[1]):
        if commit.time_micros < oldest:
            return None
        if commit.idempotency_key == key and commit.branch == branch:
            if commit.request_digest == digest:
                return commit
            raise Conflict(
                "idempotency.reused",
                f"idempotency key {key!r} was used for another request (commit {commit.id})",
                remedy="use a new key for a new request",
                details={"commit_id": commit.id},
            )
    return None


def _require_key(key: object) -> None:
    if not isinstance(key, str) or not 1 <= len(key) <= _KEY_LENGTH_MAX or not _is_whole(key):
        raise InvalidInput(
            "idempotency.bad_key",
            f"a key must have 1 to {_KEY_LENGTH_MAX} characters, without lone surrogates",
        )


def _is_whole(text: str) -> bool:
    """Whether a text has no lone surrogate, which no file can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
