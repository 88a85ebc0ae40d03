"""``@unique``: no two entities of a type share the values after the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.integrity.keys import repeated
from omnigraph.integrity.lookup import comparable, find_rows, without
from omnigraph.integrity.rules import Unique, rules_of
from omnigraph.integrity.violations import Violation

if TYPE_CHECKING:
    from omnigraph.integrity.changes import SnapshotReader, TypeChange
    from omnigraph.integrity.violations import Report

__all__ = ["check_uniqueness", "has_unique"]


def has_unique(change: TypeChange) -> bool:
    return bool(change.entity.uniques)


def check_uniqueness(change: TypeChange, reader: SnapshotReader, report: Report) -> None:
    """Check within the batch, then against the remaining entities."""
    for rule in rules_of(change.entity):
        if isinstance(rule, Unique) and change.rows.num_rows:
            _check_batch(change, rule, report)
            if change.mode is not Mode.OVERWRITE:
                _check_stored(change, rule, reader, report)


def _check_batch(change: TypeChange, rule: Unique, report: Report) -> None:
    earlier, later = repeated(_keys(change.rows, [member.column for member in rule.members]))
    report.add_many(
        rule.name,
        len(earlier),
        (
            _violation(
                change,
                rule,
                int(second),
                f"the same values as {_describe_row(change, int(first))}",
                change.ids[int(first)].as_py(),
            )
            for first, second in zip(earlier[: report.room], later[: report.room], strict=True)
        ),
    )


def _check_stored(change: TypeChange, rule: Unique, reader: SnapshotReader, report: Report) -> None:
    columns = [member.column for member in rule.members]
    table = reader.table(change.entity.id)
    first = change.rows.column(columns[0])
    existing = find_rows(table, columns[0], first, [ID.column, *columns])
    staying = without(existing, ID.column, change.ids, change.deletes)
    if not staying.num_rows:
        return
    numbered = _keys(change.rows, columns).append_column(
        "_row", pa.array(np.arange(change.rows.num_rows))
    )
    for column in columns:
        numbered = numbered.filter(pc.is_valid(numbered.column(column)))
    holders = _keys(staying, columns).append_column("_holder", staying.column(ID.column))
    clashes = numbered.join(holders, columns, join_type="inner").sort_by("_row")
    shown = [
        (clash["_row"], clash["_holder"]) for clash in clashes.slice(0, report.room).to_pylist()
    ]
    report.add_many(
        rule.name,
        clashes.num_rows,
        (
            _violation(change, rule, row, f"{holder!r} has the same values", holder)
            for row, holder in shown
        ),
    )


def _keys(rows: pa.Table, columns: list[str]) -> pa.Table:
    return pa.table({column: comparable(rows.column(column)) for column in columns})


def _violation(
    change: TypeChange, rule: Unique, row: int, why: str, holder: str | None
) -> Violation:
    values = [change.rows.column(member.column)[row].as_py() for member in rule.members]
    return Violation(
        rule=rule.name,
        message=f"not unique: {why}",
        type=change.entity.name,
        id=change.ids[row].as_py(),
        property=", ".join(member.name for member in rule.members),
        value=values[0] if len(values) == 1 else values,
        holder=holder,
        record=change.record(row),
    )


def _describe_row(change: TypeChange, row: int) -> str:
    record = change.record(row)
    return repr(change.ids[row].as_py()) if record is None else f"record {record}"
