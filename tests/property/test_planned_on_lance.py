"""Planned execution on real tables: in fragments, thinned out by deletions, indexed and compacted,
on branches that share a table, and in the past.

Guards INV-7. Filters are pushed into Lance here, so this is also where its idea of a comparison,
and that of its indexes, meets ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from omnigraph.adapters.lance import LanceTables
from omnigraph.catalog.model import EdgeType
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import GraphError
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.execute import Call, Executable, execute
from omnigraph.maintenance.indexes import plan_table, stage_steps
from omnigraph.planner import PlannerStatistics, plan_read
from omnigraph.planner.plan import Access
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.ids import new_short_id
from omnigraph.testing.agreement import Question
from omnigraph.testing.random_reads import CATALOG, NOW, PARAMS, RandomGraph, graphs, reads

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from omnigraph.catalog.model import TypeId
    from omnigraph.ir.queries import ReadIR
    from omnigraph.ports.tables import Pin, Table

    Pins = Mapping[TypeId, Pin]

FEW = settings(max_examples=15)
(HANDLE,) = (
    prop.column for node in CATALOG.nodes for prop in node.properties if prop.name == "handle"
)


@dataclass
class Stored:
    """A graph in Lance tables at some pins."""

    store: LanceTables
    pins: Mapping[TypeId, Pin]

    def pin(self, type_id: TypeId) -> Pin:
        return self.pins[type_id]

    def table(self, type_id: TypeId) -> Table:
        return self.store.open(self.pins[type_id])


def write(store: LanceTables, rows: pa.Table, schema: pa.Schema) -> Pin:
    """The rows in fragments of two, between rows that are deleted again."""
    path = f"t/{new_short_id()}"
    pin = store.create(path, schema, operation_id="create")
    doomed = rows.slice(0, 1)
    for start in range(0, rows.num_rows, 2):
        table = store.open(pin)
        pin = store.commit(pin, table.stage_append(rows.slice(start, 2)), operation_id="append")
        table = store.open(pin)
        pin = store.commit(pin, table.stage_append(doomed), operation_id="append")
        table = store.open(pin)
        last = table.scan(["id"], row_addresses=True).column(ROW_ADDRESS).to_numpy()[-1:]
        staged = table.stage_change(delete=np.asarray(last, np.uint64))
        assert staged is not None
        pin = store.commit(pin, staged, operation_id="delete")
    return pin


def indexed(store: LanceTables, pins: Pins) -> Pins:
    """Every index that the schema declares, over the rows that are there now."""
    return {type_id: _index(store, type_id, pin) for type_id, pin in pins.items()}


def _index(store: LanceTables, type_id: TypeId, pin: Pin) -> Pin:
    table = store.open(pin)
    staged = stage_steps(table, plan_table(CATALOG.types[type_id], table, force=True))
    return pin if staged is None else store.commit(pin, staged, operation_id="index")


def changed(store: LanceTables, pins: Pins, graph: RandomGraph, *, mark: str) -> Pins:
    """More rows, which no index covers; the first node of a type is updated, an edge is gone."""
    more = renamed(graph, mark)
    return {type_id: _change(store, type_id, pin, more) for type_id, pin in pins.items()}


def renamed(graph: RandomGraph, mark: str) -> RandomGraph:
    """The same graph beside itself: ids that are not taken, and a key is still its id."""
    names = {"id", "src", "dst", HANDLE}
    return RandomGraph(
        {
            type_id: [
                {name: f"{mark}{cell}" if name in names else cell for name, cell in row.items()}
                for row in rows
            ]
            for type_id, rows in graph.rows.items()
        }
    )


def _change(store: LanceTables, type_id: TypeId, pin: Pin, more: RandomGraph) -> Pin:
    table, added = store.open(pin), more.table(type_id)
    held = table.scan(None, row_addresses=True).slice(0, 1)
    addresses = held.column(ROW_ADDRESS).to_numpy()
    delete, replace = None, None
    if isinstance(CATALOG.types[type_id], EdgeType):
        delete = addresses
    else:
        new = added.slice(0, held.num_rows)
        for name in {"id", HANDLE} & set(new.column_names):
            place = new.schema.get_field_index(name)
            new = new.set_column(place, new.schema.field(place), held.column(name))
        replace = (addresses, new)
    staged = table.stage_change(delete=delete, replace=replace, insert=added)
    return pin if staged is None else store.commit(pin, staged, operation_id="change")


def compact(store: LanceTables, root: str, pin: Pin) -> Pin:
    """One fragment, without what was deleted. Lance compacts the newest version only."""
    dataset = lance.dataset(f"{root}/{pin.path}", version=pin.version)
    if store.latest_version(pin.path) != pin.version:
        dataset.restore()
    dataset.optimize.compact_files(materialize_deletions_threshold=0.0)
    return store.latest(pin.path)


def reference(source: Stored, ir: ReadIR) -> Any:
    tables = {type_id: source.table(type_id).scan() for type_id in CATALOG.types}
    outcome = Question(ir, CATALOG, tables, PARAMS, NOW).by_reference()
    return outcome[1] if outcome[0] == "failed" else outcome


def outcomes(source: Stored, ir: ReadIR) -> list[Any]:
    """What each way of access, and the definition, make of a read."""
    facts = PlannerStatistics(CATALOG, {type_id: pin.rows for type_id, pin in source.pins.items()})
    plan = plan_read(ir, facts)
    found: list[Any] = []
    for access in (*Access, None):
        try:
            if access is None:
                found.append(reference(source, ir))
                continue
            executable = Executable(plan, CATALOG).with_access(access)
            call = Call(PARAMS, NOW, cache=ByteCache(10**7))
            result = execute(executable, source, call)
            found.append((result.to_arrow().schema, result.rows()))
        except GraphError as error:
            found.append(error.code)
    return found


def scattered(root: str, graph: RandomGraph) -> Stored:
    store = LanceTables(root)
    pins = {
        type_id: write(store, graph.table(type_id), table_schema(entity))
        for type_id, entity in CATALOG.types.items()
    }
    return Stored(store, pins)


def require_agreement(source: Stored, asked: list[ReadIR]) -> list[list[Any]]:
    """Every way of access answers as the definition does."""
    answers = [outcomes(source, ir) for ir in asked]
    for ir, found in zip(asked, answers, strict=True):
        if "query.sum_overflow" not in found:
            assert found[0] == found[2], (Access.RESIDENT, ir)
            assert found[1] == found[2], (Access.LOOKED_UP, ir)
    return answers


def require_same(before: list[list[Any]], after: list[list[Any]]) -> None:
    for found, again in zip(before, after, strict=True):
        if "query.sum_overflow" not in found:
            assert again == found


@FEW
@given(graph=graphs(), asked=st.lists(reads(), min_size=4, max_size=8))
def test_fragments_deletions_and_compaction_change_no_answer(
    tmp_path_factory: pytest.TempPathFactory, graph: RandomGraph, asked: list[ReadIR]
) -> None:
    root = str(tmp_path_factory.mktemp("lance"))
    source = scattered(root, graph)
    before = require_agreement(source, asked)
    pins = {type_id: compact(source.store, root, pin) for type_id, pin in source.pins.items()}
    require_same(before, require_agreement(Stored(source.store, pins), asked))


def test_a_branch_that_did_not_move_a_table_compacts_its_own_rows(tmp_path: Path) -> None:
    """The newest version of a shared table is that of the other branch."""
    store = LanceTables(str(tmp_path))
    rows = pa.table({"id": ["a", "b"]})
    base = write(store, rows, rows.schema)
    theirs = store.open(base).stage_append(pa.table({"id": ["theirs"]}))
    store.commit(base, theirs, operation_id="theirs")
    compacted = compact(store, str(tmp_path), base)
    assert store.open(compacted).scan(["id"]).column("id").to_pylist() == ["a", "b"]


def check_indexes(root: str, graph: RandomGraph, later: RandomGraph, asked: list[ReadIR]) -> None:
    source = scattered(root, graph)
    store = source.store
    before = require_agreement(source, asked)
    covered = Stored(store, indexed(store, source.pins))
    require_same(before, require_agreement(covered, asked))
    # Two branches go on from here, in turns on one table; indexes cover a part of each.
    main = Stored(store, changed(store, covered.pins, later, mark="m"))
    dev = Stored(store, changed(store, covered.pins, graph, mark="d"))
    on_main, on_dev = require_agreement(main, asked), require_agreement(dev, asked)
    extended = Stored(store, indexed(store, dev.pins))
    require_same(on_dev, require_agreement(extended, asked))
    compacted = {type_id: compact(store, root, pin) for type_id, pin in extended.pins.items()}
    require_same(on_dev, require_agreement(Stored(store, compacted), asked))
    # The past, and the other branch, are what they were.
    require_same(before, require_agreement(covered, asked))
    require_same(on_main, require_agreement(main, asked))


@settings(max_examples=3)
@given(graph=graphs(), later=graphs(), asked=st.lists(reads(), min_size=4, max_size=8))
def test_indexes_whole_partial_and_compacted_change_no_answer_on_any_branch(
    tmp_path_factory: pytest.TempPathFactory,
    graph: RandomGraph,
    later: RandomGraph,
    asked: list[ReadIR],
) -> None:
    check_indexes(str(tmp_path_factory.mktemp("lance")), graph, later, asked)


@pytest.mark.slow
@settings(max_examples=400, phases=[Phase.generate])
@given(graph=graphs(), later=graphs(), asked=st.lists(reads(), min_size=8, max_size=12))
def test_indexes_change_no_answer_at_length(
    tmp_path_factory: pytest.TempPathFactory,
    graph: RandomGraph,
    later: RandomGraph,
    asked: list[ReadIR],
) -> None:
    check_indexes(str(tmp_path_factory.mktemp("lance")), graph, later, asked)
