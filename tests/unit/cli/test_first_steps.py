"""Verbs for whoever begins: new, schema infer, doctor, completion."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli import machine_checks as checkup

Cli = Callable[..., Any]


def test_a_new_project_loads_and_answers(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("new", "start").code == 0
    monkeypatch.chdir(tmp_path / "start")
    assert cli("fmt", "--check", "schema.pg", "queries.gq").code == 0
    assert cli("lint", "--query", "queries.gq", "--schema", "schema.pg").code == 0
    assert cli("init", "graph.omni", "--schema", "schema.pg", "--durability", "process").code == 0
    assert cli("load", "graph.omni", "--data", "data.jsonl", "--mode", "merge").code == 0
    ask = ("query", "--query", "queries.gq", "--store", "graph.omni", "--format", "csv")
    told = cli(*ask, "team", "--params", '{"project": "engine"}')
    assert told.out.splitlines() == ["name,role", "Ada Lovelace,member", "Charles Babbage,lead"]
    told = cli(*ask, "friends_of_friends", "--params", '{"slug": "ada"}')
    assert told.out.splitlines() == ["name", "Charles Babbage"]


def test_every_query_of_the_starter_is_named_in_its_readme(cli: Cli, tmp_path: Path) -> None:
    assert cli("new", tmp_path / "start").code == 0
    readme = (tmp_path / "start" / "README.md").read_text(encoding="utf-8")
    assert all(name in readme for name in ("query people", "query team", "mutate add_person"))


def test_a_directory_that_holds_something_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    outcome = cli("new", tmp_path)
    assert (outcome.code, "[file.exists]" in outcome.err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_drafted_schema_takes_the_data_that_it_was_drafted_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(
        "slug,name,born,age,score,ok,zip\n"
        "ada,Ada,1815-12-10,36,1.5,true,00123\nbo,Bo,,7,2,false,10115\n",
        encoding="utf-8",
    )
    Path("knows.csv").write_text("from,to,since\nada,bo,2020-01-01T10:00:00Z\n", encoding="utf-8")
    assert cli("schema", "infer", "people.csv", "knows.csv", "--out", "draft.pg").code == 0
    drafted = Path("draft.pg").read_text(encoding="utf-8")
    assert "    slug: String @key\n    name: String\n    born: Date?\n    age: I64\n" in drafted
    assert "    score: F64\n    ok: Bool\n    zip: String\n" in drafted
    assert "edge Knows: People -> People {\n    since: DateTime\n}" in drafted
    again = cli("schema", "infer", "people.csv", "--out", "draft.pg")
    assert "[file.exists]" in again.err
    cli("init", "g.omni", "--schema", "draft.pg", "--durability", "process")
    for file, name in (("people.csv", "People"), ("knows.csv", "Knows")):
        done = cli("load", "g.omni", "--data", file, "--type", name, "--mode", "append")
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("text", "code"),
    [("[1]", "infer.not_object"), ("{oops", "infer.bad_json"), ("", "infer.no_rows")],
)
def test_what_cannot_be_read_is_told(cli: Cli, tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text, encoding="utf-8")
    outcome = cli("schema", "infer", file)
    assert (outcome.code, f"[{code}]" in outcome.err) == (1, True)


def test_doctor_looks_at_machine_place_and_graph(cli: Cli, prepared_graph: Path) -> None:
    told = cli("doctor", prepared_graph, "--json")
    found = {each["check"]: each for each in json.loads(told.out)["findings"]}
    assert {"python", "pylance", "java", "hard links", "sync", "disk", "graph"} <= found.keys()
    assert found["graph"]["told"] == "3 nodes, 1 edges"
    assert told.code == 0
    assert not [path for path in prepared_graph.iterdir() if "doctor" in path.name]


def test_doctor_finds_what_is_bad(
    cli: Cli, operator_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    monkeypatch.chdir(tmp_path)
    (operator_home / "config.yaml").write_text("defaults: {server: a, store: b}", encoding="utf-8")
    (operator_home / "credentials").write_text("", encoding="utf-8")
    (operator_home / "credentials").chmod(0o644)
    found = {
        each.check: each for each in (*checkup.check_machine(), *checkup.check_directory(tmp_path))
    }
    bad = {name for name, each in found.items() if each.state is checkup.CheckState.BAD}
    assert bad == {"configuration", "credentials", "hard links"}
    assert all(found[name].remedy for name in bad)


def test_doctor_says_that_there_is_no_graph(cli: Cli, tmp_path: Path) -> None:
    told = cli("doctor", tmp_path / "none.omni")
    assert told.code == 1
    assert "there is no graph at" in told.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(cli: Cli, shell: str) -> None:
    told = cli("completion", shell)
    assert told.code == 0
    assert "_OMNIGRAPH_COMPLETE" in told.out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("mut", "mutate"),
        ("branch cr", "create"),
        ("load --mo", "--mode"),
        ("load --mode m", "merge"),
    ],
)
def test_verbs_flags_and_choices_are_completed(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    found: str,
) -> None:
    monkeypatch.setenv("_OMNIGRAPH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"omnigraph {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    with pytest.raises(SystemExit):
        cli()
    assert capsys.readouterr().out.splitlines() == [f"plain,{found}"]
