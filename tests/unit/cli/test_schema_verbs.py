"""``schema plan`` and ``schema apply``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]


@pytest.fixture
def wanted(tmp_path: Path, schema_file: Path) -> Callable[[str, str], Path]:
    """The schema of the graph with one thing changed."""

    def write(old: str, new: str) -> Path:
        text = schema_file.read_text(encoding="utf-8")
        assert old in text
        path = tmp_path / "wanted.pg"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return path

    return write


def test_a_schema_is_planned_and_applied(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]
) -> None:
    path = wanted("age: I32?", "age: I64?\n    label: String")
    call = ("--schema", path, "--backfill", "Person.label=name", graph_copy)
    planned = cli("schema", "plan", *call)
    assert planned.code == 0
    assert "Person.label: String, name in existing rows" in planned.out
    rehearsed = cli("schema", "apply", *call, "--dry-run")
    assert rehearsed.out.endswith("The data passes all checks; nothing was written.\n")
    done = cli("schema", "apply", *call, "--as", "ada", "--message", "more", "--json")
    assert done.code == 0, done.err
    assert done.err.startswith(f"omnigraph schema apply → {graph_copy} (direct, local)")
    body = json.loads(done.out)
    assert (body["supported"], body["applied"], body["step_count"]) == (True, True, 2)
    assert body["branch"] == "main"
    with omnigraph.open(graph_copy) as graph:
        commit = graph.commits.show(body["commit"]["graph_commit_id"])
        assert (commit.actor, commit.message) == ("ada", "more")
        assert commit.ref.version == body["graph_manifest_version"]
        found = graph.query("query q() { match { $p: Person } return { $p.name, $p.label } }")
        assert all(row["p.name"] == row["p.label"] for row in found.rows())
    again = cli("schema", "apply", *call)
    assert again.out == "No changes.\n"


def test_a_refused_change_shows_the_plan_and_the_way_out(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]
) -> None:
    path = wanted("age: I32?", "age: String?")
    assert cli("schema", "plan", graph_copy, "--schema", path).code == 1
    done = cli("schema", "apply", graph_copy, "--schema", path, "--json")
    assert done.code == 1
    assert json.loads(done.out)["code"] == "schema.refused"
    assert "OG-MF-106" in done.err
    assert "help: declare another property" in done.err


def test_data_that_stands_in_the_way_is_named(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]
) -> None:
    done = cli("schema", "apply", graph_copy, "--schema", wanted("age: I32?", "age: I32"), "--json")
    assert done.code == 1
    body = json.loads(done.out)
    assert body["code"] == "data.required"
    assert {found["id"] for found in body["details"]["violations"]} == {"Charles", "José 東京"}


def test_a_branch_is_named(cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]) -> None:
    path = wanted("age: I32?", "age: I64?")
    done = cli("schema", "apply", graph_copy, "--schema", path, "--branch", "review", "--json")
    assert json.loads(done.out)["branch"] == "review"
    assert "I64" in cli("schema", "show", graph_copy, "--branch", "review").out
    assert "I64" not in cli("schema", "show", graph_copy).out
    missing = cli("schema", "apply", graph_copy, "--schema", path, "--branch", "nobody")
    assert "[branch.missing]" in missing.err


def test_a_lost_condition_has_its_own_exit_code(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]
) -> None:
    path = wanted("age: I32?", "age: I64?")
    done = cli(
        "schema", "apply", graph_copy, "--schema", path, "--if-commit", "01K5T3V9QX8R2M4N6P7S9W0Y1Z"
    )
    assert done.code == 4


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("Person.age", "usage.bad_backfill"),
        ("Person.nobody=name", "schema.backfill_unknown"),
        ("Person.label=1 +", "schema.backfill_expression"),
        ("Person.label=1 + 1", "schema.backfill_value"),
    ],
)
def test_a_bad_backfill_says_why(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path], entry: str, code: str
) -> None:
    path = wanted("age: I32?", "age: I32?\n    label: String?")
    for verb in ("plan", "apply"):
        done = cli("schema", verb, graph_copy, "--schema", path, "--backfill", entry)
        assert done.code != 0
        assert f"[{code}]" in done.err


def test_one_property_is_filled_once(
    cli: Cli, graph_copy: Path, wanted: Callable[[str, str], Path]
) -> None:
    path = wanted("age: I32?", "age: I32?\n    label: String?")
    twice = ("--backfill", "Person.label=name", "--backfill", "Person.label=id")
    done = cli("schema", "plan", graph_copy, "--schema", path, *twice)
    assert "[usage.bad_backfill]" in done.err
