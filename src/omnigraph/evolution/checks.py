"""Validation of existing rows against a new schema.

The plan determines which types and properties need a check. The rows are validated in the state
after the change, by the rules of every writer: values batch by batch, uniqueness and cardinality on
the columns that they need.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, SRC, EdgeType, TypeId
from omnigraph.catalog.steps import CheckKind
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.errors import InvariantBroken
from omnigraph.integrity.cardinality import check_every_source
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.uniqueness import check_uniqueness
from omnigraph.integrity.violations import Report
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.catalog.model import EntityType, Property, PropertyId
    from omnigraph.catalog.steps import DataCheck
    from omnigraph.evolution.plan import SchemaTransition
    from omnigraph.evolution.row_migration import RowMigration
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["check_data"]


@dataclass
class _RequiredChecks:
    """The required checks on one type."""

    values: set[PropertyId] = field(default_factory=set)
    uniques: dict[tuple[PropertyId, ...], None] = field(default_factory=dict)
    cardinality: bool = False
    emptiness: bool = False


# By whether required values are missing.
_REMEDIES = {
    False: "correct the data on this branch first, or leave out the rule",
    True: "fill the gaps with a backfill (Type.property=…), or correct the data first",
}


def check_data(change: SchemaTransition, snapshot: Snapshot) -> frozenset[TypeId]:
    """Raise all violations at once; otherwise return the types whose rows were read."""
    report, reads = Report(), set[TypeId]()
    required = _required_checks(change)
    for migration in change.row_migrations():
        checks = required.get(migration.after.id)
        if checks is not None:
            reads.add(migration.after.id)
            _check_type(migration, checks, snapshot, report)
    for edge in change.desired.edges:
        if edge.id in required and required[edge.id].cardinality:
            reads |= _check_cardinality(edge, snapshot, report)
    report.raise_if_any(_REMEDIES["required" in report.counts])
    return frozenset(reads)


def _required_checks(change: SchemaTransition) -> dict[TypeId, _RequiredChecks]:
    found: dict[TypeId, _RequiredChecks] = {}
    for check in change.plan.checks:
        _add(found.setdefault(check.type_id, _RequiredChecks()), check)
    for entity in change.desired.types.values():
        filled = {prop.id for prop in entity.properties if prop.id in change.fills}
        if filled:
            checks = found.setdefault(entity.id, _RequiredChecks())
            checks.values |= filled
            # The plan validates defaults; expressions can produce any value.
            checks.uniques |= {group: None for group in entity.uniques if filled & set(group)}
    return found


def _add(checks: _RequiredChecks, check: DataCheck) -> None:
    match check.kind:
        case CheckKind.NO_ROWS:
            checks.emptiness = True
        case CheckKind.NO_DUPLICATES:
            checks.uniques[check.properties] = None
        case CheckKind.CARDINALITY:
            checks.cardinality = True
        case CheckKind.NO_NULLS | CheckKind.VALUES_IN | CheckKind.IN_RANGE | CheckKind.MATCHES:
            checks.values |= set(check.properties)


def _check_type(
    migration: RowMigration, checks: _RequiredChecks, snapshot: Snapshot, report: Report
) -> None:
    entity = migration.after
    table = snapshot.table(entity.id)
    if not table.pin.rows:
        return
    if checks.emptiness:
        raise InvariantBroken(3, f"{entity.name} was planned as empty but has rows")
    if checks.values:
        narrow = _reduce_type(entity, checks.values)
        for batch in table.batches(_reads(migration, narrow.properties)):
            check_cancelled()
            rows = _rows(migration, narrow.properties, batch)
            check_columns(TypeChange(narrow, Mode.OVERWRITE, rows), report)
    for group in checks.uniques:
        members = [entity.by_id[member] for member in group]
        narrow = replace(_reduce_type(entity, set(group)), uniques=(group,))
        rows = _rows(migration, members, table.scan(_reads(migration, members)))
        check_uniqueness(TypeChange(narrow, Mode.OVERWRITE, rows), snapshot, report)


def _reduce_type(entity: EntityType, wanted: set[PropertyId]) -> EntityType:
    """Reduce a type to some properties and the rules on them."""
    return replace(
        entity,
        properties=tuple(prop for prop in entity.properties if prop.id in wanted),
        ranges=tuple(each for each in entity.ranges if each.prop in wanted),
        checks=tuple(each for each in entity.checks if each.prop in wanted),
        uniques=(),
        indexes=(),
        key=None,
    )


def _reads(migration: RowMigration, props: Iterable[Property]) -> list[str]:
    return list(dict.fromkeys((ID.column, *migration.reads(props))))


def _rows(
    migration: RowMigration, props: Iterable[Property], rows: pa.Table | pa.RecordBatch
) -> pa.Table:
    """Return the ids and some properties of rows in the state after the change."""
    named = {prop.column: prop for prop in (ID, *props)}
    return pa.table(
        {
            name: pa.chunked_array(_chunks(migration.column(prop, rows)), arrow_type(prop.dtype))
            for name, prop in named.items()
        }
    )


def _check_cardinality(edge: EdgeType, snapshot: Snapshot, report: Report) -> set[TypeId]:
    """Check all edges of a type against all nodes; a new type has no edges yet."""
    pins = snapshot.manifest.pins
    sources = pa.chunked_array([], pa.string())
    if edge.id in pins:
        sources = snapshot.table(edge.id).scan([SRC.column]).column(SRC.column)
    nodes = snapshot.table(edge.source).scan([ID.column]).column(ID.column)
    check_every_source(edge, sources, nodes, report)
    return {type_id for type_id in (edge.id, edge.source) if type_id in pins}


def _chunks(values: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]
