"""The plan of a schema change on a snapshot. Reads the catalog and the pins, no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.catalog.diff import plan_migration
from omnigraph.catalog.render import render_plan
from omnigraph.errors import SchemaFailure
from omnigraph.evolution.backfill import parse_backfill
from omnigraph.evolution.row_migration import RowMigration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.api.schemas import DesiredSchema
    from omnigraph.catalog.model import Catalog, EntityType, PropertyId
    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.evolution.row_migration import Fill
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["SchemaTransition", "plan_change", "require_supported"]


@dataclass(frozen=True)
class SchemaTransition:
    """The transition from an accepted catalog to a desired one."""

    accepted: Catalog
    desired: Catalog
    plan: MigrationPlan
    fills: Mapping[PropertyId, Fill]

    @property
    def added(self) -> tuple[EntityType, ...]:
        kept = self.accepted.types
        return tuple(each for each in self.desired.types.values() if each.id not in kept)

    @property
    def dropped(self) -> tuple[EntityType, ...]:
        kept = self.desired.types
        return tuple(each for each in self.accepted.types.values() if each.id not in kept)

    def row_migrations(self) -> Iterator[RowMigration]:
        """Yield the row migration of each type that remains."""
        for before in self.accepted.types.values():
            after = self.desired.types.get(before.id)
            if after is not None:
                yield RowMigration(before, after, self.fills)


def plan_change(
    snapshot: Snapshot, wanted: DesiredSchema, desired: Catalog | None = None
) -> SchemaTransition:
    """Compare schemas. ``desired`` is the result of ``wanted.build``, if it is already known."""
    accepted = snapshot.catalog
    desired = desired or wanted.build(accepted)
    if accepted.types and not desired.types and not wanted.allow_data_loss:
        # Dropping everything needs explicit consent; an empty file is usually a mistake.
        raise SchemaFailure(
            "schema.empty",
            "the schema declares no type: applying it would drop everything",
            remedy="check the file; to drop all types, allow data loss",
        )
    given = parse_backfill(wanted.backfill, accepted, desired)
    plan = plan_migration(
        accepted,
        desired,
        allow_data_loss=wanted.allow_data_loss,
        row_counts={key: pin.rows for key, pin in snapshot.manifest.pins.items()},
        backfill=given.spelled,
    )
    if plan.steps:
        # Without any change the request is a repetition, and repeating it is allowed.
        given.require_wanted()
    return SchemaTransition(accepted, desired, plan, given.fills)


def require_supported(plan: MigrationPlan) -> None:
    """Raise the refused steps, each with its remedy."""
    if plan.supported:
        return
    first = plan.refusals[0]
    raise SchemaFailure(
        "schema.refused",
        f"the schema cannot be applied, nothing was changed\n{render_plan(plan)}",
        details=plan.to_json(),
        remedy=first.remedy,
    )
