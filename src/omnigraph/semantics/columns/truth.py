"""Truth values of many rows: true, false or unknown, with the logic of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.frozen import frozen
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]

__all__ = [
    "Truth",
    "all_of",
    "any_of",
    "constant",
    "decided",
    "from_arrow",
    "from_values",
    "masked",
]


@frozen
class Truth:
    """Where it is true, and where it is unknown; None where nothing is. Both are never set."""

    yes: Mask
    unknown: Mask | None = None

    def negated(self) -> Truth:
        known_false = ~self.yes
        return Truth(
            known_false if self.unknown is None else known_false & ~self.unknown, self.unknown
        )

    def vector(self) -> Vector:
        return Vector(Column(pa.array(self.yes, mask=self.unknown)))


def constant(value: object, count: int) -> Truth:
    """The same truth for every row; None is unknown."""
    if value is None:
        return Truth(np.zeros(count, np.bool_), np.ones(count, np.bool_))
    return Truth(np.full(count, bool(value)))


def decided(verdict: bool, nulls: Mask | None, count: int) -> Truth:  # noqa: FBT001 - its subject
    """The same truth wherever there is a value."""
    yes = np.full(count, verdict)
    return masked(yes, nulls)


def masked(yes: Mask, unknown: Mask | None) -> Truth:
    """Truths of which some are unknown after all."""
    return Truth(yes) if unknown is None else Truth(yes & ~unknown, unknown)


def from_arrow(array: pa.Array) -> Truth:
    """Arrow's truths; NULL is unknown."""
    if not array.null_count:
        return Truth(np.asarray(array.to_numpy(zero_copy_only=False)))
    unknown = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    return Truth(np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False)), unknown)  # noqa: FBT003


def from_values(truths: Iterable[bool | None]) -> Truth:
    """Truths that were found one by one."""
    found = list(truths)
    yes = np.array([truth is True for truth in found], np.bool_)
    unknown = np.array([truth is None for truth in found], np.bool_)
    return Truth(yes, unknown if unknown.any() else None)


def all_of(parts: Iterable[Truth]) -> Truth:
    """AND: one false decides, then one unknown."""
    yes: Mask | None = None
    maybe: Mask | None = None
    for part in parts:
        possible = part.yes if part.unknown is None else part.yes | part.unknown
        if yes is None or maybe is None:
            yes, maybe = part.yes, possible
        else:
            yes, maybe = yes & part.yes, maybe & possible
    if yes is None or maybe is None:
        raise ValueError("AND of nothing")
    return Truth(yes, _unless_none(maybe & ~yes))


def any_of(parts: Iterable[Truth]) -> Truth:
    """OR: one true decides, then one unknown."""
    return all_of(part.negated() for part in parts).negated()


def _unless_none(unknown: Mask) -> Mask | None:
    return unknown if unknown.any() else None
