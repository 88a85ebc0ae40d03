"""Counts of merged entities per type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import Counts
from omnigraph.api.merges import TypeOutcome
from omnigraph.catalog.model import EntityKind
from omnigraph.changes.comparison import SnapshotComparison
from omnigraph.changes.model import ChangeFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.api.changes import TypeSummary
    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["count_outcomes", "count_types", "taken_over"]


def taken_over(entity: EntityType, before: Pin | None, after: Pin | None) -> TypeOutcome:
    """Return the outcome of a type whose pin moves without reading its rows.

    The pins of a type that is added or dropped give exact counts; other pins do not."""
    counts: tuple[int | None, int | None, int | None] = (None, None, None)
    if before is None and after is not None:
        counts = (after.rows, 0, 0)
    elif before is not None and after is None:
        counts = (0, 0, before.rows)
    sizes = (before.rows if before else 0, after.rows if after else 0)
    return TypeOutcome(entity, True, *counts, *sizes)  # noqa: FBT003


def count_types(
    outcomes: Iterable[TypeOutcome], ours: Snapshot, theirs: Snapshot
) -> tuple[TypeOutcome, ...]:
    """Complete missing counts as ``diff`` computes them. Reads the differing rows."""
    found = list(outcomes)
    missing = frozenset(each.entity.id for each in found if not each.is_counted)
    if not missing:
        return tuple(found)
    comparison = SnapshotComparison(ours, theirs, ChangeFilter(types=missing))
    by_type = {summary.entity.id: summary for summary in comparison.summary()}
    return tuple(each if each.is_counted else _counted(each, by_type) for each in found)


def _counted(outcome: TypeOutcome, by_type: Mapping[TypeId, TypeSummary]) -> TypeOutcome:
    found = by_type.get(outcome.entity.id)
    counts = (found.inserted, found.updated, found.deleted) if found is not None else (0, 0, 0)
    return replace(outcome, inserted=counts[0], updated=counts[1], deleted=counts[2])


def count_outcomes(outcomes: Iterable[TypeOutcome]) -> Counts:
    """Sum the counts that a commit stores. A type without counts contributes its net growth."""
    totals = {kind: [0, 0, 0] for kind in EntityKind}
    for outcome in outcomes:
        counts = (outcome.inserted, outcome.updated, outcome.deleted)
        if not outcome.is_counted:
            more = (outcome.entities_after or 0) - (outcome.entities_before or 0)
            counts = (max(more, 0), 0, max(-more, 0))
        for at, count in enumerate(counts):
            totals[outcome.entity.kind][at] += count or 0
    return Counts(*totals[EntityKind.NODE], *totals[EntityKind.EDGE])
