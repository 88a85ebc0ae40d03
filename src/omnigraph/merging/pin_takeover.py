"""Taking over the pins of another snapshot, without reading a table."""

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
    """Prepare the commit that gives ``ours`` exactly the contents of ``wanted``."""
    old, new = ours.manifest.pins, wanted.manifest.pins
    moved = {key: pin for key, pin in new.items() if old.get(key) != pin}
    dropped = frozenset(old) - frozenset(new)
    types = {**ours.catalog.types, **wanted.catalog.types}
    outcomes = tuple(
        taken_over(types[key], old.get(key), new.get(key)) for key in sorted({*moved, *dropped})
    )
    schema = wanted.manifest.commit.schema
    prepared = PreparedWrite(
        # Valid on this head only: otherwise it would undo later commits of others.
        reads=frozenset(old),
        counts=count_outcomes(outcomes),
        created=moved,
        dropped=dropped,
        new_schema=schema if schema != ours.manifest.commit.schema else None,
    )
    return prepared, outcomes
