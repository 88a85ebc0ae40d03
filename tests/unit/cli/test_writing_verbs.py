"""Verbs that write."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
ADD = 'query add() { insert Person { name: "Alan" } }'
COUNT = "query n() { match { $p: Person } return { count(*) as n } }"


def people(cli: Cli, graph: Path, branch: str = "main") -> int:
    outcome = cli("query", "-e", COUNT, "--store", graph, "--branch", branch, "--json")
    return int(json.loads(outcome.out)["rows"][0]["n"])


def test_a_mutation_is_one_commit_with_actor_and_message(cli: Cli, graph_copy: Path) -> None:
    outcome = cli(
        "mutate", "-e", ADD, "--store", graph_copy, "--as", "ada", "--message", "one more", "--json"
    )
    body = json.loads(outcome.out)
    assert body["affected_nodes"] == 1
    assert body["actor_id"] == "ada"
    assert outcome.err == ""
    commit = json.loads(
        cli(
            "commit", "show", body["commit"]["graph_commit_id"], "--store", graph_copy, "--json"
        ).out
    )
    assert (commit["actor_id"], commit["message"]) == ("ada", "one more")
    told = cli("mutate", "-e", ADD.replace("Alan", "Kurt"), "--store", graph_copy)
    assert told.out.startswith("add changed 1 node, 0 edges on main: 01")
    assert people(cli, graph_copy) == 5


def test_a_mutation_on_a_branch_leaves_main_alone(cli: Cli, graph_copy: Path) -> None:
    assert cli("mutate", "-e", ADD, "--store", graph_copy, "--branch", "review").code == 0
    assert people(cli, graph_copy) == 3
    assert people(cli, graph_copy, "review") == 5


def test_a_dry_run_counts_and_writes_nothing(cli: Cli, graph_copy: Path) -> None:
    outcome = cli("mutate", "-e", ADD, "--store", graph_copy, "--dry-run")
    assert outcome.out == "add would change 1 node, 0 edges on main\n"
    assert people(cli, graph_copy) == 3


def test_nothing_changed_is_no_commit(cli: Cli, graph_copy: Path) -> None:
    nobody = 'query none() { delete Person where name = "nobody" }'
    outcome = cli("mutate", "-e", nobody, "--store", graph_copy, "--json")
    assert json.loads(outcome.out)["commit"] is None
    told = cli("mutate", "-e", nobody, "--store", graph_copy)
    assert told.out == "none changed nothing on main\n"


def test_a_lost_precondition_is_exit_code_4(cli: Cli, graph_copy: Path) -> None:
    head = json.loads(cli("status", graph_copy, "--json").out)["head"]
    won = cli("mutate", "-e", ADD, "--store", graph_copy, "--if-commit", head.lower(), "--json")
    assert won.code == 0
    lost = cli("mutate", "-e", ADD, "--store", graph_copy, "--if-commit", head, "--json")
    assert lost.code == 4
    body = json.loads(lost.out)
    assert body["code"] == "commit.precondition"
    now = json.loads(won.out)["commit"]["graph_commit_id"]
    assert body["precondition_failure"] == {"expected": head, "actual": now}


def test_a_repeated_request_has_no_second_effect(cli: Cli, graph_copy: Path) -> None:
    first, second = (
        json.loads(
            cli("mutate", "-e", ADD, "--store", graph_copy, "--idempotency-key", "k", "--json").out
        )
        for _ in range(2)
    )
    assert first["commit"] == second["commit"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("mutate", "-e", COUNT), "query.reads"),
        (("mutate", "-e", ADD, "--branch", "nowhere"), "branch.missing"),
        (("branch", "create", "review"), "branch.exists"),
        (("branch", "create", "bad..name"), "branch.bad_name"),
        (("branch", "create", "x", "--from", "nowhere"), "target.missing"),
        (("branch", "delete", "main"), "branch.main"),
        (("branch", "delete", "nowhere"), "branch.missing"),
        (("tag", "create", "v1"), "tag.exists"),
        (("tag", "delete", "nowhere"), "tag.missing"),
    ],
)
def test_a_refused_write_says_why(
    cli: Cli, graph_copy: Path, arguments: tuple[str, ...], code: str
) -> None:
    outcome = cli(*arguments, "--store", graph_copy)
    assert outcome.code == 1
    assert f"error [{code}]" in outcome.err


def test_branches_come_and_go(cli: Cli, graph_copy: Path) -> None:
    made = cli("branch", "create", "fix/a", "--from", "review", "--store", graph_copy)
    assert made.code == 0
    assert made.err == f"omnigraph branch create → {graph_copy} (direct, local)\n"
    assert made.out.startswith("created branch fix/a from review at 01")
    body = json.loads(
        cli("branch", "create", "b", "--store", graph_copy, "--as", "ada", "--json", "--quiet").out
    )
    assert (body["name"], body["from"], body["actor_id"]) == ("b", "main", "ada")
    refused = cli("branch", "delete", "review", "--store", graph_copy, "--quiet")
    assert "[branch.has_children]" in refused.err
    assert cli("branch", "delete", "review", "--force", "--store", graph_copy).code == 0
    quiet = cli("branch", "delete", "b", "--store", graph_copy, "--quiet", "--json")
    assert quiet.err == ""
    assert json.loads(quiet.out)["name"] == "b"
    left = json.loads(cli("branch", "list", graph_copy, "--json").out)["branches"]
    assert left == ["fix/a", "main"]


def test_tags_come_and_go(cli: Cli, graph_copy: Path) -> None:
    made = cli("tag", "create", "t2", "--at", "review", "--store", graph_copy, "--as", "ada")
    assert made.out.endswith(" as t2\n")
    listed = json.loads(cli("tag", "list", graph_copy, "--json").out)["tags"]
    assert [(tag["name"], tag["actor_id"]) for tag in listed] == [("t2", "ada"), ("v1", "ada")]
    assert cli("tag", "delete", "t2", "--store", graph_copy).out == "deleted tag t2\n"


def test_init_makes_a_graph_and_never_touches_one(
    cli: Cli, schema_file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "new.omni"
    made = cli("init", place, "--schema", schema_file, "--durability", "process", "--as", "ada")
    assert made.out == f"initialized {place}\n"
    status = json.loads(cli("status", place, "--json").out)
    assert status["durability"] == "process"
    again = cli("init", place, "--schema", schema_file, "--force", "--json")
    assert again.code == 1
    assert json.loads(again.out)["code"] == "graph.exists"
    assert json.loads(cli("status", place, "--json").out) == status


def test_init_checks_the_schema_first(cli: Cli, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pg"
    wrong.write_text("edge Knows: Person -> Person", encoding="utf-8")
    place = tmp_path / "new.omni"
    outcome = cli("init", place, "--schema", wrong)
    assert outcome.code == 1
    assert outcome.err.startswith(f"{wrong}:1:13: error [")
    assert cli("init", place, "--schema", tmp_path / "none.pg").code == 1
    assert not place.exists()


def test_an_unreadable_intent_is_told_and_blocks_nobody(cli: Cli, graph_copy: Path) -> None:
    intents = graph_copy / "__recovery"
    intents.mkdir(exist_ok=True)
    (intents / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json").write_text('{"format": 99}', encoding="utf-8")
    outcome = cli("mutate", "-e", ADD, "--store", graph_copy)
    assert outcome.code == 0
    assert "warning: intent 01ARZ3NDEKTSV4RRFFQ69G5FAV is unreadable" in outcome.err
    status = cli("status", graph_copy)
    assert "unfinished writes  1" in status.out
    assert "01ARZ3NDEKTSV4RRFFQ69G5FAV" in cli("recovery", "list", graph_copy).out


def test_formatting_changes_files_in_place_and_keeps_comments(cli: Cli, tmp_path: Path) -> None:
    schema, queries = tmp_path / "s.pg", tmp_path / "q.gq"
    schema.write_text("// people\nnode Person{name:String @key // who\n}", encoding="utf-8")
    queries.write_text(f"// count them\n{COUNT}", encoding="utf-8")
    schema.chmod(0o600)
    checked = cli("fmt", "--check", schema, queries)
    assert checked.code == 1
    assert f"would format {schema}" in checked.out
    done = cli("fmt", schema, queries, "--json")
    assert json.loads(done.out)["files"] == [
        {"file": str(schema), "changed": True},
        {"file": str(queries), "changed": True},
    ]
    assert schema.read_text(encoding="utf-8") == (
        "// people\nnode Person {\n    name: String @key // who\n}\n"
    )
    assert schema.stat().st_mode & 0o777 == 0o600
    assert queries.read_text(encoding="utf-8").startswith("// count them\nquery n() {\n")
    assert cli("fmt", "--check", schema, queries).code == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node A{x:String@key}", "node A {\n    x: String @key\n}\n"),
        ("// all\nquery n(){match{$a:A}return{$a.x}}", "// all\nquery n() {\n"),
        ("", ""),
    ],
    ids=["schema", "queries", "nothing"],
)
def test_stdin_is_laid_out_to_stdout(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    def give(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    give(before)
    done = cli("fmt", "-")
    assert (done.code, done.out[: len(after)]) == (0, after)
    give(done.out)
    assert cli("fmt", "-", "--check").code == 0


def test_stdin_is_not_mixed_with_files_and_must_parse(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "[fmt.stdin_and_files]" in cli("fmt", "-", "a.pg").err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"node {")))
    refused = cli("fmt", "-")
    assert (refused.code, refused.out) == (1, "")
    assert "<stdin>:1:6" in refused.err


def test_formatting_changes_all_files_or_none(cli: Cli, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pg", tmp_path / "bad.pg"
    good.write_text("node A{}", encoding="utf-8")
    bad.write_text("node {", encoding="utf-8")
    assert cli("fmt", good, bad).code == 1
    assert good.read_text(encoding="utf-8") == "node A{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.pg", "good.pg"]
    text = tmp_path / "notes.txt"
    text.write_text("", encoding="utf-8")
    assert "[fmt.unknown_language]" in cli("fmt", text).err
    latin = tmp_path / "latin.pg"
    latin.write_bytes(b"// caf\xe9\n")
    assert "[file.not_utf8]" in cli("fmt", latin).err
