"""Constant cost over a long history: commits and cold reads after 10 and after 10,000 commits.

The history consists of commits that move no table, so the tables stay as they are and only the
number of commits differs. Every cold read runs on a handle of its own, which has read nothing.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import Table
from omnigraph.api.change_pages import PollRequest
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import WriterKind
from omnigraph.history.commits import list_commits
from omnigraph.history.feed import poll
from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.ids import new_ulid
from omnigraph.testing.kit import add, new_engine, open_engine
from omnigraph.versioning.publish import ManifestDraft, Publication, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.session.engine import Engine

SHORT, LONG = 10, 10_000
TURNS = 15
RATIO_MAX = 1.3


def run() -> Iterator[Table]:
    """Measure a short and a long history side by side."""
    with _directory() as home:
        paths = {"short": home / "short", "long": home / "long"}
        for name, path in paths.items():
            engine = new_engine(path)
            add(engine, ["first"])
            _publish_many(engine, LONG if name == "long" else SHORT)
        for name, read in _COLD.items():
            yield _table(name, {each: _cold(path, read) for each, path in paths.items()})
        for level in ("process", "power"):
            writes = {each: _write(path, level) for each, path in paths.items()}
            yield _table(f"insert of one row, {level} level", writes)


def _table(name: str, times: dict[str, float]) -> Table:
    baseline = f"after {SHORT} commits"
    table = Table(name, baseline)
    table.add(baseline, times["short"])
    table.add(f"after {LONG:,} commits", times["long"], aim=RATIO_MAX * times["short"])
    return table


def _publish_many(engine: Engine, count: int) -> None:
    for _ in range(count):
        ref, head = engine.heads.of_branch("main")
        draft = ManifestDraft(new_ulid(), "main", WriterKind.MUTATION)
        wanted = Publication(draft, ref.incarnation, head.commit.ref, head.commit.schema)
        publish(engine.root, engine.heads, wanted)


def _cold(path: Path, read: Callable[[Engine, tuple[str, int]], object]) -> float:
    engine = open_engine(path)
    head = engine.resolver.resolve("main")
    first = engine.root.manifest(head.incarnation, 2).commit
    times = []
    for _ in range(TURNS):
        fresh = open_engine(path, read_only=True)
        started = time.perf_counter()
        read(fresh, (first.id, first.time_micros))
        times.append(time.perf_counter() - started)
    return statistics.median(times)


_COLD: dict[str, Callable[[Engine, tuple[str, int]], object]] = {
    "cold head": lambda engine, _: engine.snapshot(),
    "cold log -n 3": lambda engine, _: list_commits(engine, CommitFilter(limit=3)),
    "cold at(first commit)": lambda engine, first: engine.snapshot(first[0]),
    "cold at(time of the first commit)": lambda engine, first: engine.snapshot(
        f"main@{format_micros(first[1])}"
    ),
    "cold poll from the beginning": lambda engine, _: poll(
        engine, PollRequest("main", start="beginning", commits=3)
    ),
}


def _write(path: Path, level: str) -> float:
    copy = path.with_name(f"{path.name}-{level}")
    shutil.copytree(path, copy)
    stamp = copy / "_graph.json"
    stamp.write_text(stamp.read_text().replace('"process"', f'"{level}"'))
    engine = open_engine(copy)
    times = []
    for number in range(TURNS + 3):
        started = time.perf_counter()
        add(engine, [f"row {number}"])
        times.append(time.perf_counter() - started)
    shutil.rmtree(copy)
    return statistics.median(times[3:])


@contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
