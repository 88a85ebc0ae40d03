"""Making a branch what another snapshot is: pins are taken over, no table is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.merging.counts import count_outcomes, taken_over
from omnigraph.writer.plan import PreparedWrite

if TYPE_CHECKING:
    from omnigraph.api.merges import TypeOutcome
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["take_over_pins"]


def take_over_pins(
    ours: Snapshot, wanted: Snapshot
) -> tuple[PreparedWrite, tuple[TypeOutcome, ...]]:
    """The commit after which ``ours`` holds exactly what ``wanted`` does, and what it changes."""
    old, new = ours.manifest.pins, wanted.manifest.pins
    moved = {key: pin for key, pin in new.items() if old.get(key) != pin}
    dropped = frozenset(old) - frozenset(new)
    types = {**ours.catalog.types, **wanted.catalog.types}
    outcomes = tuple(
        taken_over(types[key], old.get(key), new.get(key)) for key in sorted({*moved, *dropped})
    )
    schema = wanted.manifest.commit.schema
    prepared = PreparedWrite(
        # Only on this very head: otherwise it would undo what somebody else has done since.
        reads=frozenset(old),
        counts=count_outcomes(outcomes),
        created=moved,
        dropped=dropped,
        new_schema=schema if schema != ours.manifest.commit.schema else None,
    )
    return prepared, outcomes
