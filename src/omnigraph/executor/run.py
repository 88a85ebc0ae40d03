"""One run of a plan: the spaces of its types, its edges, its values, and what it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import EdgeType, TypeId
from omnigraph.errors import InvariantBroken
from omnigraph.executor.columns.pinned_columns import PinnedColumns
from omnigraph.executor.columns.row_spaces import IdSpace, PositionSpace, ValueSpace
from omnigraph.executor.expressions import Evaluator
from omnigraph.executor.rows.bindings import Bindings, slot_key
from omnigraph.executor.traversal.adjacency import IndexedAdjacency, ResidentAdjacency
from omnigraph.executor.traversal.topology import Topology
from omnigraph.planner.plan import Access, Reading
from omnigraph.semantics.columns.codes import dense
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    import datetime as dt

    import numpy.typing as npt

    from omnigraph.catalog.model import Catalog
    from omnigraph.executor.cache import ByteCache
    from omnigraph.executor.columns.row_spaces import RowSpace
    from omnigraph.executor.context import Context
    from omnigraph.executor.profile import Profile
    from omnigraph.executor.scoring import Scoring
    from omnigraph.executor.traversal.hops import Adjacency
    from omnigraph.ir.expressions import Slot, TextMatch, Value
    from omnigraph.planner.plan import Node, Plan
    from omnigraph.ports.tables import Pin, Table
    from omnigraph.runtime.budget import Meter
    from omnigraph.semantics.columns.truth import Truth

    Ints = npt.NDArray[np.int64]

__all__ = ["Given", "Operator", "Operators", "PlanRun", "TableSource"]

# The rows that a plan starts from, worked out only if it asks.
Given = Callable[[], Bindings]
Operator = Callable[[Any, "PlanRun", Given], Bindings]
Operators = Mapping[type, Operator]

_NOTHING = Reading()
_NO_PARAMS: Mapping[str, Value] = {}


class TableSource(Protocol):
    """The tables of one snapshot."""

    def pin(self, type_id: TypeId) -> Pin:
        """Which version of a type's table; nothing is opened."""
        ...

    def table(self, type_id: TypeId) -> Table:
        """The table at its pin."""
        ...


