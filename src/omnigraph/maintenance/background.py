"""A bounded slice of maintenance: what a short-lived command tidies up after its answer.

Whoever never runs ``index ensure`` still gets keys and endpoints looked up instead of scanned for.
One table at a time, only indexes for looking up, and only as many rows as take about a second:
everything else is left to ``index ensure`` and to processes that live longer.
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

# Far past what is no reason to work: so many rows are worth a commit of their own.
UNCOVERED_ROWS_FAR = 20_000
_SLICE_ROWS_MAX = 500_000
_LOOKUPS = frozenset({IndexKind.BTREE, IndexKind.BITMAP})


def maintain_slice(engine: Engine, branch: str = MAIN) -> EnsureResult | None:
    """Index the table of a branch that needs it most; None when none is far from being covered."""
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
    """The rows that the worst of a table's indexes for looking up does not know."""
    present = {index.spec: index.uncovered_rows for index in table.indexes()}
    return max(
        present.get(declared.spec, table.pin.rows)
        for declared in declared_indexes(entity)
        if declared.spec.kind in _LOOKUPS
    )
