"""Which graph, which target, which actor, which query a command line means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.cli.address import is_local, require_consent
from omnigraph.cli.invocation import Invocation
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
READ = "query q() { match { $p: Person } return { $p.name } }"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--store", "GRAPH", "branch", "list"),
        ("branch", "--store", "GRAPH", "list"),
        ("branch", "list", "--store", "GRAPH"),
        ("branch", "list", "--uri", "GRAPH"),
        ("branch", "list", "GRAPH"),
    ],
)
def test_the_graph_may_be_named_anywhere(
    cli: Cli, prepared_graph: Path, arguments: tuple[str, ...]
) -> None:
    named = [str(prepared_graph) if word == "GRAPH" else word for word in arguments]
    assert json.loads(cli(*named, "--json").out)["branches"] == ["main", "review"]


def test_the_environment_names_the_graph_last(
    cli: Cli, prepared_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_STORE", str(prepared_graph))
    assert cli("status").code == 0
    assert cli("status", "--store", "/nowhere").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot", "a.omni", "--store", "b.omni"),
        ("--store", "a.omni", "snapshot", "--store", "b.omni"),
        ("snapshot", "--store", "a.omni", "--uri", "b.omni"),
    ],
)
def test_two_addresses_are_one_too_many(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        "error [usage.two_addresses] the command line names 2 graphs: a.omni, b.omni",
        "help: name one, as an argument or by --store, --server or --profile",
    ]


def test_no_address_says_how_to_give_one(cli: Cli) -> None:
    outcome = cli("status")
    assert outcome.code == 2
    assert "error [usage.no_address] no graph given" in outcome.err
    assert "help: name one by --store URI or --server URL, or set OMNIGRAPH_STORE" in outcome.err


def test_a_read_has_no_actor(cli: Cli, prepared_graph: Path) -> None:
    outcome = cli("query", "-e", READ, "--store", prepared_graph, "--as", "ada")
    assert outcome.code == 2
    assert "[usage.actor_refused]" in outcome.err


def test_a_write_has_one_actor(cli: Cli, prepared_graph: Path) -> None:
    outcome = cli("--as", "ada", "tag", "create", "t", "--as", "bob", "--store", prepared_graph)
    assert outcome.code == 2
    assert "[usage.two_actors]" in outcome.err


def test_init_takes_its_graph_as_an_argument(cli: Cli, schema_file: Path) -> None:
    outcome = cli("init", "x.omni", "--schema", schema_file, "--store", "y.omni")
    assert outcome.code == 2
    assert "[usage.store_refused] `omnigraph init` does not take --store" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("query",), "usage.no_query"),
        (("query", "-e", READ, "--query", "q.gq"), "usage.two_queries"),
        (("query", "-e", READ, "--branch", "a", "--at", "b"), "usage.two_targets"),
        (("query", "-e", READ, "--params", "{}", "--params-file", "p"), "usage.two_params"),
        (("commit", "list", "--since", "yesterday"), "usage.bad_time"),
        (("query", "-e", READ, "--format", "xml"), "usage.bad"),
        (("log", "-n", "0"), "usage.bad"),
        (("query", "--bogus"), "usage.bad"),
        (("branch", "create"), "usage.bad"),
        (("nonsense",), "usage.bad"),
        (("branch", "nonsense"), "usage.bad"),
        (("--json",), "usage.bad"),
    ],
)
def test_a_wrong_command_line_looks_at_nothing(
    cli: Cli, prepared_graph: Path, arguments: tuple[str, ...], code: str
) -> None:
    outcome = cli("--store", prepared_graph, *arguments)
    assert outcome.code == 2
    assert f"error [{code}]" in outcome.err
    assert "help: " in outcome.err
    told = cli("--store", prepared_graph, *arguments, "--json")
    assert told.code == 2
    assert json.loads(told.out)["code"] == code


def test_a_misspelt_verb_is_recognised(cli: Cli) -> None:
    assert "Did you mean 'query'?" in cli("qurey").err
    assert "Did you mean 'create'?" in cli("branch", "craete").err
    assert "--schema" in cli("init", "x", "--shcema", "y").err


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        ("graphs", {"--server", "--json"}),
        ("policy", {"--json"}),
        ("tag", {"--store", "--server", "--as", "--json"}),
        ("branch", {"--store", "--server", "--as", "--yes", "--json"}),
    ],
)
def test_the_help_of_a_group_shows_what_makes_sense_for_its_verbs(
    cli: Cli, group: str, shown: set[str]
) -> None:
    told = cli(group, "--help").out
    flags = ("--store", "--server", "--as", "--yes", "--json")
    assert {flag for flag in flags if f"  {flag}" in told} == shown


def test_a_group_without_a_verb_shows_its_help(cli: Cli) -> None:
    outcome = cli("branch")
    assert outcome.code == 2
    assert outcome.err.startswith("Usage: omnigraph branch")


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("people.omni", True),
        ("./a b/people.omni", True),
        ("file:///tmp/people.omni", True),
        ("FILE:///tmp/people.omni", True),
        ("s3://bucket/people.omni", False),
        ("memory://people", False),
    ],
)
def test_a_bucket_is_not_local(uri: str, local: bool) -> None:
    assert is_local(uri) is local


def test_destroying_in_a_bucket_needs_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    require_consent(Invocation(), "here.omni", action="deleting")
    require_consent(Invocation(yes=True), "s3://b/g", action="deleting")
    with pytest.raises(InvalidInput, match="cannot be undone"):
        require_consent(Invocation(), "s3://b/g", action="deleting")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: "Yes")
    require_consent(Invocation(), "s3://b/g", action="deleting")
    monkeypatch.setattr("click.prompt", lambda *_, **__: "no")
    with pytest.raises(InvalidInput, match="nothing was changed"):
        require_consent(Invocation(), "s3://b/g", action="deleting")
    with pytest.raises(InvalidInput, match="cannot be undone"):
        require_consent(Invocation(json=True), "s3://b/g", action="deleting")


@pytest.mark.parametrize(
    "asked", [("status",), ("policy", "validate", "x.yaml"), ("lint", "--query", "q.gq")]
)
def test_a_cluster_is_refused_with_what_to_do_instead(cli: Cli, asked: tuple[str, ...]) -> None:
    done = cli(*asked, "--cluster", "somewhere")
    assert done.code == 2
    assert "[usage.no_clusters]" in done.err
    assert "omnigraph serve" in done.err
