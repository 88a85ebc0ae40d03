"""The command line as a process, on a small graph that is made once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph

OMNIGRAPH = Path(sys.executable).parent / "omnigraph"
SECONDS_MAX = 120

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
}

edge Knows: Person -> Person
"""

PEOPLE = """\
query people() {
    insert Person { name: "Ada", born: date("1815-12-10") }
    insert Person { name: "Charles" }
    insert Person { name: "José 東京" }
    insert Knows { from: "Ada", to: "Charles" }
}
"""

Omnigraph = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of the tests without what would change an outcome."""
    changing = ("OMNIGRAPH_", "COLUMNS", "LC_", "LANG", "PYTHON", "NO_COLOR", "COVERAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    # The process runs the package that the tests have imported, and no operator's configuration.
    home = tmp_path_factory.mktemp("operator")
    source = Path(omnigraph.__file__).parents[1]
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(source),
        "OMNIGRAPH_HOME": str(home),
    }


@pytest.fixture(scope="session")
def omnigraph_command() -> str:
    return str(OMNIGRAPH)


@pytest.fixture(scope="session")
def run_omnigraph(plain_environment: dict[str, str]) -> Omnigraph:
    """Run ``omnigraph`` with arguments; ``env`` adds to the environment."""

    def call(
        *arguments: str | Path, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [OMNIGRAPH, *map(str, arguments)],
            env={**plain_environment, **(env or {})},
            encoding="utf-8",
            timeout=SECONDS_MAX,
            check=False,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
            | options,
        )

    return call


@pytest.fixture(scope="session")
def people_graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A graph with three people on main and four on the branch ``review``; never write to it."""
    place = tmp_path_factory.mktemp("e2e") / "people.omni"
    with omnigraph.init(place, SCHEMA, durability="process", actor="ada") as graph:
        graph.mutate(PEOPLE, message="first people")
        graph.branches.create("review")
        graph.mutate('query q() { insert Person { name: "Grace" } }', branch="review")
    yield place


@pytest.fixture
def people_copy(people_graph: Path, tmp_path: Path) -> Path:
    """A copy of the graph to write to."""
    return Path(shutil.copytree(people_graph, tmp_path / "copy.omni"))


@pytest.fixture
def people_schema(tmp_path: Path) -> Path:
    path = tmp_path / "people.pg"
    path.write_text(SCHEMA, encoding="utf-8")
    return path
