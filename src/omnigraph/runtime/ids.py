"""Ids: ULIDs for commits and operations, short ids for types and incarnations."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import NewType

from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock

__all__ = ["CommitId", "derive_short_id", "is_ulid", "new_short_id", "new_ulid", "ulid_micros"]

CommitId = NewType("CommitId", str)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_LENGTH = 26
_SHORT_BITS = 50


def new_ulid(clock: Clock = SYSTEM_CLOCK) -> CommitId:
    """Return a new ULID: milliseconds, then 80 random bits, as 26 characters that sort by time."""
    value = ((clock.now_micros() // 1_000) << 80) | secrets.randbits(80)
    return CommitId("".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5)))


def ulid_micros(ulid: str) -> int:
    """Return the time of a ULID in microseconds, with millisecond precision."""
    millis = 0
    for char in ulid[:10]:
        millis = millis << 5 | _CROCKFORD.index(char)
    return millis * 1_000


def is_ulid(text: str) -> bool:
    """Whether a text has the form of a ULID, in upper case."""
    return len(text) == _ULID_LENGTH and all(char in _CROCKFORD for char in text)


def new_short_id() -> str:
    """Return 50 random bits as 10 lower-case characters: unique within a graph, short in a path."""
    return _spell_short(secrets.randbits(_SHORT_BITS))


def derive_short_id(*words: str) -> str:
    """Return a short id that depends only on the given words."""
    found = hashlib.sha256(json.dumps(words).encode()).digest()
    return _spell_short(int.from_bytes(found, "big") >> (8 * len(found) - _SHORT_BITS))


def _spell_short(value: int) -> str:
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(45, -1, -5)).lower()
