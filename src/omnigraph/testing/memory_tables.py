"""Read-only tables in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.ports.tables import ROW_ADDRESS, Fragment, Pin
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from omnigraph.catalog.model import TypeId

__all__ = ["MemorySource", "MemoryTable"]


class MemoryTable:
    """Implements the reader of the table port."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self.pin = Pin(f"memory/{new_short_id()}", 1, new_short_id(), rows.num_rows)
        self.requests: list[str] = []

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - the word that Arrow and Lance use
        row_addresses: bool = False,
        **_: Any,
    ) -> pa.Table:
        self.requests.append(f"scan {','.join(columns or ['*'])} where {filter}")
        rows = self._rows if filter is None else self._rows.filter(filter)
        found = rows if columns is None else rows.select(list(columns))
        if not row_addresses:
            return found
        return found.append_column(ROW_ADDRESS, pa.array(range(found.num_rows), pa.uint64()))

    def fragments(self) -> tuple[Fragment, ...]:
        count = self._rows.num_rows
        return (Fragment(self.pin.path, count, count),) if count else ()

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - as above
        **_: Any,
    ) -> Iterator[pa.RecordBatch]:
        yield from self.scan(columns, filter=filter).to_batches(max_chunksize=3)

    def take(self, positions: np.ndarray, columns: Sequence[str]) -> pa.Table:
        self.requests.append(f"take {len(positions)} of {','.join(columns)}")
        return self._rows.select(list(columns)).take(positions)

    def count(self, filter: Any = None) -> int:  # noqa: A002 - as above
        return int(self.scan(filter=filter).num_rows)

    def indexes(self) -> tuple[Any, ...]:
        return ()


@dataclass
class MemorySource:
    """The tables of a graph in memory, by type."""

    rows: Mapping[TypeId, pa.Table]
    _tables: dict[TypeId, MemoryTable] = field(default_factory=dict)

    def table(self, type_id: TypeId) -> Any:
        if type_id not in self._tables:
            self._tables[type_id] = MemoryTable(self.rows[type_id])
        return self._tables[type_id]

    def pin(self, type_id: TypeId) -> Pin:
        return self.table(type_id).pin  # type: ignore[no-any-return]  # half a Table is no Table
