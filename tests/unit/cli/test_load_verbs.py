"""Loading and exporting on the command line."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
RECORDS = (
    '{"type": "Person", "data": {"name": "Alan", "age": 41}}\n'
    '{"edge": "Knows", "from": "Alan", "to": "Ada"}\n'
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(RECORDS)
    return path


def test_a_load_is_one_commit(cli: Cli, graph_copy: Path, data: Path) -> None:
    outcome = cli(
        *("load", graph_copy, "--data", data, "--mode", "append", "--as", "ada"),
        *("--message", "more", "--json"),
    )
    body = json.loads(outcome.out)
    assert (body["uri"], body["branch"], body["mode"]) == (str(graph_copy), "main", "append")
    assert body["nodes"] == [{"name": "Person", "entities_loaded": 1}]
    assert body["edges"] == [{"name": "Knows", "entities_loaded": 1}]
    assert (body["total_entities"], body["branch_created"]) == (2, False)
    shown = json.loads(
        cli(
            "commit", "show", body["commit"]["graph_commit_id"], "--store", graph_copy, "--json"
        ).out
    )
    assert (shown["kind"], shown["actor_id"], shown["message"]) == ("load", "ada", "more")


def test_what_was_loaded_is_told_in_a_line(cli: Cli, graph_copy: Path, data: Path) -> None:
    told = cli("load", graph_copy, "--data", data, "--mode", "merge", "--branch", "new",
               "--from", "main")  # fmt: skip
    created, loaded = told.out.splitlines()
    assert created == "created branch new"
    assert loaded.startswith("loaded 1 node, 1 edge (1 Person, 1 Knows) on new: 01")
    assert "omnigraph load" in told.err
    rehearsed = cli("load", graph_copy, "--data", data, "--mode", "merge", "--dry-run")
    assert rehearsed.out == "would load 1 node, 1 edge (1 Person, 1 Knows) on main\n"
    assert rehearsed.err == ""


def test_data_may_come_packed_and_from_stdin(
    cli: Cli, graph_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(RECORDS.encode()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    outcome = cli("load", graph_copy, "--data", "-", "--mode", "append", "--json")
    assert json.loads(outcome.out)["total_entities"] == 2


def test_tables_name_their_type(cli: Cli, graph_copy: Path, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,age\nAlan,41\nKurt,\n")
    missing = cli("load", graph_copy, "--data", path, "--mode", "merge")
    assert (missing.code, "--type" in missing.err) == (1, True)
    done = cli("load", graph_copy, "--data", path, "--mode", "merge", "--type", "Person")
    assert done.out.startswith("loaded 2 nodes, 0 edges (2 Person) on main")


def test_violations_are_listed(cli: Cli, graph_copy: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"type": "Person", "data": {"name": 1}}\n{"type": "Nobody"}\n')
    told = cli("load", graph_copy, "--data", path, "--mode", "append")
    assert told.code == 1
    assert f"record 1 ({path}, line 1): Person.name: 1 is not a string [type]" in told.err
    as_json = cli("load", graph_copy, "--data", path, "--mode", "append", "--json")
    body = json.loads(as_json.out or as_json.err)
    assert body["details"]["counts"] == {"type": 1, "unknown_type": 1}


@pytest.mark.parametrize(
    "arguments", [("--mode", "append"), ("--data", "x"), ("--data", "x", "--mode", "replace")]
)
def test_what_must_be_said_is_asked_for(
    cli: Cli, graph_copy: Path, arguments: tuple[str, ...]
) -> None:
    assert cli("load", graph_copy, *arguments).code != 0


def test_an_export_is_what_can_be_loaded(cli: Cli, graph_copy: Path, tmp_path: Path) -> None:
    lines = cli("export", graph_copy).out
    assert [json.loads(line).get("type") for line in lines.splitlines()] == ["Person"] * 3 + [None]
    path = tmp_path / "out.jsonl"
    told = cli("export", graph_copy, "--out", path)
    assert told.out == f"exported 3 nodes, 1 edge of main to {path}\n"
    assert path.read_text() == lines
    again = cli("load", graph_copy, "--data", path, "--mode", "merge", "--json")
    assert json.loads(again.out)["total_entities"] == 4
    assert cli("export", graph_copy).out == lines


def test_some_types_of_some_target_in_some_format(
    cli: Cli, graph_copy: Path, tmp_path: Path
) -> None:
    csv = cli("export", graph_copy, "--type", "Person", "--format", "csv", "--branch", "review")
    assert csv.out.splitlines()[0] == '"name","born","age"'
    assert len(csv.out.splitlines()) == 5
    folder = tmp_path / "tables"
    body = json.loads(
        cli(
            "export", graph_copy, "--format", "parquet", "--out", folder, "--at", "v1", "--json"
        ).out
    )
    assert sorted(path.name for path in folder.iterdir()) == ["Knows.parquet", "Person.parquet"]
    assert (body["out"], body["total_entities"]) == (str(folder), 4)


def test_json_and_the_data_do_not_mix(cli: Cli, graph_copy: Path) -> None:
    outcome = cli("export", graph_copy, "--json")
    assert outcome.code != 0
    assert "--out" in outcome.err + outcome.out
    assert cli("export", graph_copy, "--format", "csv").code != 0