class PlanRun(Evaluator):
    """The state that operators share while a plan runs."""

    def __init__(
        self,
        plan: Plan,
        catalog: Catalog,
        source: TableSource,
        context: Context,
        *,
        operators: Operators,
        page: tuple[int, int | None],
    ) -> None:
        super().__init__(context)
        self.plan = plan
        self.catalog = catalog
        self.offset, self.limit = page
        self.profile: Profile | None = None
        self._source = source
        self._operators = operators
        self._columns: dict[str, PinnedColumns] = {}
        self._spaces: dict[str, RowSpace] = {}
        self._adjacencies: dict[str, Adjacency] = {}
        # The values of slots that hold no entities, once they are bound.
        self._values: dict[Slot, ValueSpace] = {}
        self._scoring: Scoring | None = None

    def serves(self, source: TableSource, cache: ByteCache) -> bool:
        """Whether a query of these tables can be run with what was put together for another."""
        return self._source is source and self.context.cache is cache

    def renew(
        self,
        params: Mapping[str, Value],
        now: dt.datetime,
        meter: Meter,
        page: tuple[int, int | None],
    ) -> None:
        """Begin another query of the same tables: every part asks the one context."""
        context = self.context
        context.params, context.now, context.meter = params, now, meter
        self.offset, self.limit = page

    def let_go(self) -> None:
        """The query has ended: nothing of it stays, only the cache keeps what it keeps."""
        self.profile = self._scoring = None
        self._values.clear()
        self.context.params = _NO_PARAMS
        for columns in self._columns.values():
            columns.let_go()
        for adjacency in self._adjacencies.values():
            if isinstance(adjacency, ResidentAdjacency):
                adjacency.let_go()

    def rows(self, node: Node, given: Given) -> Bindings:
        """The rows of an operator."""
        self.context.meter.check()
        if self.profile is not None:
            return self.profile.measured(
                node, lambda: self._operators[type(node)](node, self, given)
            )
        return self._operators[type(node)](node, self, given)

    # --- search ---

    @property
    def scoring(self) -> Scoring:
        if self._scoring is None:
            raise InvariantBroken(10, "a plan that does not search was asked to")
        return self._scoring

    @scoring.setter
    def scoring(self, scoring: Scoring) -> None:
        self._scoring = scoring

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        return self.scoring.text_match(expr, rows)

    # --- entities ---

    def space_of(self, slot: Slot) -> RowSpace:
        """The numbering of the entities of a slot."""
        found = self._values.get(slot)
        return self.space(self.plan.types[slot]) if found is None else found

    def value_of(self, slot: Slot, rows: Bindings) -> Vector:
        """The values that a slot holds."""
        known = rows.computed.get(slot_key(slot)) if rows.computed else None
        return self._values[slot].vector("", rows.columns[slot]) if known is None else known

    def bind_values(self, slot: Slot, values: Vector) -> Ints:
        """Number the values of a slot in their order, NULL first."""
        ordered = values.ordered()
        codes, count = dense(ordered.codes)
        if ordered.nulls is not None:
            # NULL is a value of its own, before all others.
            codes, count = dense(np.where(ordered.nulls, -1, codes))
        first = np.zeros(count if len(codes) else 0, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        distinct = values.take(first).arrow()
        self.context.meter.hold(distinct.nbytes)
        self._values[slot] = ValueSpace(Column(distinct))
        return codes

    def with_null(self, slot: Slot, codes: Ints) -> tuple[Ints, int]:
        """The numbers of a slot, and that of NULL: -1 for entities, the first for values."""
        values = self._values.get(slot)
        if values is None:
            return codes, -1
        column = values.vector("", None).arrow()
        if len(column) and not column[0].is_valid:
            return codes, 0
        extended = pa.concat_arrays([pa.nulls(1, column.type), column])
        self._values[slot] = ValueSpace(Column(extended))
        return codes + 1, 0

    @property
    def nullable(self) -> frozenset[Slot]:
        """Slots whose entities may be NULL."""
        return self.plan.nullable

    def space(self, type_id: str) -> RowSpace:
        found = self._spaces.get(type_id)
        if found is None:
            found = self._spaces[type_id] = self._make_space(type_id)
        return found

    def adjacency(self, edge_type: str) -> Adjacency:
        """The edges of a type."""
        found = self._adjacencies.get(edge_type)
        if found is None:
            found = self._adjacencies[edge_type] = self._make_adjacency(edge_type)
        return found

    def whole_column(self, type_id: str, prop: str) -> Column:
        """All values of a property, whichever way the plan reads entities."""
        entity = self.catalog.types[TypeId(type_id)]
        return self.columns(type_id).column({**entity.by_id}[prop].column)  # type: ignore[index]

    def columns(self, type_id: str) -> PinnedColumns:
        """The columns of a type's table."""
        found = self._columns.get(type_id)
        if found is None:
            # No part of a run refers back to it, so that it is gone when its rows are.
            source, key = self._source, TypeId(type_id)
            found = PinnedColumns(source.pin(key), lambda: source.table(key), self.context)
            self._columns[type_id] = found
        return found

    def row_count(self, type_id: str) -> int:
        """The number of entities of a type, from its pin."""
        return self._source.pin(TypeId(type_id)).rows

    def _make_space(self, type_id: str) -> RowSpace:
        entity = self.catalog.types[TypeId(type_id)]
        if self.plan.access is Access.RESIDENT:
            return PositionSpace(entity, self.columns(type_id))
        reading = (self.plan.readings or {}).get(type_id, _NOTHING)
        return IdSpace(
            entity,
            self._source.table(TypeId(type_id)),
            self.context,
            early=reading.early,
            late=reading.late,
        )

    def _make_adjacency(self, edge_type: str) -> Adjacency:
        edge = self.catalog.types[TypeId(edge_type)]
        if not isinstance(edge, EdgeType):
            raise InvariantBroken(10, f"{edge_type} is no edge type")
        if self.plan.access is Access.RESIDENT:
            ends = (self.columns(edge.source), self.columns(edge.target))
            return ResidentAdjacency(Topology(self.columns(edge_type), *ends, self.context))
        spaces = [self.space(each) for each in (edge_type, edge.source, edge.target)]
        if not all(isinstance(space, IdSpace) for space in spaces):
            raise InvariantBroken(10, "a plan reads entities in two ways at once")
        edges, sources, targets = (space for space in spaces if isinstance(space, IdSpace))
        return IndexedAdjacency(edges, sources, targets)
