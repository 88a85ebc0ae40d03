"""The command line in this process, on a small graph that is made once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.program import run

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
    age: I32?
}

edge Knows: Person -> Person {
    since: I32?
}
"""

PEOPLE = """\
query people() {
    insert Person { name: "Ada", born: date("1815-12-10"), age: 36 }
    insert Person { name: "Charles" }
    insert Person { name: "José 東京" }
    insert Knows { from: "Ada", to: "Charles", since: 1833 }
}
"""


@dataclass(frozen=True)
class Outcome:
    """What one command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def operator_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An environment that says nothing, and where the operator's files would be."""
    for name in [*os.environ]:
        if name.startswith("OMNIGRAPH_") or name == "COLUMNS":
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("operator")
    monkeypatch.setenv("OMNIGRAPH_HOME", str(home))
    return home


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line as ``run`` would; outputs are caught."""

    def call(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def prepared_graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A graph with one mutation on main and one on the branch ``review``; never write to it."""
    place = tmp_path_factory.mktemp("cli") / "people.omni"
    with omnigraph.init(place, SCHEMA, durability="process", actor="ada") as graph:
        graph.mutate(PEOPLE, message="first people")
        graph.branches.create("review")
        graph.tags.create("v1")
        graph.mutate('query q() { insert Person { name: "Grace" } }', branch="review", actor="bob")
    yield place


@pytest.fixture
def graph_copy(prepared_graph: Path, tmp_path: Path) -> Path:
    """A copy of the prepared graph to write to."""
    return Path(shutil.copytree(prepared_graph, tmp_path / "copy.omni"))


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "people.pg"
    path.write_text(SCHEMA, encoding="utf-8")
    return path
