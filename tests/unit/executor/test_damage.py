"""A graph that no writer leaves behind: an edge whose node is gone."""

from __future__ import annotations

import pytest

from omnigraph.compiler import compile_source
from omnigraph.errors import StorageFault
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.execute import Call, Executable, execute
from omnigraph.ir.queries import ReadIR
from omnigraph.planner import PlannerStatistics, plan_read
from omnigraph.planner.plan import Access
from omnigraph.testing.memory_tables import MemorySource
from omnigraph.testing.random_reads import CATALOG, NOW, RandomGraph

PERSON, CITY = (node.id for node in CATALOG.nodes)
KNOWS, LIVES, NEAR = (edge.id for edge in CATALOG.edges)
(HANDLE,) = (prop.column for prop in CATALOG.types[PERSON].properties if prop.name == "handle")
GRAPH = RandomGraph(
    {
        PERSON: [{"id": who, HANDLE: who} for who in ("ada", "eve")],
        CITY: [],
        KNOWS: [
            {"id": "e0", "src": "ada", "dst": "eve"},
            {"id": "e1", "src": "ada", "dst": "nobody"},
        ],
        LIVES: [],
        NEAR: [],
    }
)


@pytest.mark.parametrize("access", list(Access))
@pytest.mark.parametrize("hop", ["$a knows $b", "$b <knows> $a", "$a $k:knows $b"])
def test_every_way_of_access_refuses_the_edge_and_names_the_node(access: Access, hop: str) -> None:
    text = f'query q() {{ match {{ $a: Person {{ handle: "ada" }}  {hop} }} return {{ $b.age }} }}'
    ir = compile_source(CATALOG, text)
    assert isinstance(ir, ReadIR)
    tables = {type_id: GRAPH.table(type_id) for type_id in CATALOG.types}
    plan = plan_read(ir, PlannerStatistics(CATALOG, GRAPH.counts()))
    call = Call({}, NOW, cache=ByteCache(10**6))
    with pytest.raises(StorageFault, match="nobody") as refused:
        execute(Executable(plan, CATALOG).with_access(access), MemorySource(tables), call)
    assert refused.value.code == "table.row_missing"
