"""Generates many ULIDs in the form of ``ids.new_ulid``, vectorised."""

from __future__ import annotations

import secrets

import numpy as np

from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock

__all__ = ["ULID_LENGTH", "new_ulids"]

ULID_LENGTH = 26

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
# Encodes two characters at a time: every ten bits as one 16-bit word.
_PAIRS = np.stack(
    [np.repeat(_CROCKFORD, 32), np.tile(_CROCKFORD, 32)],
    axis=1,
).view(np.uint16)[:, 0]
# The 80 random bits are two words of 40 bits, eight characters each.
_WORD = 2**40


def new_ulids(count: int, clock: Clock = SYSTEM_CLOCK) -> np.ndarray:
    """Return ``count`` distinct ULIDs, one per row of a byte matrix, in ascending order.

    They share one timestamp and are consecutive from a random start, as monotonic ULIDs of the same
    millisecond are: neighbours have long common prefixes, which compress and sort well.
    """
    millis = clock.now_micros() // 1_000
    # A start in the lower half cannot overflow.
    start = secrets.randbits(79)
    low = (start % _WORD) + np.arange(count, dtype=np.int64)
    pairs = np.empty((count, ULID_LENGTH // 2), np.uint16)
    pairs[:] = _spelled(millis, 5) + _spelled(start // _WORD, 4) + [0] * 4
    carried = np.searchsorted(low, _WORD)
    pairs[carried:, 5:9] = _spelled(start // _WORD + 1, 4)
    for column in range(4):
        pairs[:, 9 + column] = _PAIRS[(low >> (30 - 10 * column)) & 1023]
    return pairs.view(np.uint8)


def _spelled(value: int, width: int) -> list[int]:
    """Encode numbers in base 32, most significant digit first, two digits per item."""
    return [int(_PAIRS[(value >> 10 * place) & 1023]) for place in reversed(range(width))]
