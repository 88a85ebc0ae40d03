"""``@unique`` over a distributed load: no two entities of a type share the values after it.

``integrity.uniqueness`` for rows that no single process holds. An exchange groups rows by value.
The same load may rewrite or delete the entity of the branch that has a value: in that case, a
second exchange groups those entities with the records of the load, by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.integrity.keys import repeated
from omnigraph.integrity.rules import Unique, rules_of
from omnigraph.pipeline.checks.exchange import KEY, ExchangeInput, exchange
from omnigraph.pipeline.checks.exchange_inputs import stored_inputs
from omnigraph.pipeline.checks.findings import (
    FINDINGS_DDL,
    Findings,
    collect_findings,
    finding_rows,
)
from omnigraph.pipeline.scratch.row_chunks import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import EntityType
    from omnigraph.pipeline.checks.exchange import Tables
    from omnigraph.pipeline.checks.load_change import LoadChange
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["check_uniqueness"]


def check_uniqueness(change: LoadChange) -> Findings:
    """Find rows that share values with each other, or with an unchanged entity."""
    inputs = [
        item
        for entity in change.entities
        if change.count(entity.id)
        for number, rule in enumerate(_uniques(entity))
        for item in _inputs(change, entity, number, rule)
    ]
    if not inputs:
        return Findings()
    context = change.context
    found = collect_findings(
        context, exchange(context.spark, context.location, inputs, _compare, FINDINGS_DDL)
    )
    return found.of("duplicate") + _staying(change, found.of("holder"))


def _uniques(entity: EntityType) -> list[Unique]:
    return [rule for rule in rules_of(entity) if isinstance(rule, Unique)]


def _inputs(
    change: LoadChange, entity: EntityType, number: int, rule: Unique
) -> list[ExchangeInput]:
    members = tuple(member.column for member in rule.members)
    columns: dict[str, str | tuple[str, ...]] = {KEY: members, "id": ID.column}
    names = ", ".join(member.name for member in rule.members)
    t = change.number(entity)
    rows = f"rows|{t}|{number}|{names}"
    inputs = change.rows(rows, entity.id, {**columns, RECORD: RECORD})
    if change.mode is not Mode.OVERWRITE:
        inputs += change.branch(f"held|{t}|{number}|{names}", entity.id, columns)
    return inputs


def _staying(change: LoadChange, holders: Findings) -> Findings:
    """Return the holders of values that the load does not change."""
    if not holders.counts:
        return holders
    inputs: list[ExchangeInput] = []
    for entity in change.entities:
        t = change.number(entity)
        held = holders.stored.of(t)
        if held.rows:
            columns = {KEY: "other", "property": "property", RECORD: RECORD}
            inputs += stored_inputs(f"holders|{t}", held, columns)
            if not change.read_input.has_generated_ids(entity.id):
                inputs += change.rows(f"touched|{t}", entity.id, {KEY: ID.column})
            inputs += stored_inputs(f"touched|{t}", change.deletions_of(entity.id), {KEY: "id"})
    context = change.context
    return collect_findings(
        context, exchange(context.spark, context.location, inputs, _keep_staying, FINDINGS_DDL)
    )


# --- on executors: one bucket at a time ----------------------------------------------------------


def _compare(_: GraphLocation, tables: Tables) -> Iterator[pa.RecordBatch]:
    for name, rows in tables.items():
        kind, t, number, names = name.split("|")
        if kind == "rows":
            yield from _duplicates(int(t), names, rows.sort_by(RECORD))
            held = tables.get(f"held|{t}|{number}|{names}")
            if held is not None:
                yield from _holders(int(t), names, rows, held)


def _duplicates(t: int, names: str, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    earlier, later = repeated(rows.select([KEY]))
    records = rows.column(RECORD)
    yield from finding_rows(
        "duplicate",
        t,
        len(earlier),
        property=names,
        number=records.take(pa.array(earlier)),
        record=records.take(pa.array(later)),
    )


def _holders(t: int, names: str, rows: pa.Table, held: pa.Table) -> Iterator[pa.RecordBatch]:
    # A value has at most one holder on the branch.
    at = pc.index_in(rows.column(KEY), value_set=held.column(KEY).combine_chunks())
    rows = rows.filter(at.is_valid())
    holders = held.column("id").take(at.drop_null())
    others = pc.not_equal(rows.column("id"), holders)
    rows, holders = rows.filter(others), holders.filter(others)
    yield from finding_rows(
        "holder", t, rows.num_rows, property=names, other=holders, record=rows.column(RECORD)
    )


def _keep_staying(_: GraphLocation, tables: Tables) -> Iterator[pa.RecordBatch]:
    for name, holders in tables.items():
        kind, t = name.split("|")
        if kind == "holders":
            touched = tables.get(f"touched|{t}")
            if touched is not None:
                going = pc.is_in(
                    holders.column(KEY), value_set=touched.column(KEY).combine_chunks()
                )
                holders = holders.filter(pc.invert(going))  # noqa: PLW2901 - narrowed
            yield from finding_rows(
                "holder",
                int(t),
                holders.num_rows,
                property=holders.column("property"),
                other=holders.column(KEY),
                record=holders.column(RECORD),
            )
