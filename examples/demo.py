"""The story so far, on a fresh graph in a temporary directory: `make demo`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import omnigraph
from omnigraph import pipeline
from omnigraph.api.wire_values import to_wire
from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.source import print_catalog
from omnigraph.cli.commits import History, draw_commits, names_by_commit, walk_ancestors
from omnigraph.cli.render import block, page_of, table
from omnigraph.compiler import compile_source
from omnigraph.errors import GraphError
from omnigraph.ir.printer import print_ir
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph import Graph
    from omnigraph.api.results import QueryResult

HERE = Path(__file__).parent / "demo"
SCHEMA = HERE / "missions.pg"
QUERIES = (HERE / "missions.gq").read_text(encoding="utf-8")
WRONG = (HERE / "wrong.gq").read_text(encoding="utf-8")

ASTEROIDS = 100_000
CASSINI = {
    "agency": "nasa",
    "mission": "Cassini",
    "launched": "1997-10-15",
    "world": "Saturn",
    "arrived": "2004-07-01",
}
BEPICOLOMBO = {
    "agency": "esa",
    "mission": "BepiColombo",
    "launched": "2018-10-20",
    "world": "Mercury",
    "arrived": "2026-11-21",
}


def main() -> None:
    began = perf_counter()
    compile_texts()
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as place:
        uri = Path(place) / "missions.omni"
        with omnigraph.init(uri, SCHEMA, actor="ada") as graph:
            first = write_and_read(graph)
            work_on_a_branch(graph, first)
            look_back(graph, first)
        with omnigraph.open(uri, actor="ada") as graph:
            load_on_spark(graph, Path(place))
        with omnigraph.open(uri, read_only=True) as graph:
            check_up(graph)
    say(f"\nThat took {perf_counter() - began:.1f} s.")


def compile_texts() -> None:
    title("1. A schema becomes a catalog")
    source = Source(SCHEMA.read_text(encoding="utf-8"), SCHEMA.name)
    catalog = build_catalog(parse_schema(source), source)
    say(print_catalog(catalog))
    title("2. A query becomes a typed plan")
    say(print_ir(compile_source(catalog, QUERIES, "visits"), catalog))
    title("3. A wrong query says where, what, and what to do")
    expect_failure(lambda: compile_source(catalog, WRONG, source_name="wrong.gq"))


def write_and_read(graph: Graph) -> str:
    title("4. A graph, and its first commit")
    done = graph.mutate(QUERIES, name="first_flights", message="the first flights")
    counts = f"{done.affected_nodes} nodes and {done.affected_edges} edges"
    say(f"{counts} in one commit by {done.actor}.\n\nWhere have they been?")
    show(graph.query(QUERIES, name="visits"))
    say("\nWho has seen most?")
    show(graph.query(QUERIES, name="busiest"))
    return str(done.commit.id) if done.commit else ""


def work_on_a_branch(graph: Graph, first: str) -> None:
    title("5. A branch of the whole graph")
    graph.branches.create("cassini")
    graph.mutate(
        QUERIES,
        CASSINI,
        name="add_visit",
        branch="cassini",
        actor="grace",
        message="Cassini at Saturn",
    )
    say("Planets, on the branch:")
    show(graph.at("cassini").query(QUERIES, {"kind": "planet"}, name="visits"))
    say("\nPlanets, on main, which nobody has touched:")
    show(graph.query(QUERIES, {"kind": "planet"}, name="visits"))
    say("\nA write may insist on the commit that it was prepared on, and is told who came first:")
    expect_failure(
        lambda: graph.mutate(QUERIES, CASSINI, name="add_visit", branch="cassini", if_commit=first)
    )


def look_back(graph: Graph, first: str) -> None:
    title("6. The past")
    say("An edge needs both its ends, or nothing is written:")
    expect_failure(lambda: graph.mutate(QUERIES, BEPICOLOMBO, name="add_visit"))
    graph.mutate(
        'query mercury() { insert World { name: "Mercury", kind: "planet" } }',
        message="one more world",
    )
    graph.mutate(QUERIES, BEPICOLOMBO, name="add_visit", message="on its way")
    graph.tags.create("first-flights", at=first)
    say("\nAll branches, newest first:\n")
    heads = [info.head.commit for info in graph.branches.list()]
    log = History(graph, shows_all=False)
    say_all(draw_commits(log, walk_ancestors(log, heads, 100), names_by_commit(log)))
    for target in ("main", first, "first-flights"):
        say(f"Missions at {target}:")
        show(graph.at(target).query(QUERIES, name="busiest"))
        say("")


def load_on_spark(graph: Graph, place: Path) -> None:
    title("7. Very many entities, by Spark: executors stage, the driver publishes once")
    with (place / "asteroids.ndjson").open("w", encoding="utf-8") as file:
        for number in range(ASTEROIDS):
            data = {"name": f"2026 A{number}", "kind": "asteroid"}
            print(json.dumps({"type": "World", "data": data}), file=file)
    loaded = pipeline.load(
        graph,
        place / "asteroids.ndjson",
        mode="append",
        message="asteroids",
        engine="spark",
        spark=pipeline.SparkOptions(master="local[2]"),
    ).to_json()
    landed = loaded["commit"]["graph_commit_id"]
    say(f"{loaded['total_entities']:,} entities in one commit, {landed}:")
    took = [[stage["stage"], f"{stage['rows']:,}", stage["seconds"]] for stage in loaded["stages"]]
    say_all(table(["stage", "rows", "seconds"], took, page_of(sys.stdout)))
    say("\nWorlds by kind:")
    show(graph.query(QUERIES, name="kinds"))


def check_up(graph: Graph) -> None:
    title("8. Opened again: nothing to repair")
    status = graph.status()
    say_all(
        block(
            [
                ("format", status.internal_schema_version),
                ("durability", status.durability),
                ("branches", status.branches),
                ("tags", status.tags),
                ("nodes", status.nodes),
                ("edges", status.edges),
                ("recovered writes", len(graph.recoveries.list())),
                ("unfinished writes", len(status.pending)),
            ],
            page_of(sys.stdout),
        )
    )


def expect_failure(action: Callable[[], object]) -> None:
    try:
        action()
    except GraphError as error:
        # Findings in a text carry their codes with them.
        say(error.message if "diagnostics" in error.details else str(error))
    else:
        raise SystemExit("the demo expected this to fail")


def show(result: QueryResult) -> None:
    rows = [[to_wire(value) for value in row.values()] for row in result]
    say_all(table([column.name for column in result.columns], rows, page_of(sys.stdout)))


def title(text: str) -> None:
    say(f"\n{text}\n{'=' * len(text)}\n")


def say_all(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)


def say(text: str) -> None:
    print(text)  # noqa: T201 - a demo talks


if __name__ == "__main__":
    main()
