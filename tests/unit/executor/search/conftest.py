"""Tables of texts and vectors to search in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.search.text_column import TextColumn
from omnigraph.executor.search.vector_column import VectorColumn
from omnigraph.maintenance.indexes import plan_table, stage_steps
from omnigraph.runtime.budget import Budget
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.ports.tables import Pin, Table

DOC = catalog_of("node Doc { slug: String @key\n body: String? @index }").nodes[0]


class CountingTable:
    """A table that counts what is asked of it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._table, name)
        if callable(found):
            self.calls.append(name)
        return found


@dataclass
class Library:
    """One table of documents, with a cache of its own."""

    tables: LanceTables
    pin: Pin
    cache: ByteCache

    @property
    def table(self) -> Table:
        return self.tables.open(self.pin)

    def add(self, *bodies: str | None, vectors: list[Any] | None = None) -> None:
        count, start = len(bodies), self.pin.rows
        rows = pa.table(
            {
                "id": [f"d{start + number}" for number in range(count)],
                "slug": [f"d{start + number}" for number in range(count)],
                "body": list(bodies),
                "vec": vectors or [None] * count,
            },
            schema=self.table.schema,
        )
        self._advance(self.table.stage_append(rows))

    def remove(self, *ids: str) -> None:
        chosen = pa.compute.field("id").isin(list(ids))
        found = self.table.scan(["id"], filter=chosen, row_addresses=True)
        self._advance(self.table.stage_change(delete=found["_rowaddr"].to_numpy()))

    def index(self) -> None:
        self._advance(stage_steps(self.table, plan_table(DOC, self.table, force=True)))

    def texts(self, table: Any = None) -> TextColumn:
        return TextColumn(table or self.table, "body", self.cache, Budget().start())

    def vectors(self, table: Any = None) -> VectorColumn:
        return VectorColumn(table or self.table, "vec", self.cache, Budget().start())

    def watched(self) -> CountingTable:
        return CountingTable(self.table)

    def _advance(self, staged: Any) -> None:
        self.pin = self.tables.commit(self.pin, staged, operation_id="op")


@pytest.fixture
def library(tmp_path: Path) -> Callable[..., Library]:
    def make(*bodies: str | None, vectors: list[Any] | None = None, dim: int = 2) -> Library:
        uri = str(tmp_path / "g.omni")
        open_objects(uri).create_root()
        tables = LanceTables(uri)
        schema = pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                ("slug", pa.string()),
                ("body", pa.string()),
                ("vec", pa.list_(pa.float32(), dim)),
            ]
        )
        pin = tables.create("nodes/doc", schema, operation_id="create")
        found = Library(tables, pin, ByteCache(1 << 28))
        if bodies:
            found.add(*bodies, vectors=vectors)
        return found

    return make
