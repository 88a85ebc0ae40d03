"""Schema changes and clones, beside the bare Lance operation or the bare copy of the same run."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from bench.harness import Table
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.api.commits import WriterKind
from omnigraph.catalog.model import ID
from omnigraph.changeset.rows import stored_properties
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.open import clone_graph
from omnigraph.testing.kit import new_engine, open_engine
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.writer.plan import WriteSnapshot

ROWS = 1_000_000
SCHEMA = "node Person {{ name: String @key  age: {age}?  city: String? {more} }}"


class _Fill:
    kind = WriterKind.LOAD
    reprepares = False

    def prepare(self, view: WriteSnapshot) -> PreparedWrite:
        entity = view.snapshot.catalog.nodes[0]
        table = view.snapshot.table(entity.id)
        names = pa.array([f"person {number:08d}" for number in range(ROWS)])
        columns = {
            "name": names,
            ID.name: names,
            "age": pa.array(range(ROWS), pa.int32()),
            "city": pa.array([f"city {number % 100}" for number in range(ROWS)]),
        }
        rows = pa.table([columns[prop.name] for prop in stored_properties(entity)], table.schema)
        return PreparedWrite((TableEffect(entity.id, table.pin, table.stage_append(rows)),))


def run() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as directory:
        template = Path(directory) / "template"
        engine = new_engine(template, schema=SCHEMA.format(age="I32", more=""))
        engine.transactions.run(WriteRequest("main"), _Fill())
        yield _changes(template, Path(directory))
        yield _clones(EmbeddedGraph(engine), template, Path(directory))


def _changes(template: Path, directory: Path) -> Table:
    table = Table(f"change the schema of {ROWS:,} nodes", "Lance: add a computed column")
    table.add("Lance: add a computed column", _timed(lambda: _bare(template, directory)))
    cases = {
        "add an optional property": ("I32", "nick: String?"),
        "drop a property": (None, ""),
        "add a property with a default": ("I32", 'kind: String @default("x")'),
        "widen I32 to I64": ("I64", ""),
        "add @unique on the name": ("I32", "@unique(name)"),
    }
    for name, (age, more) in cases.items():
        text = SCHEMA.format(age=age or "I32", more=more)
        text = text.replace("age: I32?", "") if age is None else text
        table.add(name, _timed(_apply_to_copy(template, directory, text)))
    return table


def _apply_to_copy(template: Path, directory: Path, text: str) -> Callable[[], object]:
    place = directory / "changed"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)

    graph = EmbeddedGraph(open_engine(place))
    return lambda: graph.apply_schema(text)


def _bare(template: Path, directory: Path) -> None:
    place = directory / "bare"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(next((template / "nodes").iterdir()), place)
    load_lance().dataset(str(place)).add_columns({"kind": "'x'"})


def _clones(graph: EmbeddedGraph, template: Path, directory: Path) -> Table:
    table = Table(f"copy a graph of {ROWS:,} nodes", "cp -r")
    table.add("cp -r", _timed(lambda: shutil.copytree(template, directory / "cp")))
    table.add("clone", _timed(lambda: clone_graph(template, directory / "clone")))
    again = lambda: clone_graph(template, directory / "clone", incremental=True)  # noqa: E731
    table.add("clone again, nothing new", _timed(again))
    graph.mutate('query q() { insert Person { name: "new" } }')
    table.add("clone again, one commit", _timed(again))
    return table


def _timed(action: Callable[[], object]) -> float:
    """Once: a schema is changed once."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
