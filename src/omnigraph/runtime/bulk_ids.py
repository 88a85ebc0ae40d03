"""ULIDs by the million: the same form as ``ids.new_ulid``, without a Python step per id."""

from __future__ import annotations

import secrets

import numpy as np

from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock

__all__ = ["ULID_LENGTH", "new_ulids"]

ULID_LENGTH = 26

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
# Two characters at a time: the spelling of every ten bits, as one 16-bit word.
_PAIRS = np.stack(
    [np.repeat(_CROCKFORD, 32), np.tile(_CROCKFORD, 32)],
    axis=1,
).view(np.uint16)[:, 0]
# The 80 random bits are counted in two words of 40 bits, which are eight characters each.
_WORD = 2**40


def new_ulids(count: int, clock: Clock = SYSTEM_CLOCK) -> np.ndarray:
    """``count`` distinct ULIDs, one per row of a byte matrix, in ascending order.

    They share one moment and follow each other from a random start, as ULIDs of the same
    millisecond do: neighbours have long common prefixes, which compress and sort well.
    """
    millis = clock.now_micros() // 1_000
    # A start in the lower half cannot run over, however many ids follow.
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
    """A number to the base 32, two digits to an item, the highest first."""
    return [int(_PAIRS[(value >> 10 * place) & 1023]) for place in reversed(range(width))]
