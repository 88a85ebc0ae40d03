"""The versioned core: a commit beside the Lance calls that it needs, and what history adds."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

from bench.harness import Table, median_of, put_object
from omnigraph.api.writes import MutationRequest
from omnigraph.mutation.mutate import run_mutation
from omnigraph.testing.contention import write_side_by_side
from omnigraph.testing.kit import SCHEMA, Add, new_engine, open_engine, table_of, wide_schema
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch
from omnigraph.versioning.manifest import encode_manifest
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.session.engine import Engine

ROWS = 10
HISTORIES = (10, 100, 1_000)
TYPES = (1, 50, 200)
_INSERTS = "\n".join(f"    insert Person {{ name: $p{number} }}" for number in range(ROWS))
_PARAMS = ", ".join(f"$p{number}: String" for number in range(ROWS))
MUTATION = f"query add({_PARAMS}) {{\n{_INSERTS}\n}}"


def run() -> Iterator[Table]:
    home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        yield _commit(home)
        yield from _growth(home)
        yield _snapshots(home)
        yield _branches(home)
        yield _side_by_side(home)
    finally:
        shutil.rmtree(home)


# --- one commit ----------------------------------------------------------------------------------


def _commit(home: Path) -> Table:
    """In turns, so that both see the same machine and the same length of history."""
    engine = new_engine(home / "commit")
    bare = _BareCommit(home / "bare", engine)
    writes = _Names()
    mine: list[float] = []
    theirs: list[float] = []
    for turn in range(80):
        names = writes.next()
        theirs.append(_seconds(bare.commit))
        mine.append(_seconds(partial(_add, engine, names)))
        if turn < 5:
            mine.clear()
            theirs.clear()
    baseline = statistics.median(theirs)
    table = Table(f"commit of {ROWS} rows to one table, process level", "the Lance calls alone")
    table.add("the Lance calls alone", baseline)
    table.add("through the engine", statistics.median(mine), aim=2.5 * baseline)
    return table


class _BareCommit:
    """The bare calls of a commit: stage and append the rows, put the manifest as an object."""

    def __init__(self, home: Path, engine: Engine) -> None:
        schema = table_of(engine).schema
        self._rows = _rows(schema)
        self._manifest = encode_manifest(engine.resolver.resolve("main"))
        self._table = _create(home / "table", schema, lance.Session())
        self._home, self._number = home, 0

    def commit(self) -> None:
        rows = write_fragments(self._rows, self._table)
        self._table = LanceDataset.commit(
            self._table,
            LanceOperation.Append(rows),
            read_version=self._table.version,
            max_retries=0,
        )
        self._number += 1
        put_object(self._home / f"{self._number}.json", self._manifest)


def _create(path: Path, schema: Any, session: Any) -> Any:
    LanceDataset.commit(str(path), LanceOperation.Overwrite(schema, []), enable_stable_row_ids=True)
    return lance.dataset(str(path), session=session)


def _rows(schema: pa.Schema) -> pa.Table:
    names = [f"row {number}" for number in range(ROWS)]
    columns = {
        entry.name: names if entry.type == pa.string() else pa.nulls(ROWS, entry.type)
        for entry in schema
    }
    return pa.table(columns, schema=schema)


# --- what history adds ---------------------------------------------------------------------------


@dataclass
class _Stopwatch:
    """Passes calls on to a port and remembers how long each verb took."""

    inner: Any
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self.inner, verb)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return found(*arguments, **named)
            finally:
                self.seconds[verb] += time.perf_counter() - started

        return call


def _growth(home: Path) -> Iterator[Table]:
    """The same mutation after more and more commits, and which part of it grew."""
    path = home / "history"
    engine = new_engine(path, schema=SCHEMA)
    names = _Names()
    tables = {
        level: Table(f"mutation of {ROWS} rows after n commits, {level} level", "after 10 commits")
        for level in ("process", "power")
    }
    done = 0
    for length in HISTORIES:
        while done < length:
            _mutate(engine, names.next())
            done += 1
        for level, table in tables.items():
            copy = home / f"history-{level}-{length}"
            _copy_at_level(path, copy, level)
            _measure(copy, names, table, length)
            shutil.rmtree(copy)
    yield from tables.values()


def _measure(path: Path, names: _Names, table: Table, length: int) -> None:
    watches: list[_Stopwatch] = []

    def watch(port: Any) -> Any:
        watches.append(_Stopwatch(port))
        return watches[-1]

    engine = open_engine(path, wrap_objects=watch, wrap_tables=watch)
    _mutate(engine, names.next())
    for stopwatch in watches:
        stopwatch.seconds.clear()
    turns = 15
    total = statistics.median(_seconds(lambda: _mutate(engine, names.next())) for _ in range(turns))
    table.add(f"after {length} commits", total)
    spent = {verb: took / turns for item in watches for verb, took in item.seconds.items()}
    for verb, took in sorted(spent.items(), key=lambda item: -item[1])[:4]:
        table.add(f"  of which {verb}", took)
    # What is left: compute, look keys up in the table's rows, write the data files.
    table.add("  of which prepared before the tables move", total - sum(spent.values()))
    table.add("  Lance alone: an append to that table", _bare_append(path, engine))


def _bare_append(path: Path, engine: Engine) -> float:
    """What of the growth is Lance's: it lists all versions of a table before it appends to it."""
    table = table_of(engine)
    dataset = lance.dataset(str(path / table.pin.path), session=lance.Session())
    rows = _rows(table.schema)
    took = []
    for _ in range(15):
        started = time.perf_counter()
        appended = LanceOperation.Append(write_fragments(rows, dataset))
        dataset = LanceDataset.commit(
            dataset, appended, read_version=dataset.version, max_retries=0
        )
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def _copy_at_level(path: Path, copy: Path, level: str) -> None:
    shutil.copytree(path, copy)
    stamp = json.loads((copy / layout.STAMP).read_bytes())
    stamp["settings"]["durability"] = level
    (copy / layout.STAMP).write_text(json.dumps(stamp))


