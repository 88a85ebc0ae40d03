"""The differing entities of one type between two states.

Files come first: rows at the same place in both versions are equal and never read. The others are
candidates, and many may be equal nevertheless: compaction and small rewrites move rows without
changing them. Candidates are read once as a stream, reduced to id, digest and address, and joined
by id. Only differing rows are read again, on demand.

Memory: the ids, digests and addresses of at most ``_ROWS_PER_PASS`` candidates per side, and the
differences themselves. With more candidates, each pass processes a partition by the digest of the
id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp
from omnigraph.catalog.model import ID
from omnigraph.changes.row_digests import digest_rows
from omnigraph.frozen import frozen
from omnigraph.ports.tables import ROW_ADDRESS, RowSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.ports.tables import Table, TableStore

__all__ = ["NOTHING", "Differences", "Images", "Side", "compare"]

_ROWS_PER_PASS = 4_000_000
# Up to so many bytes of candidates stay in memory, so that a small difference is read once.
_KEPT_BYTES_MAX = 16 * 2**20


@frozen
class Side:
    """One state of a type: its table, and the columns of its properties by identity."""

    table: Table
    columns: Mapping[str, str]


@frozen
class Images:
    """Rows of one side by address: from memory if retained, else from the table."""

    side: Side
    kept: pa.Table | None = None

    def at(self, addresses: np.ndarray, *, row_ids: bool = False) -> pa.Table:
        """Return the rows at some addresses, in that order, with their addresses."""
        found = self.kept
        if found is None or row_ids:
            wanted = RowSet(len(addresses), (), np.sort(addresses))
            columns = list(self.side.columns.values())
            found = _table(self.side, self.side.table.read(wanted, columns, row_ids=row_ids))
        have = found.column(ROW_ADDRESS).to_numpy()
        order = np.argsort(have)
        return found.take(order[np.searchsorted(have, addresses, sorter=order)])


@frozen
class Differences:
    """Differing entities, by id. An address is 0 on the side that lacks the entity."""

    ids: pa.Array
    ops: np.ndarray
    before_at: np.ndarray
    after_at: np.ndarray
    before: Images | None
    after: Images | None

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, op: ChangeOp) -> int:
        return int(np.count_nonzero(self.ops == op))

    def select(self, chosen: np.ndarray) -> Differences:
        """Select some of them by a mask or by positions."""
        at = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return Differences(
            self.ids.take(pa.array(at)),
            self.ops[at],
            self.before_at[at],
            self.after_at[at],
            self.before,
            self.after,
        )


def compare(tables: TableStore, before: Side | None, after: Side | None) -> Differences:
    """Compute the differences between two states of a type; None: the type did not exist."""
    if before is None or after is None:
        return _one_sided(before, after)
    old, new = before.table.pin, after.table.pin
    if old == new and before.columns == after.columns:
        return NOTHING
    old_rows, new_rows = tables.differing_rows(old, new)
    if _reuses_columns(before, after):
        old_rows, new_rows = _everything(before), _everything(after)
    passes = 1 + max(old_rows.count, new_rows.count) // _ROWS_PER_PASS
    found = [
        _join(
            _read_candidates(before, old_rows, pass_number, passes),
            _read_candidates(after, new_rows, pass_number, passes),
        )
        for pass_number in range(passes)
    ]
    return found[0] if passes == 1 else _sorted(_concat(found))


@frozen
class _Candidates:
    """The candidates of one side."""

    side: Side
    ids: pa.Array
    digests: np.ndarray
    addresses: np.ndarray
    kept: pa.Table | None


def _read_candidates(side: Side, rows: RowSet, pass_number: int, passes: int) -> _Candidates:
    ids: list[pa.Array] = []
    digests = [np.empty((0, 2), np.uint64)]
    addresses = [np.empty(0, np.uint64)]
    kept: list[pa.RecordBatch] | None = [] if passes == 1 else None
    kept_bytes = 0
    for whole in side.table.read(rows, list(side.columns.values())):
        batch = whole if passes == 1 else _share_of(whole, pass_number, passes)
        ids.append(batch.column(ID.column))
        digests.append(_digest(side, batch))
        addresses.append(batch.column(ROW_ADDRESS).to_numpy())
        kept_bytes += batch.nbytes
        if kept is not None and kept_bytes <= _KEPT_BYTES_MAX:
            kept.append(batch)
        else:
            kept = None
    return _Candidates(
        side,
        pa.concat_arrays(ids) if ids else pa.array([], pa.string()),
        np.concatenate(digests),
        np.concatenate(addresses),
        None if kept is None else _table(side, iter(kept)),
    )


def _share_of(batch: pa.RecordBatch, pass_number: int, passes: int) -> pa.RecordBatch:
    of_ids = digest_rows({ID.id: batch.column(ID.column)}, batch.num_rows)[:, 0]
    return batch.filter(pa.array(of_ids % np.uint64(passes) == pass_number))


def _digest(side: Side, batch: pa.RecordBatch) -> np.ndarray:
    columns = {prop: batch.column(name) for prop, name in side.columns.items()}
    return digest_rows(columns, batch.num_rows)


def _join(old: _Candidates, new: _Candidates) -> Differences:
    """Join by id: keep ids of one side, and ids with differing digests."""
    partner = pc.index_in(new.ids, value_set=old.ids)
    is_new = partner.is_null().to_numpy(zero_copy_only=False)
    new_at = np.flatnonzero(~is_new)
    old_at = partner.drop_null().to_numpy().astype(np.int64)
    has_partner = np.zeros(len(old.ids), dtype=bool)
    has_partner[old_at] = True
    changed = (old.digests[old_at] != new.digests[new_at]).any(axis=1)
    inserted, deleted = np.flatnonzero(is_new), np.flatnonzero(~has_partner)
    old_at, new_at = old_at[changed], new_at[changed]
    return _sorted(
        Differences(
            pa.concat_arrays(
                [
                    new.ids.take(pa.array(inserted)),
                    new.ids.take(pa.array(new_at)),
                    old.ids.take(pa.array(deleted)),
                ]
            ),
            _ops(len(inserted), len(new_at), len(deleted)),
            np.concatenate([_zeros(inserted), old.addresses[old_at], old.addresses[deleted]]),
            np.concatenate([new.addresses[inserted], new.addresses[new_at], _zeros(deleted)]),
            Images(old.side, old.kept),
            Images(new.side, new.kept),
        )
    )


def _one_sided(before: Side | None, after: Side | None) -> Differences:
    side = after or before
    if side is None:
        return NOTHING
    rows = side.table.scan([ID.column], row_addresses=True)
    there = rows.column(ROW_ADDRESS).to_numpy().astype(np.uint64)
    count = rows.num_rows
    return _sorted(
        Differences(
            pa.concat_arrays([*rows.column(ID.column).chunks, NOTHING.ids]),
            _ops(count, 0, 0) if before is None else _ops(0, 0, count),
            _zeros(there) if before is None else there,
            there if before is None else _zeros(there),
            None if before is None else Images(before),
            None if after is None else Images(after),
        )
    )


def _reuses_columns(before: Side, after: Side) -> bool:
    """Return whether rows at the same place in both versions may differ nevertheless.

    They may if a column exists on both sides but belongs to a property on only one of them. A
    column that one side lacks is harmless: a shared file cannot contain it."""
    old, new = dict(before.columns), dict(after.columns)
    suspects = {name for _, name in old.items() ^ new.items()}
    return not suspects.isdisjoint(set(before.table.schema.names) & set(after.table.schema.names))


def _everything(side: Side) -> RowSet:
    there = side.table.scan([], row_addresses=True).column(ROW_ADDRESS).to_numpy()
    return RowSet(len(there), (), np.sort(there.astype(np.uint64)))


def _sorted(found: Differences) -> Differences:
    return found.select(pc.sort_indices(found.ids).to_numpy().astype(np.int64))


def _concat(parts: list[Differences]) -> Differences:
    return Differences(
        pa.concat_arrays([part.ids for part in parts]),
        np.concatenate([part.ops for part in parts]),
        np.concatenate([part.before_at for part in parts]),
        np.concatenate([part.after_at for part in parts]),
        parts[0].before,
        parts[0].after,
    )


def _ops(inserted: int, updated: int, deleted: int) -> np.ndarray:
    return np.repeat(np.array(list(ChangeOp), np.int8), [inserted, updated, deleted])


def _zeros(like: np.ndarray) -> np.ndarray:
    return np.zeros(len(like), np.uint64)


def _table(side: Side, batches: Iterator[pa.RecordBatch]) -> pa.Table:
    """Combine batches into one table, also without batches."""
    found = list(batches)
    if found:
        return pa.Table.from_batches(found)
    schema = side.table.schema
    fields = [schema.field(name) for name in side.columns.values()]
    return pa.schema([*fields, pa.field(ROW_ADDRESS, pa.uint64())]).empty_table()


NOTHING = Differences(
    pa.array([], pa.string()),
    np.empty(0, np.int8),
    np.empty(0, np.uint64),
    np.empty(0, np.uint64),
    None,
    None,
)
