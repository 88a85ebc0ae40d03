"""Plans of queries that are written as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import compile_source
from omnigraph.ir.queries import ReadIR
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.planner import PlannerStatistics, plan_read
from omnigraph.planner.plan import walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.planner import Plan
    from omnigraph.planner.plan import Node

SCHEMA = """
node Person {
    handle: String @key
    age: I32?
    height: F64?
    city: String? @index
    status: enum(active, retired)?
    code: String? @unique
    vec: Vector(2)?
    photo: Blob?
}
node Paper {
    doi: String @key
    title: String
    pages: I64?
}
edge Knows: Person -> Person { since: I64? }
edge Wrote: Person -> Paper { position: I32? }
edge Cites: Paper -> Paper
"""
ROWS = {"Person": 10_000, "Paper": 1_000, "Knows": 200_000, "Wrote": 5_000, "Cites": 3_000}


@dataclass(frozen=True)
class Planning:
    """Compiles and plans against one schema."""

    catalog: Catalog

    def facts(self, rows: Mapping[str, int] = ROWS) -> PlannerStatistics:
        by_id: dict[str, int] = {
            entity.id: rows.get(entity.name, 0) for entity in self.catalog.types.values()
        }
        return PlannerStatistics(self.catalog, by_id)

    def compile(self, body: str, params: str = "") -> ReadIR:
        compiled = compile_source(self.catalog, f"query q({params}) {{ {body} }}")
        assert isinstance(compiled, ReadIR)
        return compiled

    def plan(self, body: str, params: str = "", rows: Mapping[str, int] = ROWS) -> Plan:
        return plan_read(self.compile(body, params), self.facts(rows))

    def nodes(self, body: str, params: str = "", rows: Mapping[str, int] = ROWS) -> list[Node]:
        """The operators from the top down, without the columns."""
        return list(walk(self.plan(body, params, rows).root))[1:]

    def id_of(self, name: str) -> str:
        entity = self.catalog.entity(name)
        assert entity is not None
        return entity.id


@pytest.fixture(scope="session")
def planning() -> Planning:
    source = Source(SCHEMA)
    return Planning(build_catalog(parse_schema(source), source))
