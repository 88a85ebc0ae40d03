"""Arrow tables as entities. A column becomes Python values when it is first named."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.catalog.model import PropertyId, TypeId
from omnigraph.errors import InvariantBroken
from omnigraph.executor.naive.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.executor.budget import Meter
    from omnigraph.ir.expressions import Value

__all__ = ["StoredEntity", "Tables", "TypeRows"]


class StoredEntity(Entity):
    """One row of the table of a type."""

    __slots__ = ("index", "rows")

    def __init__(self, rows: TypeRows, index: int) -> None:
        self.rows = rows
        self.index = index

    def value(self, prop: str) -> Value:
        return self.rows.column(prop)[self.index]


class TypeRows:
    """All entities of one type."""

    def __init__(self, entity_type: EntityType, table: pa.Table) -> None:
        self.type = entity_type
        self._table = table
        self._columns: dict[str, Sequence[Value]] = {}
        self.entities = tuple(StoredEntity(self, index) for index in range(table.num_rows))

    def column(self, prop: str) -> Sequence[Value]:
        """The values of one property, in table order."""
        if prop not in self._columns:
            self._columns[prop] = self._read(prop)
        return self._columns[prop]

    @cached_property
    def by_id(self) -> Mapping[str, StoredEntity]:
        return {entity.id: entity for entity in self.entities}

    @cached_property
    def leaving(self) -> Mapping[str, Sequence[StoredEntity]]:
        """Edges by the node that they leave."""
        return self._edges_by("@src")

    @cached_property
    def entering(self) -> Mapping[str, Sequence[StoredEntity]]:
        """Edges by the node that they enter."""
        return self._edges_by("@dst")

    def _edges_by(self, endpoint: str) -> Mapping[str, Sequence[StoredEntity]]:
        found: defaultdict[str, list[StoredEntity]] = defaultdict(list)
        for edge in self.entities:
            found[str(edge.value(endpoint))].append(edge)
        return found

    def _read(self, prop: str) -> Sequence[Value]:
        known = self.type.by_id.get(PropertyId(prop))
        if known is None or known.column not in self._table.column_names:
            raise InvariantBroken(
                3, f"the table of {self.type.name} has no column for the property {prop}"
            )
        values: list[Value] = self._table.column(known.column).to_pylist()
        return values


class Tables:
    """The entities of a snapshot, read type by type when they are first needed."""

    def __init__(
        self, catalog: Catalog, read_table: Callable[[TypeId], pa.Table], meter: Meter
    ) -> None:
        self._catalog = catalog
        self._read_table = read_table
        self._meter = meter
        self._types: dict[str, TypeRows] = {}

    def of(self, type_id: str) -> TypeRows:
        """All entities of one type."""
        if type_id not in self._types:
            self._types[type_id] = self._load(type_id)
        return self._types[type_id]

    def _load(self, type_id: str) -> TypeRows:
        entity_type = self._catalog.types[TypeId(type_id)]
        table = self._read_table(entity_type.id)
        self._meter.hold(table.nbytes)
        self._meter.check()
        return TypeRows(entity_type, table)
