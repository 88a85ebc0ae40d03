"""Version control: differences, merges and branches, beside bare Lance and beside git."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.harness import Table, median_of
from omnigraph.api.commits import WriterKind
from omnigraph.catalog.model import ID, stored_properties
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.integrity.lookup import locate
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.lru_cache import LruCache
from omnigraph.testing.histories import branch_off
from omnigraph.testing.kit import new_engine
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import WriteSnapshot

ROWS = 1_000_000
CHANGED = 10_000
FEW = 100
ROUNDS = 7
BRANCHES = 25
SCHEMA = """
node Person { name: String @key  age: I64?  city: String? }
node Place { name: String @key }
edge Knows: Person -> Person { since: I64? }
"""
# The size M of the shared workloads.
PEOPLE, FRIENDSHIPS = 100_000, 2_000_000


def run(part: str | None = None) -> Iterator[Table]:
    """All parts, or one of them: ``million`` or ``branches``."""
    if part not in (None, "million", "branches"):
        raise SystemExit(f"no part {part!r} of versioning; there are million, branches")
    home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        if part != "branches":
            engine = _million(home / "million")
            yield _differences(engine, home)
            yield _merges(engine, home)
        if part != "million":
            yield _branches(home)
    finally:
        shutil.rmtree(home)


# --- one table of a million ----------------------------------------------------------------------


class _Append:
    """Appends columns to one type."""

    kind = WriterKind.LOAD
    reprepares = False

    def __init__(self, type_name: str, columns: dict[str, pa.Array]) -> None:
        self._name = type_name
        self._columns = columns

    def prepare(self, view: WriteSnapshot) -> PreparedWrite:
        entity = view.snapshot.catalog.entity(self._name)
        assert entity is not None
        table = view.snapshot.table(entity.id)
        rows = pa.table([self._columns[p.name] for p in stored_properties(entity)], table.schema)
        return PreparedWrite((TableEffect(entity.id, table.pin, table.stage_append(rows)),))


class _Age:
    """Gives some people another age."""

    kind = WriterKind.MUTATION
    reprepares = False

    def __init__(self, names: list[str], age: int) -> None:
        self._names = pa.array(names)
        self._age = age

    def prepare(self, view: WriteSnapshot) -> PreparedWrite:
        entity = view.snapshot.catalog.nodes[0]
        table = view.snapshot.table(entity.id)
        rows = table.scan()
        rows = rows.filter(pc.is_in(rows.column(ID.column), value_set=self._names))
        found = locate(table, rows.column(ID.column))
        at = pc.index_in(found.column(ID.column), value_set=rows.column(ID.column).combine_chunks())
        column = entity.by_name["age"].column
        place = rows.schema.get_field_index(column)
        ages = pa.array(np.full(rows.num_rows, self._age))
        changed = rows.set_column(place, rows.schema.field(place), ages).take(at)
        addresses = found.column(ROW_ADDRESS).to_numpy()
        staged = table.stage_change(replace=(addresses, changed))
        assert staged is not None
        return PreparedWrite((TableEffect(entity.id, table.pin, staged),))


def _million(home: Path) -> Engine:
    engine = new_engine(home, schema=SCHEMA)
    engine.transactions.run(WriteRequest("main"), _Append("Person", _people(ROWS)))
    return engine


def _people(number: int) -> dict[str, pa.Array]:
    names = pa.array([f"person {n:08d}" for n in range(number)])
    return {
        "id": names,
        "name": names,
        "age": pa.array(np.arange(number) % 90),
        "city": pa.array([f"city {n % 100}" for n in range(number)]),
    }


def _some(number: int, seed: int) -> list[str]:
    chosen = np.random.default_rng(seed).choice(ROWS, number, replace=False)
    return [f"person {n:08d}" for n in np.sort(chosen)]


def _indexed_copy(engine: Engine, home: Path) -> Any:
    """The same rows in a bare Lance dataset with an index on the id."""
    person = engine.snapshot().catalog.nodes[0]
    rows = engine.snapshot().table(person.id).scan()
    bare: Any = lance.write_dataset(rows, str(home), enable_stable_row_ids=True)
    bare.create_scalar_index("id", "BTREE")
    return bare


# --- differences ---------------------------------------------------------------------------------


def _differences(engine: Engine, home: Path) -> Table:
    bare = _indexed_copy(engine, home / "read")
    wanted = pa.array(_some(FEW, 1))
    before = engine.snapshot().commit_id
    engine.transactions.run(WriteRequest("main"), _Age(_some(FEW, 1), 200))
    few = engine.snapshot().commit_id
    engine.transactions.run(WriteRequest("main"), _Age(_some(CHANGED, 2), 201))
    graph = EmbeddedGraph(engine)

    def differ(one: str, other: str) -> int:
        # What was found before would be remembered.
        engine.compared = LruCache(1)
        return len(list(graph.diff(one, other)))

    assert differ(before, few) == FEW
    table = Table(f"what differs in {ROWS:,} nodes", f"Lance: read {FEW} rows by index")
    baseline = median_of(lambda: bare.to_table(filter=pc.field("id").isin(wanted)))
    table.add(table.baseline, baseline)
    table.add(f"diff of {FEW} rows", median_of(lambda: differ(before, few)), aim=5 * baseline)
    table.add(f"diff of {CHANGED:,} rows", median_of(lambda: differ(few, "main")))
    table.add("diff of equal targets", median_of(lambda: differ("main", "main")))
    summary = median_of(lambda: graph.diff(before, few, kinds=["edge"]).summary())
    table.add("summary of types that did not change", summary)
    graph.branches.reset("main", to=before)
    return table


# --- merges --------------------------------------------------------------------------------------


def _merges(engine: Engine, home: Path) -> Table:
    branch_off(engine, "many")
    names = _some(CHANGED, 3)
    engine.transactions.run(WriteRequest("many"), _Age(names, 300))
    branch_off(engine, "apart")
    engine.transactions.run(WriteRequest("apart"), _Age(_some(10, 4), 400))
    branch_off(engine, "elsewhere")
    EmbeddedGraph(engine).mutate('query q() { insert Place { name: "x" } }', branch="elsewhere")
    bare = _Upserts(engine, home / "upsert", names)
    turns = count()

    def merge(base: str, source: str) -> float:
        target = f"target{next(turns)}"
        branch_off(engine, target, base)
        return _seconds(lambda: EmbeddedGraph(engine).merge(source, into=target))

    # In turns, so that both see the same machine.
    upserts, merged = [], []
    for _ in range(ROUNDS):
        upserts.append(_seconds(bare.upsert))
        merged.append(merge("apart", "many"))
    baseline = statistics.median(upserts)
    table = Table(f"merge {CHANGED:,} changed nodes of {ROWS:,}", "Lance: upsert of those rows")
    table.add(table.baseline, baseline)
    table.add("three-way, both sides changed", statistics.median(merged), aim=4 * baseline)
    one_sided = statistics.median(merge("elsewhere", "many") for _ in range(ROUNDS))
    table.add("only theirs changed the type", one_sided)
    forward = statistics.median(merge("main", "many") for _ in range(ROUNDS))
    table.add("fast-forward", forward)
    return table


class _Upserts:
    """The bare upsert of the rows that a branch changed."""

    def __init__(self, engine: Engine, home: Path, names: list[str]) -> None:
        self._dataset = _indexed_copy(engine, home)
        person = engine.snapshot().catalog.nodes[0]
        rows = engine.snapshot("many").table(person.id).scan()
        self._rows = rows.filter(pc.is_in(rows.column(ID.column), value_set=pa.array(names)))

    def upsert(self) -> None:
        upsert = self._dataset.merge_insert("id")
        upsert = upsert.when_matched_update_all().when_not_matched_insert_all()
        transaction, _ = upsert.execute_uncommitted(self._rows)
        # Beside the line of versions, so that every round does the same.
        lance.LanceDataset.commit(self._dataset, transaction, detached=True)


# --- branches beside git -------------------------------------------------------------------------


def _branches(home: Path) -> Table:
    engine = new_engine(home / "social", schema=SCHEMA)
    engine.transactions.run(WriteRequest("main"), _Append("Person", _people(PEOPLE)))
    engine.transactions.run(WriteRequest("main"), _Append("Knows", _friendships()))
    graph, git = EmbeddedGraph(engine), _Git(home / "git")
    # As a graph of this size is kept: its keys are indexed.
    graph.ensure_indices(types=["Person"], force=True)
    bare = _BareWrites(home / "bare")
    steps: dict[str, list[float]] = defaultdict(list)
    # Each in turn by itself, as an application uses it: a process that git starts in between
    # would empty the caches for whatever comes after it.
    for number in range(BRANCHES):
        name = f"b{number}"
        insert = f'query q() {{ insert Person {{ name: "new {number}" }} }}'
        steps["create"].append(_seconds(partial(graph.branches.create, name)))
        steps["write"].append(_seconds(partial(graph.mutate, insert, branch=name)))
        steps["merge"].append(_seconds(partial(graph.merge, name)))
    for number in range(BRANCHES):
        steps["Lance: write"].append(_seconds(partial(bare.write, f"new {number}")))
    for number in range(BRANCHES):
        name = f"b{number}"
        steps["git: create"].append(_seconds(partial(git.create, name)))
        steps["git: write"].append(_seconds(partial(git.write, name)))
        steps["git: merge"].append(_seconds(partial(git.merge, name)))
    title = f"a branch of {PEOPLE:,} nodes and {FRIENDSHIPS:,} edges"
    table = Table(title, "git: create")
    for step, aim in (("create", 5e-3), ("write", 8e-3), ("merge", 15e-3)):
        table.add(f"git: {step}", statistics.median(steps[f"git: {step}"]))
        if step == "write":
            # The least that a checked and published row takes on this machine.
            table.add(_BareWrites.name, statistics.median(steps["Lance: write"]))
        table.add(step, statistics.median(steps[step]), aim=aim)
    return table


class _BareWrites:
    """One row by bare Lance calls: look the key up, append, replace a manifest of three rows."""

    name = "Lance: look up, append, swap"

    def __init__(self, home: Path) -> None:
        rows = pa.table(_people(PEOPLE))
        self._people: Any = lance.write_dataset(rows, str(home / "t"), enable_stable_row_ids=True)
        self._people.create_scalar_index("id", "BTREE")
        self._manifest: Any = lance.write_dataset(
            pa.table({"key": ["a", "b", "c"], "version": [1, 1, 1]}), str(home / "m")
        )
        self._schema = rows.schema

    def write(self, name: str) -> None:
        assert not self._people.to_table(columns=["id"], filter=pc.field("id") == name).num_rows
        row = {"id": name, "name": name, "age": 1, "city": "x"}
        self._people = self._commit(
            self._people,
            lance.LanceOperation.Append,
            pa.Table.from_pylist([row], schema=self._schema),
        )
        pins = pa.table({"key": ["a", "b", "c"], "version": [self._people.version] * 3})
        replace = partial(lance.LanceOperation.Overwrite, self._manifest.schema)
        self._manifest = self._commit(self._manifest, replace, pins)

    @staticmethod
    def _commit(dataset: Any, operation: Callable[[Any], Any], rows: pa.Table) -> Any:
        fragments = lance.fragment.write_fragments(rows, dataset)
        return lance.LanceDataset.commit(
            dataset, operation(fragments), read_version=dataset.version, max_retries=0
        )


def _friendships() -> dict[str, pa.Array]:
    ends = np.random.default_rng(5).integers(0, PEOPLE, (2, FRIENDSHIPS))
    names = _people(PEOPLE)["name"]
    return {
        "id": pa.array([f"k{n}" for n in range(FRIENDSHIPS)]),
        "src": names.take(pa.array(ends[0])),
        "dst": names.take(pa.array(ends[1])),
        "since": pa.array(np.zeros(FRIENDSHIPS, np.int64)),
    }


class _Git:
    """The same graph as lines in files, one file per type."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self._home = home
        self._run("init", "-q", "-b", "main")
        people = (f'{{"name": "person {n:08d}"}}\n' for n in range(PEOPLE))
        (home / "Person.jsonl").write_text("".join(people))
        knows = (f'{{"from": {n % 997}, "to": {n % 991}}}\n' for n in range(FRIENDSHIPS))
        (home / "Knows.jsonl").write_text("".join(knows))
        self._run("add", ".")
        self._run("commit", "-q", "-m", "load")

    def create(self, name: str) -> None:
        self._run("branch", name)

    def write(self, name: str) -> None:
        self._run("checkout", "-q", name)
        with (self._home / "Person.jsonl").open("a") as file:
            file.write(f'{{"name": "new {name}"}}\n')
        self._run("commit", "-q", "-am", "x")

    def merge(self, name: str) -> None:
        self._run("checkout", "-q", "main")
        self._run("merge", "-q", "--no-ff", "-m", "m", name)

    def _run(self, *words: str) -> None:
        who = ("-c", "user.name=b", "-c", "user.email=b@x", "-c", "gc.auto=0")
        command = [shutil.which("git") or "git", *who, *words]
        subprocess.run(command, cwd=self._home, check=True, capture_output=True)


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
