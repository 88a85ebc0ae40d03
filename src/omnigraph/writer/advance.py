"""Phase 5: bring every touched table to its new version.

Another branch may commit to the same table in between. That is no conflict between the two graphs'
branches, only a lost race for the next version number, so the same staged change is tried again on
the same pin.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, StorageFault
from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.root import GraphRoot
    from omnigraph.writer.plan import TableEffect

__all__ = ["advance_tables", "foresee_tables"]

_RACES_MAX = 30


def foresee_tables(root: GraphRoot, effects: tuple[TableEffect, ...]) -> dict[TypeId, Pin] | None:
    """The pins that will be reached if nobody comes between; None when somebody has."""
    hoped = {}
    for effect in effects:
        pin = root.tables.foresee(effect.pin, effect.staged)
        if pin is None:
            return None
        hoped[effect.type_id] = pin
    return hoped


def advance_tables(
    root: GraphRoot,
    effects: tuple[TableEffect, ...],
    operation: CommitId,
    hoped: Mapping[TypeId, Pin] | None = None,
) -> dict[TypeId, Pin]:
    """One table commit per effect; the pins reached, mostly those that were hoped for."""
    reached = {}
    for effect in sorted(effects, key=lambda item: item.type_id):
        reach("attempt.before_advance")
        reached[effect.type_id] = _advance(
            root, effect, operation, (hoped or {}).get(effect.type_id)
        )
        reach("attempt.table_advanced")
    return reached


def _advance(root: GraphRoot, effect: TableEffect, operation: CommitId, hoped: Pin | None) -> Pin:
    pause = 0.002
    for _ in range(_RACES_MAX):
        try:
            return root.tables.advance(
                effect.pin, effect.staged, operation_id=operation, hoped=hoped
            )
        except Conflict as lost:
            if lost.code != "table.raced":
                raise
        except StorageFault as fault:
            if not root.heal(fault):
                raise
        hoped = None
        root.clock.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
        pause = min(pause * 1.6, 0.2)
    raise Conflict(
        "table.contended",
        f"table {effect.pin.path} was taken by other writers {_RACES_MAX} times in a row",
        remedy="try again",
        details={"table_key": effect.type_id},
    )
