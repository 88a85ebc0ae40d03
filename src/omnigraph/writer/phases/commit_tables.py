"""Commit tables: one detached version per touched table, on top of its pin.

No other branch and no other writer can interfere, so nothing is retried: a failure is a failure of
storage, or of the staged files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["commit_tables"]


def commit_tables(transaction: WriteTransaction) -> None:
    """Commit every table and make the new versions durable."""
    root, effects = transaction.context.root, transaction.prepared.effects
    pins: dict[TypeId, Pin] = {}
    for number, effect in enumerate(effects, 1):
        reach("attempt.before_table_commit")
        # The last commit may succeed although it reports a failure.
        transaction.may_be_complete = number == len(effects)
        pins[effect.type_id] = root.tables.commit(
            effect.pin, effect.staged, operation_id=transaction.operation
        )
        reach("attempt.table_committed")
    transaction.pins = pins
    if root.durable:
        root.tables.sync(pins.values(), [effect.staged for effect in effects])
    transaction.staged_synced()
    reach("attempt.tables_committed")
