"""A bounded slice of maintenance, which a short-lived command runs after its result.

Users who never run ``index ensure`` still get index lookups of keys and endpoints. A slice covers
one table, only lookup indexes, and only as many rows as take about a second: everything else is
left to ``index ensure`` and to long-lived processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.names import MAIN
from omnigraph.maintenance.index_plan import declared_indexes
from omnigraph.maintenance.indexes import ensure_indices
from omnigraph.ports.indexes import IndexKind

if TYPE_CHECKING:
    from omnigraph.api.indexes import EnsureResult
    from omnigraph.catalog.model import EntityType
    from omnigraph.ports.tables import Table
    from omnigraph.session.engine import Engine

__all__ = ["UNCOVERED_ROWS_FAR", "maintain_slice"]

# Well above the threshold of useful work: so many rows justify a commit.
UNCOVERED_ROWS_FAR = 20_000
_SLICE_ROWS_MAX = 500_000
_LOOKUPS = frozenset({IndexKind.BTREE, IndexKind.BITMAP})


def maintain_slice(engine: Engine, branch: str = MAIN) -> EnsureResult | None:
    """Index the table of a branch with the most uncovered rows; None if none has many."""
    snapshot = engine.snapshot(branch)
    waiting = [
        (rows, entity.name)
        for entity in snapshot.catalog.types.values()
        if (table := snapshot.table(entity.id)).pin.rows >= UNCOVERED_ROWS_FAR
        and UNCOVERED_ROWS_FAR <= (rows := _uncovered(entity, table)) <= _SLICE_ROWS_MAX
    ]
    if not waiting:
        return None
    _, name = max(waiting)
    return ensure_indices(engine, branch, types=[name], kinds=_LOOKUPS)


def _uncovered(entity: EntityType, table: Table) -> int:
    """Return the uncovered rows of the table's worst lookup index."""
    present = {index.spec: index.uncovered_rows for index in table.indexes()}
    return max(
        present.get(declared.spec, table.pin.rows)
        for declared in declared_indexes(entity)
        if declared.spec.kind in _LOOKUPS
    )
