"""Uniqueness of ids within a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.violations import Violation, format_value

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.integrity.violations import Report

__all__ = ["drop_superseded", "remove_repeats", "repeated", "repeats"]


def remove_repeats(
    entity: EntityType,
    rows: pa.Table,
    records: np.ndarray,
    mode: Mode,
    report: Report,
) -> tuple[pa.Table, np.ndarray, int]:
    """Remove repeated ids; return rows, records and the number of superseded records.

    The last record of an id counts; unless the mode is ``merge``, an earlier one is a violation.
    The values of superseded records are validated as well.
    """
    earlier, winners = repeated(rows.select([ID.column]))
    if not len(earlier):
        return rows, records, 0
    if mode is not Mode.MERGE:
        ids = rows.column(ID.column)
        report.add_many(
            "key",
            len(earlier),
            (
                Violation(
                    rule="key",
                    message=repeats(ids[int(row)].as_py(), int(records[winners[n]])),
                    type=entity.name,
                    id=ids[int(row)].as_py(),
                    record=int(records[row]),
                )
                for n, row in enumerate(earlier[: report.room])
            ),
        )
    keep = np.ones(rows.num_rows, dtype=bool)
    keep[earlier] = False
    rows, records = drop_superseded(entity, rows, records, keep, report)
    return rows, records, len(earlier)


def repeats(entity_id: str, record: int) -> str:
    """Build the message for a record whose id is repeated."""
    return f"duplicate id {format_value(entity_id)!r}, repeated in record {record}"


def drop_superseded(
    entity: EntityType, rows: pa.Table, records: np.ndarray, keep: np.ndarray, report: Report
) -> tuple[pa.Table, np.ndarray]:
    """Return the rows to keep and their records, after validating the others."""
    gone = TypeChange(entity, Mode.MERGE, rows.filter(pa.array(~keep)), records=records[~keep])
    check_columns(gone, report)
    return rows.filter(pa.array(keep)), records[keep]


def repeated(keys: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of rows whose key occurs again later, each with the last such position.

    A row with a NULL in its key never repeats.
    """
    names = keys.column_names
    # Most batches have no repetition: a distinct count proves it without a join.
    if len(names) == 1 and len(pc.unique(keys.column(0))) == keys.num_rows:
        return _NONE, _NONE
    rows = keys.append_column("_row", pa.array(np.arange(keys.num_rows)))
    for name in names:
        if rows.column(name).null_count:
            rows = rows.filter(pc.is_valid(rows.column(name)))
    last = rows.group_by(names).aggregate([("_row", "max"), ("_row", "count")])
    twice = last.filter(pc.greater(last.column("_row_count"), 1))
    if not twice.num_rows:
        return _NONE, _NONE
    joined = rows.join(twice.select([*names, "_row_max"]), names, join_type="inner")
    position = joined.column("_row").to_numpy()
    winner = joined.column("_row_max").to_numpy()
    losing = position != winner
    order = np.argsort(position[losing], kind="stable")
    return position[losing][order], winner[losing][order]


_NONE = np.empty(0, np.int64)
