"""``omnigraph policy`` and ``--policy``: the same answers as the facade gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    Cli = Callable[..., Any]

BUNDLE = """\
version: 1
groups: {editors: [ann], readers: [bob]}
protected_branches: [main]
rules:
  - id: editors
    allow: {actors: {group: editors}, actions: [read, change, schema_apply]}
  - id: readers
    allow: {actors: {group: readers}, actions: [read]}
  - id: no-salaries
    deny: {actors: {group: readers}, actions: [read], types: [Salary]}
"""
TESTS = """\
version: 1
cases:
  - {id: bob-reads, actor: bob, action: read, branch: main, expect: allow}
  - {id: bob-changes, actor: bob, action: change, branch: main, expect: deny}
  - {id: bob-pays, actor: bob, action: read, types: [Salary], expect: deny}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team.yaml").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(TESTS, encoding="utf-8")
    (tmp_path / "g.pg").write_text("node Person { name: String @key }", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(cli: Cli) -> Callable[..., tuple[int, str]]:
    def call(*args: str) -> tuple[int, str]:
        found = cli(*args)
        return found.code, found.out + found.err

    return call


def test_validate_counts_and_names_the_place_of_a_mistake(
    here: Path, run: Callable[..., tuple[int, str]]
) -> None:
    assert run("policy", "validate", "team.yaml") == (0, "team.yaml: 3 rules for 2 actors\n")
    code, told = run("policy", "validate", "preset:team", "--json")
    assert (code, json.loads(told)["about"]) == (0, "graph")
    (here / "bad.yaml").write_text(BUNDLE + "tone: server\n", encoding="utf-8")
    code, told = run("policy", "validate", "bad.yaml")
    assert code == 1
    assert "bad.yaml:11:7" in told


def test_test_fails_when_an_answer_is_not_the_expected_one(
    here: Path, run: Callable[..., tuple[int, str]]
) -> None:
    assert run("policy", "test", "team.yaml", "--tests", "tests.yaml") == (
        0,
        "3 passed, 0 failed\n",
    )
    wrong = TESTS.replace("expect: allow", "expect: deny")
    (here / "tests.yaml").write_text(wrong, encoding="utf-8")
    code, told = run("policy", "test", "team.yaml", "--tests", "tests.yaml")
    assert code == 1
    assert told.startswith("bob-reads: expected deny, got allow by rule 'readers'\n")


def test_a_file_without_cases_passes_for_no_test(
    here: Path, run: Callable[..., tuple[int, str]]
) -> None:
    (here / "tests.yaml").write_text("version: 1\ncases: []\n", encoding="utf-8")
    code, told = run("policy", "test", "team.yaml", "--tests", "tests.yaml")
    assert code == 1
    assert "tests.yaml:2:8" in told
    assert "must not be empty" in told


def test_explain_names_the_rule(here: Path, run: Callable[..., tuple[int, str]]) -> None:
    ask = ("policy", "explain", "team.yaml", "--actor", "bob", "--action")
    assert run(*ask, "read", "--branch", "main") == (0, "allow by rule 'readers'\n")
    assert run(*ask, "change", "--branch", "main") == (0, "deny: no rule allows it\n")
    assert run(*ask, "read", "--type", "Salary") == (0, "deny by rule 'no-salaries'\n")
    assert json.loads(run(*ask, "read", "--json")[1])["decision"] == "allow"


def test_verbs_ask_the_policy_that_is_named(
    here: Path, run: Callable[..., tuple[int, str]]
) -> None:
    policy = ("--policy", "team.yaml")
    code, told = run("init", "--schema", "g.pg", "g.omni")
    assert code == 0, told
    add = ("mutate", "--store", "g.omni", "-e", 'query q() { insert Person { name: "x" } }')
    code, told = run(*add, *policy, "--as", "bob")
    assert code == 1
    assert "'bob' may not change on branch 'main'" in told
    assert run(*add, *policy)[0] == 1
    assert run(*add, *policy, "--as", "ann")[0] == 0
    ask = (
        "query",
        "--store",
        "g.omni",
        "-e",
        "query q() { match { $p: Person } return { $p.name } }",
    )
    assert run(*ask, *policy, "--as", "bob")[0] == 0
    assert run(*ask, *policy, "--as", "eve")[0] == 1
    assert run(*ask, *policy)[0] == 1
