"""The statements of a mutation, accumulated in memory.

Later statements see the effects of earlier ones; nothing is staged before all of them have run. A
mutation either inserts and updates or deletes (the parser refuses to mix them), so the pending
changes are either rows or ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, PropertyId, TypeId
from omnigraph.changeset.cascade import cascade, distinct
from omnigraph.changeset.rows import Row, fill_defaults, from_arrow, to_arrow
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.frozen import frozen
from omnigraph.integrity.changes import ChangeSet, TypeChange
from omnigraph.integrity.evaluate import ids_exist
from omnigraph.integrity.upsert import keep_unnamed
from omnigraph.ir.queries import Delete, Insert, InsertMode, StatementIR, Update
from omnigraph.ir.walk import slots_read
from omnigraph.mutation.assignments import assigned, entity_id_of
from omnigraph.mutation.predicates import Allowance, PredicateMatcher
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.semantics.predicates import Interpreter, matches

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Mapping, Sequence

    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.integrity.changes import SnapshotReader
    from omnigraph.ir.expressions import Expr
    from omnigraph.ir.queries import Assignment
    from omnigraph.runtime.limits import Limits

__all__ = ["PendingChanges"]

_PLACE = [ID.column, ROW_ADDRESS]
# An Arrow array of texts holds at most 2 GiB.
_PIECE_BYTES = 2**28


@frozen
class AssignedValues:
    """The values that an update assigns: the same for all rows, for each stored row by property,
    and for each pending row by id."""

    constant: Row
    columns: Mapping[str, pa.Array]
    rows: Mapping[str, Row]


class _Written:
    """The rows of one type that a mutation writes."""

    def __init__(self, entity: EntityType) -> None:
        self.entity = entity
        self._rows: dict[str, Row] = {}
        # The known addresses of stored rows.
        self._addresses: dict[str, int] = {}
        # The rows of one update, changed as a whole; split into rows when a statement follows.
        self._bulk: pa.Table | None = None
        # The named properties of upserts, by id; other values come from the stored row.
        self._named: dict[str, set[str]] = {}
        # Ids that a lookup did not find.
        self._absent: set[str] = set()
        # Ids of rows that must be new.
        self._strict: dict[str, None] = {}

    @property
    def rows(self) -> dict[str, Row]:
        """The rows one by one, by id."""
        if self._bulk is not None:
            bulk, self._bulk = self._bulk, None
            found = from_arrow(self.entity, bulk.drop([ROW_ADDRESS]))
            self._rows |= {row[ID.id]: row for row in found}
            self._note(bulk)
        return self._rows

    def __len__(self) -> int:
        return len(self._rows) + (self._bulk.num_rows if self._bulk is not None else 0)

    def insert(self, given: Row, mode: InsertMode) -> None:
        """Add a row. It sees the rows of earlier statements as if they were stored."""
        row = fill_defaults(self.entity, given)
        key = row[ID.id] = entity_id_of(self.entity, row)
        earlier = self.rows.get(key)
        match mode:
            case InsertMode.CREATE if earlier is not None:
                raise ids_exist(self.entity, [key])
            case InsertMode.CREATE:
                self._strict[key] = None
            case InsertMode.UPSERT if earlier is not None:
                row = {**earlier, **given}
                if key in self._named:
                    self._named[key] |= given.keys()
            case InsertMode.UPSERT:
                if self.entity.key is not None:
                    self._named[key] = set(given)
            case InsertMode.REPLACE:
                self._named.pop(key, None)
        self.rows[key] = row

    def complete(self, reader: SnapshotReader) -> int:
        """Complete upserts of existing entities with stored values that no statement names.

        Returns the size of the completed rows in bytes.
        """
        named, self._named = self._named, {}
        if not named:
            return 0
        rows = self.rows
        partial = to_arrow(self.entity, [rows[key] for key in named])
        masks = {
            prop.column: pa.array([prop.id in given for given in named.values()])
            for prop in self.entity.properties
            if any(prop.id not in given for given in named.values())
        }
        whole, located = keep_unnamed(reader.table(self.entity.id), partial, masks)
        self._absent |= named.keys()
        if not located.num_rows:
            return 0
        rows.update({row[ID.id]: row for row in from_arrow(self.entity, whole)})
        self._note(located)
        return int(whole.nbytes)

    def update(self, stored: pa.Table, seen: Mapping[str, Row], changes: AssignedValues) -> None:
        """Assign new values to stored rows and to rows of this mutation."""
        changed = changes.constant
        for prop in self.entity.properties:
            if prop.id in changed:
                column = _repeated(changed[prop.id], prop, stored.num_rows)
            elif prop.id in changes.columns:
                column = changes.columns[prop.id]
            else:
                continue
            at = stored.schema.get_field_index(prop.column)
            stored = stored.set_column(at, stored.schema.field(at), column)
        if not self:
            self._bulk = stored
            return
        rows = self.rows
        rows.update({key: {**row, **changed, **changes.rows[key]} for key, row in seen.items()})
        found = from_arrow(self.entity, stored.drop([ROW_ADDRESS]))
        rows.update({row[ID.id]: row for row in found})
        self._note(stored)

    def change(self) -> TypeChange:
        if self._bulk is not None:
            rows = to_arrow(self.entity, []).schema
            return TypeChange(
                self.entity,
                Mode.MERGE,
                self._bulk.select(rows.names).cast(rows),
                located=self._bulk.select(_PLACE),
            )
        # A row without an address is new if ids are generated; otherwise it needs a lookup.
        looked_up = self._addresses.keys() | self._absent
        known = self.entity.key is None or self._rows.keys() <= looked_up
        return TypeChange(
            self.entity,
            Mode.MERGE,
            to_arrow(self.entity, list(self._rows.values())),
            fresh_ids=self.entity.key is None and not self._addresses,
            located=self._located() if known else None,
            strict=pa.array(self._strict, pa.string()) if self._strict else None,
        )

    def _located(self) -> pa.Table:
        ids = pa.array(list(self._addresses), pa.string())
        at = pa.array(list(self._addresses.values()), pa.uint64())
        return pa.table([ids, at], names=_PLACE)

    def _note(self, stored: pa.Table) -> None:
        at = (stored.column(name).to_pylist() for name in _PLACE)
        self._addresses |= dict(zip(*at, strict=True))


class PendingChanges:
    """The pending changes of a mutation, on top of one snapshot."""

    def __init__(
        self, reader: SnapshotReader, params: Mapping[str, Any], now: dt.datetime, limits: Limits
    ) -> None:
        self._reader = reader
        self._params = params
        self._now = now
        self._interpreter = Interpreter(params, now)
        self._allowance = Allowance(limits.mutation_rows_max, limits.mutation_bytes_max)
        self._matching = PredicateMatcher(reader, params, now, self._allowance)
        self._written: dict[TypeId, _Written] = {}
        self._deleted: dict[TypeId, list[pa.Table]] = {}
        self.reads: set[TypeId] = set()

    def run(self, statement: StatementIR) -> None:
        """Apply one statement."""
        entity = self._reader.catalog.types[TypeId(statement.type_id)]
        match statement:
            case Insert():
                self._insert(entity, statement)
            case Update():
                self._update(entity, statement)
            case Delete(where=where):
                self.reads.add(entity.id)
                found = self._matching.find(entity, where, [ID.column])
                self._deleted.setdefault(entity.id, []).append(found.select(_PLACE))

    def changes(self) -> ChangeSet:
        """Return all pending changes, deletes with their cascades."""
        for written in self._written.values():
            self._complete(written)
        by_type = {key: written.change() for key, written in self._written.items() if written}
        deletes = {key: distinct(parts) for key, parts in self._deleted.items()}
        for type_id, gone in cascade(deletes, self._reader).items():
            self.reads.add(type_id)
            if gone.num_rows:
                entity = self._reader.catalog.types[type_id]
                nothing = TypeChange(entity, Mode.MERGE, to_arrow(entity, []))
                by_type[type_id] = nothing.deleting(gone)
        return ChangeSet(by_type)

    def _insert(self, entity: EntityType, statement: Insert) -> None:
        given = self._assigned(entity, statement.assignments)
        if statement.source is not None and statement.target is not None:
            given[SRC.id] = self._interpreter.constant(statement.source)
            given[DST.id] = self._interpreter.constant(statement.target)
        self._allowance.take(1, _weight(given))
        self._rows_of(entity).insert(given, statement.mode)

    def _update(self, entity: EntityType, statement: Update) -> None:
        varying = [item for item in statement.assignments if slots_read(item.value)]
        changed = self._assigned(entity, statement.assignments, without=varying)
        written = self._rows_of(entity)
        self._complete(written)
        self.reads.add(entity.id)
        known = written.rows if written else {}
        seen = {key: row for key, row in known.items() if self._matches(statement.where, row)}
        stored = self._matching.find(entity, statement.where, None, without=known)
        if stored.num_rows or seen:
            self._allowance.take(0, _weight(changed) * (stored.num_rows + len(seen)))
            columns = self._varying(entity, varying, stored)
            of_row = {key: self._evaluated(entity, varying, row) for key, row in seen.items()}
            written.update(stored, seen, AssignedValues(changed, columns, of_row))

    def _varying(
        self, entity: EntityType, varying: Sequence[Assignment], stored: pa.Table
    ) -> dict[str, pa.Array]:
        """The new values of stored rows by property, where they differ from row to row."""
        found: dict[str, pa.Array] = {}
        for item in varying:
            prop = entity.by_id[PropertyId(item.prop)]
            values = self._matching.values(entity, item.value, stored)
            cells = [assigned(entity, prop.id, value) for value in values]
            column = found[prop.id] = pa.array(cells, arrow_type(prop.dtype))
            self._allowance.take(0, column.nbytes)
        return found

    def _evaluated(self, entity: EntityType, varying: Sequence[Assignment], row: Row) -> Row:
        """The new values of a pending row."""
        return {
            item.prop: assigned(
                entity, PropertyId(item.prop), self._interpreter.value(item.value, row)
            )
            for item in varying
        }

    def _complete(self, written: _Written) -> None:
        self._allowance.take(0, written.complete(self._reader))

    def _matches(self, where: Expr, row: Row) -> bool:
        return matches(where, row, self._params, self._now) is True

    def _assigned(
        self,
        entity: EntityType,
        assignments: Sequence[Assignment],
        without: Collection[Assignment] = (),
    ) -> Row:
        """The values that are the same in every row."""
        return {
            item.prop: assigned(
                entity, PropertyId(item.prop), self._interpreter.constant(item.value)
            )
            for item in assignments
            if item not in without
        }

    def _rows_of(self, entity: EntityType) -> _Written:
        return self._written.setdefault(entity.id, _Written(entity))


def _repeated(value: Any, prop: Property, count: int) -> pa.ChunkedArray:
    """Repeat a value in chunks that each fit an array and share their memory."""
    rows_max = max(1, _PIECE_BYTES // max(1, _weight({prop.id: value})))
    # pa.repeat rejects a count of zero for lists.
    length = max(1, min(count, rows_max))
    piece = pa.repeat(pa.scalar(value, arrow_type(prop.dtype)), length)
    starts = range(0, max(1, count), rows_max)
    return pa.chunked_array([piece.slice(0, min(rows_max, count - start)) for start in starts])


def _weight(values: Row) -> int:
    """Estimate the bytes of the values of a row; numbers are negligible."""
    size = 0
    for value in values.values():
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            size += sum(map(len, value))
    return size
