"""The binding table: a row number per slot.

Row numbers belong to the row space of the slot (``executor.columns.row_spaces``). Values are
fetched only for slots that are filtered, sorted or returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from omnigraph.ir.expressions import Slot
    from omnigraph.semantics.columns.column import Vector

    Ints = npt.NDArray[np.int64]

__all__ = ["ONE_ROW", "PIECE_ROWS", "Bindings", "slot_key"]

_NO_VALUES: Mapping[int, Vector] = {}

# More rows than this are processed in batches, so that deadlines are checked in between.
PIECE_ROWS = 1 << 20


def slot_key(slot: Slot) -> int:
    """Return the key of a slot among computed values: no identity is negative."""
    return -1 - slot


class Bindings:
    """Distinct assignments of slots. Immutable.

    ``computed`` holds the values of expressions that an operator has evaluated, by the identity of
    the expression in the plan.
    """

    __slots__ = ("columns", "computed", "count")

    def __init__(
        self,
        count: int,
        columns: Mapping[Slot, Ints],
        computed: Mapping[int, Vector] = _NO_VALUES,
    ) -> None:
        self.count = count
        self.columns = columns
        self.computed = computed

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values())

    def take(self, rows: Ints) -> Bindings:
        """Select rows in an order; ``rows`` may repeat."""
        return Bindings(
            len(rows),
            {slot: _taken(column, rows) for slot, column in self.columns.items()},
            {key: vector.take(rows) for key, vector in self.computed.items()},
        )

    def part(self, start: int, stop: int) -> Bindings:
        """Slice the rows."""
        stop = min(stop, self.count)
        return Bindings(
            stop - start,
            {slot: column[start:stop] for slot, column in self.columns.items()},
            {key: vector.take(np.arange(start, stop)) for key, vector in self.computed.items()},
        )

    @staticmethod
    def joined(parts: Sequence[Bindings]) -> Bindings:
        """Concatenate parts with the same slots and without computed values."""
        if len(parts) == 1:
            return parts[0]
        columns = {
            slot: np.concatenate([part.columns[slot] for part in parts])
            for slot in parts[0].columns
        }
        return Bindings(sum(part.count for part in parts), columns)

    def only(self, slots: Iterable[Slot]) -> Bindings:
        """Return the same rows with fewer slots; some may be equal now."""
        return Bindings(self.count, {slot: self.columns[slot] for slot in slots})

    def extended(self, more: Mapping[Slot, Ints]) -> Bindings:
        """Return the same rows with more slots."""
        return Bindings(self.count, {**self.columns, **more}, self.computed)

    def computing(self, key: int, values: Vector) -> Bindings:
        """Return the same rows with the values of one more expression."""
        return Bindings(self.count, self.columns, {**self.computed, key: values})


def _taken(column: Ints | None, rows: Ints) -> Ints:
    """Select rows of a column; None stands for all rows of a scan."""
    return rows if column is None else column[rows]


# The start of a pattern: the one assignment of no slots.
ONE_ROW = Bindings(1, {})
