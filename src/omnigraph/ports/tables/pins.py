"""Pins, fragments and sets of rows: the values that the protocols of tables exchange."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ROW_ADDRESS", "ROW_ID", "Fragment", "Pin", "RowSet", "table_version"]

# The columns that ``scan`` adds on request.
ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"


@frozen
class Pin:
    """One version of one table, by identity."""

    path: str
    version: int
    fingerprint: str
    rows: int
    # The place of the pin in the history of its table on one branch: 1, 2, 3, ... Set by the
    # publish, and no part of the identity: branches that share a pin may count differently.
    counter: int = field(default=0, compare=False)


def table_version(pin: Pin | None) -> int:
    """Return the version number that callers see; 0 for a table that is not in the commit."""
    return 0 if pin is None else pin.counter


@frozen
class Fragment:
    """Rows that were written together, in the order of a scan.

    The same key stands for the same rows in the same order, in every version that has it. Only
    deletions differ: ``rows`` of the ``written`` ones are left.
    """

    key: str
    rows: int
    written: int


@frozen
class RowSet:
    """Some rows of one version of a table, known without reading them.

    ``whole`` holds the upper halves of addresses: all live rows of these fragments. ``addresses``
    are single rows, ascending.
    """

    count: int
    whole: tuple[int, ...]
    addresses: np.ndarray
