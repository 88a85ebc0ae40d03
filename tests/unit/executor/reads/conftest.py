"""A small graph in memory; every read on it is evaluated by the engine and by the reference."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import bind_params, compile_source
from omnigraph.datatypes.arrow import table_schema
from omnigraph.ir.queries import ReadIR
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.planner.plan import Access
from omnigraph.testing.agreement import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.api.results import QueryResult
    from omnigraph.catalog.model import Catalog, TypeId
    from omnigraph.ports.embeddings import Embedder

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)

SCHEMA = """
node Person {
    handle: String @key
    age: I64?
    height: F32?
    born: Date?
    seen: DateTime?
    status: enum(active, retired)?
    tags: [String]?
}

node City {
    name: String @key
    people: U64?
}

node Doc {
    slug: String @key
    body: String?
    pages: I32?
    vec: Vector(2)?
    photo: Blob?
}

node Spot {
    name: String @key
    at: Vector(2)
}

edge Knows: Person -> Person { since: I64? }
edge Lives: Person -> City
edge Wrote: Person -> Doc { role: String?  draft: Blob? }
"""

Row = dict[str, Any]


@dataclass
class World:
    """A graph in memory: rows by type name, properties by name."""

    catalog: Catalog
    content: Mapping[str, Sequence[Row]]

    def run(
        self,
        body: str,
        params: str = "",
        *,
        embedder: Embedder | None = None,
        **values: Any,
    ) -> QueryResult:
        """Evaluate ``query q(params) { body }``."""
        return self.evaluate(self.compile(body, params), embedder=embedder, **values)

    def evaluate(
        self, ir: ReadIR, *, embedder: Embedder | None = None, **values: Any
    ) -> QueryResult:
        """Evaluate a query whose IR was made, or altered, by hand."""
        question = Question(ir, self.catalog, self.tables(), bind_params(ir, values), NOW, embedder)
        question.require_agreement()
        return question.execute(Access.RESIDENT)

    def rows(self, body: str, params: str = "", **values: Any) -> list[tuple[Any, ...]]:
        """The rows of the answer, as tuples."""
        return [tuple(row.values()) for row in self.run(body, params, **values)]

    def column(self, body: str, params: str = "", **values: Any) -> list[Any]:
        """The only column of the answer."""
        return [value for (value,) in self.rows(body, params, **values)]

    def engine_rows(self, body: str) -> list[Row]:
        """The rows of the engine alone, for values that the reference has no equal of."""
        asked = Question(self.compile(body), self.catalog, self.tables(), {}, NOW)
        return asked.execute(Access.RESIDENT).rows()

    def compile(self, body: str, params: str = "") -> ReadIR:
        compiled = compile_source(self.catalog, f"query q({params}) {{ {body} }}")
        assert isinstance(compiled, ReadIR)
        return compiled

    def tables(self) -> dict[TypeId, pa.Table]:
        return {type_id: self.read_table(type_id) for type_id in self.catalog.types}

    def read_table(self, type_id: TypeId) -> pa.Table:
        entity = self.catalog.types[type_id]
        columns = {prop.name: prop.column for prop in entity.properties}
        rows = [
            {columns.get(name, name): value for name, value in row.items()}
            for row in self.content.get(entity.name, ())
        ]
        return pa.Table.from_pylist(rows, schema=table_schema(entity))


def edges(*pairs: str, **properties: Sequence[Any]) -> list[Row]:
    """Edges written ``ada-bo``; properties are given in the same order."""
    found: list[Row] = []
    for place, pair in enumerate(pairs):
        source, target = pair.split("-")
        values = {name: given[place] for name, given in properties.items()}
        found.append({"id": f"e{place}", "src": source, "dst": target, **values})
    return found


def entities(key: str, *rows: Row) -> list[Row]:
    """Nodes whose id is their key."""
    return [{"id": row[key], **row} for row in rows]


class Worlds:
    """Makes worlds; parsing the schema once is enough."""

    def __init__(self) -> None:
        source = Source(SCHEMA)
        self.catalog = build_catalog(parse_schema(source), source)

    def __call__(self, **content: Sequence[Row]) -> World:
        return World(self.catalog, content)

    def people(self, *handles: str, **more: Sequence[Row]) -> World:
        """People of these names, and whatever else is said."""
        persons = entities("handle", *({"handle": handle} for handle in handles))
        return World(self.catalog, {"Person": persons, **more})

    edges = staticmethod(edges)
    entities = staticmethod(entities)


@pytest.fixture(scope="session")
def worlds() -> Worlds:
    return Worlds()
