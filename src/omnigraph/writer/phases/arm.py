"""Arm: the intent describes the operation before its first table commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.coordination.owner import current_owner
from omnigraph.recovery.intents import Intent, PlannedTable
from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["arm"]


def arm(transaction: WriteTransaction) -> None:
    """Put the intent. It names the pins that table commits build on, not their results."""
    context, effects = transaction.context, transaction.prepared.effects
    intent = Intent(
        transaction.publication,
        tuple(PlannedTable(effect.type_id, effect.pin) for effect in effects),
        current_owner(),
        context.root.clock.now_micros(),
    )
    # Without tables the intent alone is complete.
    transaction.may_be_complete = not effects
    context.recovery.intents.arm(intent)
    reach("attempt.armed")
