"""Completion of an abandoned operation: the pins that its table commits reached.

A writer leaves no record of its table commits. The versions carry the operation id, so recovery
finds them from the pins in the intent. All of them are there, or the operation is incomplete.

The *confirmation* decides between the two parties that may act on an operation at once: recovery
confirms the pins before it publishes them, a writer that gives up confirms that the operation is
void before it reports the failure. It is put if absent, so one of the two wins; the other follows.

A power cut can leave versions whose files are not whole. Pins are therefore completed only where
storage is durable at once (a bucket), or while the machine of the writer has not restarted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import GraphError, StorageFault
from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.recovery.intents import Intent, IntentStore
    from omnigraph.versioning.root import GraphRoot

__all__ = ["OwnerGaveUp", "confirmed_pins"]


class OwnerGaveUp(Exception):
    """The owner of an operation has voided it and removed its intent."""


def confirmed_pins(
    root: GraphRoot, intents: IntentStore, intent: Intent
) -> Mapping[TypeId, Pin] | None:
    """Return the pins that an operation may publish; None when it is incomplete or void.

    When it returns pins, the owner can no longer give up without a fence, and the pins are as
    durable as the graph promises. Raises ``OwnerGaveUp`` when the owner was faster.
    """
    is_trusted = root.is_remote or intent.owner.shares_boot()
    try:
        confirmation = intents.read_confirmation(intent.id)
    except StorageFault:
        if is_trusted:
            raise
        return None
    if not (is_trusted or (confirmation is not None and confirmation.is_durable)):
        return None
    if confirmation is None:
        found = _find_committed(root, intent)
        if found is None:
            return None
        intents.confirm(intent.id, found)
        confirmation = intents.read_confirmation(intent.id)
    reach("recovery.confirmed")
    if not intents.is_armed(intent.id):
        intents.remove_confirmation(intent.id)
        raise OwnerGaveUp
    if confirmation is None or confirmation.pins is None:
        return None
    pins = confirmation.pins
    if not _is_whole(root, intent, pins):
        return None
    if root.durable:
        root.tables.sync(pins.values())
    return pins


def _find_committed(root: GraphRoot, intent: Intent) -> dict[TypeId, Pin] | None:
    found = {}
    for table in intent.tables:
        pin = root.tables.find_committed(table.pin, intent.id)
        if pin is None:
            return None
        found[table.type_id] = pin
    return found


def _is_whole(root: GraphRoot, intent: Intent, pins: Mapping[TypeId, Pin]) -> bool:
    """Return whether every planned table has a readable version of this operation."""
    if {table.type_id for table in intent.tables} != set(pins):
        return False
    try:
        return all(
            root.tables.operation_of(pin.path, pin.version) == intent.id
            and root.tables.open(pin) is not None
            for pin in pins.values()
        )
    except GraphError:
        return False
