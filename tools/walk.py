"""Count the calls of a query, an insert and a Spark load, hop by hop.

``python tools/walk.py [query|insert|load] [--hops]`` runs the operation on a small graph in a
temporary directory and records every call into the package with ``sys.setprofile``, in all threads
of this process. It prints the number of calls and modules; ``--hops`` also prints the modules in
the order of their first call, each with the functions called there. ARCHITECTURE.md narrates it.
"""

import argparse
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from omnigraph import pipeline
from omnigraph.graph.open import init_graph

PACKAGE = "omnigraph."
SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person
"""
QUERY = """
query friends($name: String) {
    match { $p: Person { name: $name } $p knows $f }
    return { $f.name }
}
"""
INSERT = "query add($name: String) { insert Person { name: $name } }"
# The frames of comprehensions and of class bodies are no calls to a reader.
# A generator that resumes is no call; its first call has a small offset.
_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_START_OFFSET_MAX = 8
_NOT_CALLS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "<module>")


@dataclass
class Walk:
    """The recorded calls: functions by module, in the order of the first call."""

    calls: int = 0
    hops: dict[str, dict[str, int]] = field(default_factory=dict)

    def record(self, frame: FrameType, event: str, _: object) -> None:
        """Record one call; the profile function of a thread."""
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_qualname
        if event != "call" or not module.startswith(PACKAGE) or name.endswith(_NOT_CALLS):
            return
        if frame.f_code.co_flags & _SUSPENDABLE and frame.f_lasti > _START_OFFSET_MAX:
            return
        self.calls += 1
        functions = self.hops.setdefault(module.removeprefix(PACKAGE), {})
        functions[name] = functions.get(name, 0) + 1

    def calls_of(self, dotted: str) -> int:
        """Count the calls of a function, given as ``module.function``."""
        found = 0
        for module, functions in self.hops.items():
            if dotted.startswith(f"{module}."):
                found += functions.get(dotted.removeprefix(f"{module}."), 0)
        return found

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls of this thread and of those that it starts."""
        threading.setprofile(self.record)
        sys.setprofile(self.record)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def report(self, title: str, *, hops: bool) -> str:
        """Format the counts and, on request, the hops."""
        lines = [f"{title}: {self.calls} calls in {len(self.hops)} modules"]
        for module, functions in self.hops.items() if hops else ():
            listed = ", ".join(f"{name} x{count}" for name, count in functions.items())
            lines.append(f"  {module}: {listed}")
        return "\n".join(lines)


def new_graph(directory: Path) -> Any:
    """Create a graph with a few entities."""
    graph = init_graph(directory / "walk.omni", SCHEMA, durability="process")
    people = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(10)]
    knows = [{"edge": "Knows", "from": "p0", "to": f"p{number}"} for number in range(1, 4)]
    graph.load([*people, *knows], mode="append")
    return graph


def walk_query(directory: Path) -> Walk:
    """Walk a query that the caches of the graph already know."""
    graph, walk = new_graph(directory), Walk()
    for name in ("p0", "p1"):
        graph.query(QUERY, {"name": name}).rows()
    with walk.recording():
        graph.query(QUERY, {"name": "p0"}).rows()
    return walk


def walk_insert(directory: Path) -> Walk:
    """Walk an insert of one node into a graph that is open."""
    graph, walk = new_graph(directory), Walk()
    graph.mutate(INSERT, {"name": "first"})
    with walk.recording():
        graph.mutate(INSERT, {"name": "second"})
    return walk


def walk_load(directory: Path) -> Walk:
    """Walk the driver of a load on Spark; executors are other processes."""
    graph, walk = new_graph(directory), Walk()
    spark = pipeline.open_session(pipeline.SparkOptions("local[2]"))
    lines = directory / "people.ndjson"
    lines.write_text('{"type": "Person", "data": {"name": "spark"}}\n', encoding="utf-8")
    with walk.recording():
        pipeline.load(graph, lines, mode="append", spark=spark)
    spark.stop()
    return walk


WALKS: dict[str, Callable[[Path], Walk]] = {
    "query": walk_query,
    "insert": walk_insert,
    "load": walk_load,
}


def main() -> int:
    """Print the chosen walks; the one on Spark only by name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "walks", nargs="*", default=["query", "insert"], metavar="query|insert|load"
    )
    parser.add_argument("--hops", action="store_true", help="print modules and functions")
    options = parser.parse_args()
    for name in options.walks:
        if name not in WALKS:
            parser.error(f"no walk {name!r}; there are {', '.join(WALKS)}")
        with tempfile.TemporaryDirectory() as directory:
            print(WALKS[name](Path(directory)).report(name, hops=options.hops), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
