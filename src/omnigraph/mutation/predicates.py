"""The stored rows that the predicate of an update or a delete matches.

Lance evaluates the part of the predicate that it supports while it scans; the query evaluator
decides the rest on the needed columns, batch by batch. Only matches stay in memory, up to the
limits of a mutation.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.changeset.rows import stored_properties
from omnigraph.errors import InvariantBroken, LimitExceeded
from omnigraph.executor.cache import shared_cache
from omnigraph.executor.columns.pushdown import split
from omnigraph.executor.context import Context
from omnigraph.executor.expressions import Evaluator
from omnigraph.executor.rows.bindings import Bindings
from omnigraph.integrity.lookup import is_among
from omnigraph.ir.expressions import PropertyRef
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.budget import Budget, Meter
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.semantics.columns.column import Column, Vector, joined_array
from omnigraph.semantics.columns.truth import from_values
from omnigraph.semantics.predicates import matches

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from omnigraph.catalog.model import EntityType
    from omnigraph.executor.columns.row_spaces import RowSpace
    from omnigraph.integrity.changes import SnapshotReader
    from omnigraph.ir.expressions import Expr, Slot, TextMatch
    from omnigraph.semantics.columns.truth import Truth

__all__ = ["Allowance", "PredicateMatcher"]


class Allowance:
    """The memory limits of a mutation, whose changes are in memory until they are published."""

    def __init__(self, rows_max: int, bytes_max: int) -> None:
        self._limits = {"rows": rows_max, "bytes": bytes_max}
        self._taken = {"rows": 0, "bytes": 0}

    def take(self, rows: int, size: int) -> None:
        """Account for more rows and bytes."""
        for name, more in (("rows", rows), ("bytes", size)):
            self._taken[name] += more
            limit = self._limits[name]
            if self._taken[name] > limit:
                what = "entities" if name == "rows" else "bytes in memory"
                raise LimitExceeded(
                    "mutation.too_large",
                    f"the mutation touches more than {limit} {what}; nothing was written",
                    remedy="narrow the predicate, split the mutation, or load the data instead",
                    details={"resource_limit": {"name": name, "limit": limit}},
                )


class PredicateMatcher:
    """Finds matching rows in one snapshot."""

    def __init__(
        self,
        reader: SnapshotReader,
        params: Mapping[str, Any],
        now: dt.datetime,
        allowance: Allowance,
    ) -> None:
        self._reader = reader
        self._params = params
        self._now = now
        self._allowance = allowance
        self._evaluator = _RowEvaluator(Context(params, now, Meter(Budget()), shared_cache()))

    def find(
        self,
        entity: EntityType,
        where: Expr,
        columns: Sequence[str] | None,
        *,
        without: Collection[str] = (),
    ) -> pa.Table:
        """Return the matching rows with addresses, except some ids; ``columns`` None means all."""
        stored = stored_properties(entity)
        by_id: dict[str, str] = {prop.id: prop.column for prop in stored}
        wanted = [*by_id.values()] if columns is None else list(columns)
        halves = split(where, by_id, self._params, self._now)
        needed = [by_id[ref.prop] for ref in _properties(halves.residual)]
        table = self._reader.table(entity.id)
        batches = table.batches(
            list(dict.fromkeys((*wanted, *needed))), filter=halves.pushed, row_addresses=True
        )
        known = pa.array(without, pa.string()) if without else None
        found = []
        for batch in batches:
            check_cancelled()
            rows = pa.Table.from_batches([batch])
            if known is not None:
                rows = rows.filter(pc.invert(is_among(rows.column(ID.column), known)))
            if halves.residual is not None and rows.num_rows:
                rows = rows.filter(self._truth(halves.residual, by_id, rows))
            rows = rows.select([*wanted, ROW_ADDRESS])
            self._allowance.take(rows.num_rows, rows.nbytes)
            found.append(rows)
        schema = pa.schema([*(table.schema.field(name) for name in wanted), _ADDRESS])
        return pa.concat_tables([schema.empty_table(), *(rows.cast(schema) for rows in found)])

    def values(self, entity: EntityType, expr: Expr, rows: pa.Table) -> list[Any]:
        """The values of an expression on stored rows."""
        by_id: dict[str, str] = {prop.id: prop.column for prop in stored_properties(entity)}
        return self._evaluator.values(expr, self._bindings(expr, by_id, rows))

    def _truth(self, where: Expr, columns: Mapping[str, str], rows: pa.Table) -> pa.Array:
        """Evaluate a condition on rows whose values are known."""
        return pa.array(self._evaluator.passing(where, self._bindings(where, columns, rows)))

    def _bindings(self, expr: Expr, columns: Mapping[str, str], rows: pa.Table) -> Bindings:
        computed = {
            id(ref): Vector(Column(joined_array(rows.column(columns[ref.prop]))))
            for ref in _properties(expr)
        }
        return Bindings(rows.num_rows, {}, computed)


class _RowEvaluator(Evaluator):
    """Evaluates conditions on rows with given values."""

    def space_of(self, slot: Slot) -> RowSpace:
        raise InvariantBroken(10, f"slot {slot} has no space: the predicate reads its own row only")

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        """Tokenise one text at a time."""
        given = {ref.prop: self.values(ref, rows) for ref in _properties(expr)}
        params, now = self.context.params, self.context.now
        return from_values(
            matches(expr, dict(zip(given, row, strict=True)), params, now)
            for row in zip(*given.values(), strict=True)
        )


def _properties(expr: Any) -> Iterator[PropertyRef]:
    """Yield the property references of an expression."""
    if isinstance(expr, PropertyRef):
        yield expr
    elif isinstance(expr, tuple):
        for item in expr:
            yield from _properties(item)
    elif is_dataclass(expr):
        for field in fields(expr):
            yield from _properties(getattr(expr, field.name))


_ADDRESS = pa.field(ROW_ADDRESS, pa.uint64())
