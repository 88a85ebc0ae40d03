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
    from omnigraph.evolution.plan import SchemaChange
    from omnigraph.evolution.row_migration import RowMigration
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["check_data"]


@dataclass
class _Demands:
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


def check_data(change: SchemaChange, snapshot: Snapshot) -> frozenset[TypeId]:
    """Raise all violations at once; otherwise return the types whose rows were read."""
    report, reads = Report(), set[TypeId]()
    demands = _demands_of(change)
    for passage in change.passages():
        demand = demands.get(passage.after.id)
        if demand is not None:
            reads.add(passage.after.id)
            _check_type(passage, demand, snapshot, report)
    for edge in change.desired.edges:
        if edge.id in demands and demands[edge.id].cardinality:
            reads |= _check_cardinality(edge, snapshot, report)
    report.raise_if_any(_REMEDIES["required" in report.counts])
    return frozenset(reads)


def _demands_of(change: SchemaChange) -> dict[TypeId, _Demands]:
    found: dict[TypeId, _Demands] = {}
    for check in change.plan.checks:
        _add(found.setdefault(check.type_id, _Demands()), check)
    for entity in change.desired.types.values():
        filled = {prop.id for prop in entity.properties if prop.id in change.fills}
        if filled:
            demand = found.setdefault(entity.id, _Demands())
            demand.values |= filled
            # The plan validates defaults; expressions can produce any value.
            demand.uniques |= {group: None for group in entity.uniques if filled & set(group)}
    return found


def _add(demand: _Demands, check: DataCheck) -> None:
    match check.kind:
        case CheckKind.NO_ROWS:
            demand.emptiness = True
        case CheckKind.NO_DUPLICATES:
            demand.uniques[check.properties] = None
        case CheckKind.CARDINALITY:
            demand.cardinality = True
        case CheckKind.NO_NULLS | CheckKind.VALUES_IN | CheckKind.IN_RANGE | CheckKind.MATCHES:
            demand.values |= set(check.properties)


def _check_type(
    passage: RowMigration, demand: _Demands, snapshot: Snapshot, report: Report
) -> None:
    entity = passage.after
    table = snapshot.table(entity.id)
    if not table.pin.rows:
        return
    if demand.emptiness:
        raise InvariantBroken(3, f"{entity.name} was planned as empty but has rows")
    if demand.values:
        narrow = _narrowed(entity, demand.values)
        for batch in table.batches(_reads(passage, narrow.properties)):
            check_cancelled()
            rows = _rows(passage, narrow.properties, batch)
            check_columns(TypeChange(narrow, Mode.OVERWRITE, rows), report)
    for group in demand.uniques:
        members = [entity.by_id[member] for member in group]
        narrow = replace(_narrowed(entity, set(group)), uniques=(group,))
        rows = _rows(passage, members, table.scan(_reads(passage, members)))
        check_uniqueness(TypeChange(narrow, Mode.OVERWRITE, rows), snapshot, report)


def _narrowed(entity: EntityType, wanted: set[PropertyId]) -> EntityType:
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


def _reads(passage: RowMigration, props: Iterable[Property]) -> list[str]:
    return list(dict.fromkeys((ID.column, *passage.reads(props))))


def _rows(
    passage: RowMigration, props: Iterable[Property], rows: pa.Table | pa.RecordBatch
) -> pa.Table:
    """Return the ids and some properties of rows in the state after the change."""
    named = {prop.column: prop for prop in (ID, *props)}
    return pa.table(
        {
            name: pa.chunked_array(_chunks(passage.column(prop, rows)), arrow_type(prop.dtype))
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
