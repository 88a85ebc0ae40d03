"""The statements of a mutation, accumulated in memory.

Later statements see what earlier ones did; nothing is staged before all of them have run. A
mutation either inserts and updates or deletes (the parser refuses to mix them), so what is pending
is either rows or ids.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EntityType, PropertyId, TypeId
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.errors import LimitExceeded, ValidationFailure
from omnigraph.executor.naive.predicates import Interpreter, matches
from omnigraph.executor.pushdown import split
from omnigraph.integrity.changes import ChangeSet, Mode, TypeChange
from omnigraph.ir.queries import Delete, Insert, StatementIR, Update
from omnigraph.operations.cascade import cascade
from omnigraph.operations.rows import (
    Row,
    entity_id,
    fill_defaults,
    from_arrow,
    stored_properties,
    to_arrow,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from omnigraph.integrity.changes import Reader
    from omnigraph.ir.expressions import Expr

__all__ = ["Pending"]


class Pending:
    """What a mutation has done so far, on top of one snapshot."""

    def __init__(
        self, reader: Reader, params: Mapping[str, Any], now: dt.datetime, *, rows_max: int
    ) -> None:
        self._reader = reader
        self._params = params
        self._now = now
        self._rows_max = rows_max
        self._interpreter = Interpreter(params, now)
        self._rows: dict[TypeId, dict[str, Row]] = {}
        # Types whose pending rows all got fresh ids: they need no look at what exists.
        self._minted: dict[TypeId, bool] = {}
        self._deleted: dict[TypeId, dict[str, None]] = {}
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
                found = self._matching(entity, where, [ID.column])
                self._deleted.setdefault(entity.id, {}).update(dict.fromkeys(found))
        self._require_room()

    def changes(self) -> ChangeSet:
        """Everything that is pending, deletes with their cascades."""
        by_type = {
            type_id: self._upserts(self._reader.catalog.types[type_id], rows)
            for type_id, rows in self._rows.items()
            if rows
        }
        deletes = {key: pa.array(list(ids), pa.string()) for key, ids in self._deleted.items()}
        for type_id, ids in cascade(deletes, self._reader).items():
            self.reads.add(type_id)
            if len(ids):
                by_type[type_id] = self._deletes(self._reader.catalog.types[type_id], ids)
        return ChangeSet(by_type)

    def _insert(self, entity: EntityType, statement: Insert) -> None:
        given = self._assigned(entity, statement)
        if statement.source is not None and statement.target is not None:
            given[SRC.id] = self._interpreter.plain(statement.source)
            given[DST.id] = self._interpreter.plain(statement.target)
        row = fill_defaults(entity, given)
        row[ID.id] = entity_id(entity, row)
        # The last statement wins, as it would one commit later.
        self._rows.setdefault(entity.id, {})[row[ID.id]] = row
        self._minted.setdefault(entity.id, entity.key is None)

    def _update(self, entity: EntityType, statement: Update) -> None:
        changed = self._assigned(entity, statement)
        pending = self._rows.setdefault(entity.id, {})
        found = self._matching(entity, statement.where, None)
        pending.update({key: {**row, **changed} for key, row in found.items()})
        if found:
            self._minted[entity.id] = False

    def _assigned(self, entity: EntityType, statement: Insert | Update) -> Row:
        return {
            item.prop: _typed(entity, item.prop, self._interpreter.plain(item.value))
            for item in statement.assignments
        }

    def _matching(
        self, entity: EntityType, where: Expr, columns: list[str] | None
    ) -> dict[str, Row]:
        """The entities that a predicate matches, as this mutation has left them."""
        self.reads.add(entity.id)
        pending = self._rows.get(entity.id, {})
        gone = self._deleted.get(entity.id, {})
        found = {
            key: row
            for key, row in self._stored(entity, where, columns).items()
            if key not in pending and key not in gone
        }
        seen = {
            key: row for key, row in pending.items() if matches(where, row, self._params, self._now)
        }
        return found | seen

    def _stored(self, entity: EntityType, where: Expr, columns: list[str] | None) -> dict[str, Row]:
        by_id: dict[str, str] = {prop.id: prop.column for prop in stored_properties(entity)}
        halves = split(where, by_id, self._params, self._now)
        # What is left to us needs its columns; all of them is simple and right.
        wanted = columns if halves.residual is None else None
        table = self._reader.table(entity.id)
        rows = from_arrow(entity, table.scan(wanted, filter=halves.pushed))
        if halves.residual is not None:
            residual = halves.residual
            rows = [row for row in rows if matches(residual, row, self._params, self._now)]
        return {row[ID.id]: row for row in rows}

    def _upserts(self, entity: EntityType, rows: dict[str, Row]) -> TypeChange:
        return TypeChange(
            entity,
            Mode.MERGE,
            to_arrow(entity, list(rows.values())),
            fresh_ids=self._minted[entity.id],
        )

    def _deletes(self, entity: EntityType, ids: pa.Array) -> TypeChange:
        return replace(TypeChange(entity, Mode.MERGE, to_arrow(entity, [])), deletes=ids)

    def _require_room(self) -> None:
        count = sum(map(len, self._rows.values())) + sum(map(len, self._deleted.values()))
        if count > self._rows_max:
            raise LimitExceeded(
                "mutation.too_large",
                f"the mutation touches {count} entities, allowed are {self._rows_max}",
                remedy="narrow the predicate, split the mutation, or load the data instead",
                details={"resource_limit": {"name": "rows", "limit": self._rows_max}},
            )


def _typed(entity: EntityType, prop_id: str, value: Any) -> Any:
    """A value in the type of its property; a parameter may have been of a wider one."""
    prop = entity.by_id[PropertyId(prop_id)]
    given = list(value) if isinstance(value, tuple) else value
    try:
        return coerce_json(given, prop.dtype, nullable=True)
    except ValueProblem as problem:
        raise ValidationFailure(
            f"data.{problem.code.removeprefix('value.')}",
            f"{entity.name}.{prop.name}: {problem.message}; nothing was written",
            details={"type": entity.name, "property": prop.name},
        ) from None
