"""What becomes of each type, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EntityKind
from omnigraph.frozen import frozen
from omnigraph.versioning.manifest import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.catalog.model import EntityType
    from omnigraph.ports.tables import Pin

__all__ = ["TypeOutcome", "count_outcomes", "taken_over"]


@frozen
class TypeOutcome:
    """What happens to a type of ours. Of one that is taken over as it is only the number of
    entities is known, because nobody has read it: then the counts are the net difference."""

    entity: EntityType
    taken_over: bool
    inserted: int
    updated: int
    deleted: int

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.entity.kind.value,
            "type": self.entity.name,
            "taken_over": self.taken_over,
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
        }


def taken_over(entity: EntityType, before: Pin | None, after: Pin | None) -> TypeOutcome:
    """A type whose pin moves without a look at its rows."""
    more = (after.rows if after else 0) - (before.rows if before else 0)
    return TypeOutcome(entity, True, max(more, 0), 0, max(-more, 0))  # noqa: FBT003


def count_outcomes(outcomes: Iterable[TypeOutcome]) -> Counts:
    """What a commit says of itself."""
    totals = {kind: [0, 0, 0] for kind in EntityKind}
    for outcome in outcomes:
        for at, count in enumerate((outcome.inserted, outcome.updated, outcome.deleted)):
            totals[outcome.entity.kind][at] += count
    return Counts(*totals[EntityKind.NODE], *totals[EntityKind.EDGE])
