"""Comparisons and domains of types: opposites, mirror images, numbers that a type cannot hold."""

from __future__ import annotations

import math

from omnigraph.datatypes.types import INTEGER_RANGES, Scalar
from omnigraph.ir.expressions import CompareOp

__all__ = ["MIRRORED", "OPPOSITES", "fit_integer"]

# a < b is b > a
MIRRORED = {
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
}

# not a < b is a >= b; NULL stays NULL either way
OPPOSITES = {
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
    CompareOp.LT: CompareOp.GE,
    CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.GE: CompareOp.LT,
}


def fit_integer(op: CompareOp, value: float, scalar: Scalar) -> int | bool:
    """A number as an integer of the type; a verdict where the type decides the comparison."""
    low, high = INTEGER_RANGES[scalar]
    # NaN comes after every number.
    if value > high or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return op in (CompareOp.LT, CompareOp.LE, CompareOp.NE)
    if value < low:
        return op in (CompareOp.GT, CompareOp.GE, CompareOp.NE)
    if value == math.floor(value):
        return int(value)
    match op:
        case CompareOp.EQ | CompareOp.NE:
            return op is CompareOp.NE
        case CompareOp.LT | CompareOp.GE:
            # x < 2.7 is x < 3, x >= 2.7 is x >= 3; a fraction is below the largest integer.
            return math.ceil(value)
        case CompareOp.LE | CompareOp.GT:
            return math.floor(value)
