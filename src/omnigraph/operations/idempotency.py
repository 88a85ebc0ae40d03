"""Idempotency keys: the same request twice is one commit.

The key is kept in the commit row and holds for seven days on its branch. The same key with another
request is a conflict. Failures are not remembered.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from omnigraph.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from omnigraph.operations.engine import Engine
    from omnigraph.versioning.manifest import Commit

__all__ = ["digest_of", "find_earlier", "spelled"]

_KEY_LENGTH_MAX = 255
_MEMORY_MICROS = 7 * 86_400 * 1_000_000


def digest_of(*parts: Any) -> str:
    """What a request asks for, in one word."""
    return hashlib.sha256(spelled(parts)).hexdigest()


def spelled(value: Any) -> bytes:
    """A value as bytes, the same for the same value.

    What JSON cannot say at all (nested without end, names that are no texts) is refused later by
    whoever reads it, so it need not be told from others of its kind.
    """
    try:
        return json.dumps(value, sort_keys=True, default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        return b"unspeakable"


def _plain(value: Any) -> Any:
    # The text of a long array leaves its middle out.
    return value.tolist() if hasattr(value, "tolist") else str(value)


def find_earlier(engine: Engine, branch: str, key: str, digest: str) -> Commit | None:
    """The commit that this very request made before, if it did."""
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
    if not isinstance(key, str) or not 1 <= len(key) <= _KEY_LENGTH_MAX:
        raise InvalidInput("idempotency.bad_key", f"a key has 1 to {_KEY_LENGTH_MAX} characters")
