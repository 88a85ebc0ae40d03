"""Partitioning of a table scan: the parts of a table that each task reads.

A filter reduces the number of tasks: a task reads little of each fragment, and starting it costs
more than scanning one. Where indexes answer the filter, the driver queries them at once and leaves
out parts without a match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.pipeline.spark.batching import batched_by_weight
from omnigraph.ports.indexes import IndexKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from omnigraph.pipeline.datasource.conditions import Condition
    from omnigraph.ports.tables import Table

__all__ = ["plan_partitions"]

_ROWS_PER_PARTITION = 500_000
_ROWS_PER_SCAN = 3_000_000
# Above so many matches, the lookup costs more than the tasks that it saves.
_MATCHES_MAX = 1_000_000


def plan_partitions(
    table: Table, columns: Collection[str], where: Condition | None = None
) -> list[tuple[int, ...]]:
    """Return the positions of the parts that each task reads, for some columns."""
    sizes = [part.rows for part in table.fragments()]
    positions = range(len(sizes)) if where is None else _matching(table, sizes, where)
    if where is not None:
        return _balanced(positions, sizes, _ROWS_PER_SCAN)
    excluded = len(table.schema.names) - len(columns)
    if excluded <= 0:
        return list(
            batched_by_weight(positions, lambda position: sizes[position], _ROWS_PER_PARTITION)
        )
    # Rows of fewer columns are smaller, so a task reads more of them.
    rows_max = _ROWS_PER_PARTITION * len(table.schema.names) // max(len(columns), 1)
    return _balanced(positions, sizes, rows_max)


def _balanced(positions: Collection[int], sizes: list[int], rows_max: int) -> list[tuple[int, ...]]:
    """Distribute the parts evenly over as few tasks as the number of rows allows."""
    total = sum(sizes[position] for position in positions)
    tasks = -(-total // rows_max)
    found: dict[int, list[int]] = {}
    before = 0
    for position in positions:
        middle = before + sizes[position] / 2
        found.setdefault(int(middle * tasks / total) if total else 0, []).append(position)
        before += sizes[position]
    return [tuple(group) for group in found.values()]


def _matching(table: Table, sizes: list[int], where: Condition) -> Collection[int]:
    """Return the parts with matching rows, as far as indexes cover the filter."""
    if not _is_indexed(table, where.indexed_columns) or table.count(where.filter) > _MATCHES_MAX:
        return range(len(sizes))
    ends = np.cumsum(sizes)
    at = np.searchsorted(ends, table.find(where.filter), side="right")
    found: list[int] = np.unique(at).tolist()
    return found


def _is_indexed(table: Table, columns: Collection[str]) -> bool:
    """Return whether every column has an index with few uncovered rows."""
    covered = {
        index.spec.column
        for index in table.indexes()
        if index.spec is not None
        and index.spec.kind in (IndexKind.BTREE, IndexKind.BITMAP)
        and index.uncovered_rows <= _ROWS_PER_SCAN
    }
    return bool(columns) and covered.issuperset(columns)