# --- snapshots and branches ----------------------------------------------------------------------


def _snapshots(home: Path) -> Table:
    table = Table("a snapshot of main, warm: the head is checked and nothing is read", "1 types")
    for types in TYPES:
        engine = new_engine(home / f"snapshot-{types}", schema=wide_schema(types))
        engine.snapshot()
        table.add(f"{types} types", median_of(engine.snapshot), aim=0.001)
    return table


def _branches(home: Path) -> Table:
    table = Table("create a branch", "1 types")
    first: float | None = None
    for types in TYPES:
        engine = new_engine(home / f"branch-{types}", schema=wide_schema(types))
        source = engine.resolver.resolve("main")
        numbers = iter(range(10_000))

        def create(
            engine: Engine = engine, source: Any = source, numbers: Iterator[int] = numbers
        ) -> None:
            create_branch(engine.root, engine.heads, f"b{next(numbers)}", source)

        took = statistics.median(_seconds(create) for _ in range(40))
        first = first or took
        table.add(f"{types} types", took, aim=1.5 * first)
    return table


# --- many writers --------------------------------------------------------------------------------


def _side_by_side(home: Path) -> Table:
    alone = write_side_by_side(home / "alone", processes=1)
    seen = write_side_by_side(home / "eight", processes=8)
    table = Table(
        f"one row, 8 processes on 8 branches of one table; {seen.at_once:.0%} at the first attempt",
        "one process alone",
    )
    table.add("one process alone", alone.median_seconds)
    table.add("one of eight, median", seen.median_seconds)
    table.add("one of eight, longest", seen.longest_seconds, aim=2.0)
    return table


# --- small things --------------------------------------------------------------------------------


class _Names:
    """Names that were never used."""

    def __init__(self) -> None:
        self._number = 0

    def next(self) -> list[str]:
        self._number += 1
        return [f"n{self._number}-{row}" for row in range(ROWS)]


def _add(engine: Engine, names: list[str]) -> None:
    engine.transactions.run(WriteRequest("main"), Add({"Person": names}))


def _mutate(engine: Engine, names: list[str]) -> None:
    params = {f"p{number}": name for number, name in enumerate(names)}
    run_mutation(engine, MutationRequest(MUTATION, params))


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
