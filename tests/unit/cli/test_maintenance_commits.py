"""The commit that maintenance publishes behind the result of a command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.cli.program import run as main
from omnigraph.graph.open import init_graph
from omnigraph.maintenance.background import UNCOVERED_ROWS_FAR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

SCHEMA = "node Doc { slug: String @key }"
ADD = "query add($s: String) { insert Doc { slug: $s } }"


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command on a graph; the file beside it has enough rows for an index."""
    uri = init_graph(tmp_path / "g.omni", SCHEMA, durability="process").uri
    (tmp_path / "docs.jsonl").write_text(
        "".join(
            f'{{"type": "Doc", "data": {{"slug": "d{n}"}}}}\n' for n in range(UNCOVERED_ROWS_FAR)
        )
    )

    def run(*arguments: str, code: int = 0) -> Any:
        assert main([*arguments, "--store", uri, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def loaded(ask: Ask, tmp_path: Path) -> Any:
    return ask("load", "--data", str(tmp_path / "docs.jsonl"), "--mode", "append")


def id_of(body: Any) -> str:
    """The id of the commit of a write."""
    commit = body["commit"]
    return str(commit["graph_commit_id"] if isinstance(commit, dict) else commit)


def test_the_commit_of_a_write_is_the_condition_of_the_next(ask: Ask, loaded: Any) -> None:
    kinds = [commit["kind"] for commit in ask("commit", "list")["commits"]]
    assert kinds == ["maintenance", "load", "init"]
    condition = ("--if-commit", id_of(loaded))
    again = ask("mutate", "-e", ADD, "--params", '{"s": "x"}', *condition)
    assert again["affected_nodes"] == 1
    ask("mutate", "-e", ADD, "--params", '{"s": "y"}', *condition, code=4)


def test_log_hides_maintenance_unless_all_is_asked_for(ask: Ask, loaded: Any) -> None:
    ask("tag", "create", "v1")
    for drawn in ((), ("--graph",)):
        newest, oldest = ask("log", *drawn)["commits"]
        assert newest["graph_commit_id"] == id_of(loaded)
        assert newest["names"] == ["main", "tag v1"]
        assert oldest["kind"] == "init"
        everything = ask("log", "--all", *drawn)["commits"]
        assert [commit["kind"] for commit in everything] == ["maintenance", "load", "init"]
        assert everything[0]["names"] == ["main", "tag v1"]
    (only,) = ask("log", "-n", "1")["commits"]
    assert only["kind"] == "load"


def test_a_drawing_joins_the_neighbours_of_a_hidden_commit(
    ask: Ask, loaded: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ask("mutate", "-e", ADD, "--params", '{"s": "x"}')
    assert main(["log", "--graph", "--store", str(tmp_path / "g.omni")]) == 0
    drawn = capsys.readouterr().out
    assert "maintenance" not in drawn
    assert drawn.count("\n* ") + drawn.startswith("* ") == 3
