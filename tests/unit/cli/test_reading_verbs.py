"""Verbs that only read, on one prepared graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.versioning.stamp import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name } }"


@pytest.fixture
def ask(cli: Cli, prepared_graph: Path) -> Callable[..., Any]:
    """The body that a verb answers with ``--json``."""

    def call(*arguments: str | Path) -> Any:
        outcome = cli(*arguments, "--store", prepared_graph, "--json")
        assert outcome.code == 0, outcome.err
        assert outcome.err == ""
        return json.loads(outcome.out)

    return call


@pytest.fixture
def tell(cli: Cli, prepared_graph: Path) -> Callable[..., str]:
    """What a verb tells a person."""

    def call(*arguments: str | Path) -> str:
        outcome = cli(*arguments, "--store", prepared_graph)
        assert outcome.code == 0, outcome.err
        return str(outcome.out)

    return call


def test_status_counts_what_is_there(ask: Cli, tell: Cli, prepared_graph: Path) -> None:
    body = ask("status")
    assert body["uri"] == str(prepared_graph)
    assert (body["nodes"], body["edges"], body["branches"], body["tags"]) == (3, 1, 2, 1)
    assert body["internal_schema_version"] == FORMAT
    assert "nodes              3 in 1 type\n" in tell("status")


def test_snapshot_lists_the_datasets_of_a_target(ask: Cli, tell: Cli) -> None:
    main, review = ask("snapshot"), ask("snapshot", "--branch", "review")
    assert {each["type_name"]: each["entity_count"] for each in main["datasets"]} == {
        "Person": 3,
        "Knows": 1,
    }
    assert review["datasets"][0]["entity_count"] == 4
    assert ask("snapshot", "--at", "v1")["graph_commit_id"] == main["graph_commit_id"]
    assert "node  Person      3" in tell("snapshot")


def test_branches_and_tags_are_listed(ask: Cli, tell: Cli) -> None:
    assert ask("branch", "list")["branches"] == ["main", "review"]
    assert [tag["name"] for tag in ask("tag", "list")["tags"]] == ["v1"]
    assert tell("branch", "list").splitlines()[2].startswith("main ")
    assert tell("tag", "list").splitlines()[2].startswith("v1 ")


def test_commits_are_listed_with_filters_and_pages(ask: Cli, tell: Cli) -> None:
    first, begin = ask("commit", "list")["commits"]
    assert (first["kind"], begin["kind"]) == ("mutation", "init")
    assert first["message"] == "first people"
    assert [c["actor_id"] for c in ask("commit", "list", "--branch", "review")["commits"]] == [
        "bob",
        "ada",
        "ada",
    ]
    assert len(ask("commit", "list", "--kind", "init")["commits"]) == 1
    assert ask("commit", "list", "--actor", "nobody")["commits"] == []
    assert ask("commit", "list", "--since", "2999-01-01")["commits"] == []
    assert ask("commit", "list", "--until", "1999-01-01T00:00:00+02:00")["commits"] == []
    page = ask("commit", "list", "--limit", "1")
    token = page["next_page_token"]
    assert ask("commit", "list", "--limit", "1", "--page-token", token)["commits"] == [begin]
    assert f"more: --page-token {token}" in tell("commit", "list", "--limit", "1")
    assert "+3 nodes, +1 edge" in tell("commit", "list")


def test_one_commit_is_shown_with_what_it_changed(ask: Cli, tell: Cli) -> None:
    commit = ask("commit", "list")["commits"][0]
    assert ask("commit", "show", commit["graph_commit_id"].lower()) == commit
    assert f"commit   {commit['graph_commit_id']}" in tell(
        "commit", "show", commit["graph_commit_id"]
    )
    shown = ask("show", "main")
    assert shown["graph_commit_id"] == commit["graph_commit_id"]
    assert shown["changed_types"] == [
        {"entity_kind": "node", "type_name": "Person", "entities_before": 0, "entities_after": 3},
        {"entity_kind": "edge", "type_name": "Knows", "entities_before": 0, "entities_after": 1},
    ]
    assert len(ask("show", "review")["changed_types"]) == 1
    assert "node  Person       3      4" in tell("show", "review")
    assert ask("show", "main@v1")["kind"] == "init"


def test_log_tells_the_history_of_a_branch(ask: Cli, tell: Cli) -> None:
    assert [c["kind"] for c in ask("log")["commits"]] == ["mutation", "init"]
    assert ask("log", "-n", "1")["commits"][0]["names"] == ["main", "tag v1"]
    assert "(main, tag v1)" in tell("log")
    assert "mutation by bob: +1 node" in tell("log", "--branch", "review")


def test_log_draws_all_branches(ask: Cli, tell: Cli) -> None:
    assert len(ask("log", "--graph")["commits"]) == 3
    lines = tell("log", "--graph").splitlines()
    assert [line[0] for line in lines if line.startswith("*")] == ["*", "*", "*"]
    assert "(review)" in lines[0]
    assert tell("log", "--graph", "--branch", "main").count("* ") == 2


def test_recovery_list_of_a_healthy_graph_is_empty(ask: Cli, tell: Cli) -> None:
    assert ask("recovery", "list") == {"recoveries": [], "pending": []}
    assert tell("recovery", "list") == "no recoveries\n"


def test_a_query_answers_in_every_format(tell: Cli, ask: Cli) -> None:
    assert tell("query", "-e", NAMES).splitlines() == [
        "name",
        "---------",
        "Ada",
        "Charles",
        "José 東京",
        "(3 rows)",
    ]
    assert tell("query", "-e", NAMES, "--format", "kv").splitlines()[:2] == ["-- 1", "name: Ada"]
    assert tell("query", "-e", NAMES, "--format", "csv").splitlines()[0] == "name"
    metadata, *rows = map(json.loads, tell("query", "-e", NAMES, "--format", "jsonl").splitlines())
    assert metadata["kind"] == "metadata"
    assert metadata["row_count"] == len(rows) == 3
    body = ask("query", "-e", NAMES)
    assert body["query_name"] == "names"
    assert body["target"] == {"branch": "main"}
    assert body["rows"] == rows
    assert json.loads(tell("query", "-e", NAMES, "--format", "json")) == body


def test_json_wins_over_a_format(cli: Cli, prepared_graph: Path) -> None:
    outcome = cli("query", "-e", NAMES, "--format", "csv", "--json", "--store", prepared_graph)
    assert json.loads(outcome.out)["row_count"] == 3


def test_a_query_reads_any_target(ask: Cli) -> None:
    assert ask("query", "-e", NAMES, "--branch", "review")["row_count"] == 4
    assert ask("query", "-e", NAMES, "--at", "v1")["row_count"] == 3
    begun = ask("query", "-e", NAMES, "--snapshot", "main@v1")
    assert begun["row_count"] == 0
    assert begun["target"] == {"snapshot": "main@v1"}


def test_a_query_takes_parameters_and_a_name(ask: Cli, tmp_path: Path) -> None:
    queries = tmp_path / "q.gq"
    queries.write_text(
        f"{NAMES}\nquery one($name: String) {{"
        " match { $p: Person { name: $name } } return { $p.age as age } }",
        encoding="utf-8",
    )
    params = tmp_path / "params.json"
    params.write_text('{"name": "Ada"}', encoding="utf-8")
    by_text = ask("query", "one", "--query", queries, "--params", '{"name": "Ada"}')
    by_file = ask("query", "one", "--query", queries, "--params-file", params)
    assert by_text["rows"] == by_file["rows"] == [{"age": 36}]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("query", "-e", "query q("), "Q000"),
        (("query", "-e", NAMES.replace("p.name", "p.nmae")), "T6"),
        (("query", "-e", NAMES, "--branch", "nowhere"), "target.missing"),
        (("query", "-e", NAMES, "--at", "main@never"), "target.bad_time"),
        (("query", "other", "-e", NAMES), "query.missing"),
        (("query", "-e", 'query q() { insert Person { name: "x" } }'), "query.mutates"),
        (("query", "--query", "missing.gq"), "file.unreadable"),
        (("query", "-e", NAMES, "--params", "[1]"), "params.not_object"),
        (("query", "-e", NAMES, "--params", "{"), "params.bad_json"),
        (("query", "-e", NAMES, "--params", '{"x": NaN}'), "params.bad_json"),
        (("commit", "show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), "commit.missing"),
        (("commit", "list", "--kind", "rumour"), "commits.bad_kind"),
        (("commit", "list", "--limit", "0"), "commits.bad_limit"),
        (("commit", "list", "--page-token", "x"), "commits.bad_page_token"),
        (("show", "nowhere"), "target.missing"),
        (("log", "--branch", "nowhere"), "target.missing"),
        (("snapshot", "--at", "main@v99"), "target.version_missing"),
        (("schema", "plan", "--schema", "missing.pg"), "file.unreadable"),
        (("lint", "--query", "missing.gq"), "file.unreadable"),
    ],
)
def test_a_failure_has_a_code_for_people_and_programs(
    cli: Cli, prepared_graph: Path, arguments: tuple[str, ...], code: str
) -> None:
    outcome = cli(*arguments, "--store", prepared_graph)
    assert outcome.code == 1
    assert f"[{code}]" in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    told = cli(*arguments, "--store", prepared_graph, "--json")
    body = json.loads(told.out)
    assert told.code == 1
    assert body["code"] == code
    assert body["error"]


def test_messages_about_a_query_name_its_file(
    cli: Cli, prepared_graph: Path, tmp_path: Path
) -> None:
    queries = tmp_path / "q.gq"
    queries.write_text("query q() {\n  match { $p: Persn } return { $p.name } }", encoding="utf-8")
    outcome = cli("query", "--query", queries, "--store", prepared_graph)
    assert outcome.err.startswith(f"{queries}:2:15: error [T1]")
    assert outcome.err.count("[T1]") == 1
    assert "did you mean `Person`?" in outcome.err


def test_the_schema_is_shown_as_text(ask: Cli, tell: Cli) -> None:
    text = tell("schema", "show")
    assert text.startswith("node Person {\n    name: String @key\n")
    assert ask("schema", "show", "--at", "v1")["schema_source"] == text
    assert tell("schema", "get") == text


def test_a_schema_change_is_planned_step_by_step(
    ask: Cli, cli: Cli, prepared_graph: Path, tmp_path: Path
) -> None:
    wanted = tmp_path / "wanted.pg"
    wanted.write_text(
        "node Person {\n    name: String @key\n    born: Date?\n}\n", encoding="utf-8"
    )
    body = ask("schema", "plan", "--schema", wanted)
    assert body["supported"] is True
    assert {step["kind"] for step in body["steps"]} == {"drop_property", "drop_type"}
    assert {step["mode"] for step in body["steps"]} == {"soft"}
    hard = ask("schema", "plan", "--schema", wanted, "--allow-data-loss")
    assert {step["mode"] for step in hard["steps"]} == {"hard"}
    wanted.write_text("node Person {\n    name: I64 @key\n}\n", encoding="utf-8")
    refused = cli("schema", "plan", "--schema", wanted, "--store", prepared_graph)
    assert refused.code == 1
    assert "refused: nothing can be applied" in refused.out


def test_an_unchanged_schema_needs_no_steps(tell: Cli, schema_file: Path) -> None:
    assert tell("schema", "plan", "--schema", schema_file) == "No changes.\n"


def test_lint_works_with_a_graph_or_without(
    ask: Cli, cli: Cli, prepared_graph: Path, schema_file: Path, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.gq", tmp_path / "bad.gq"
    good.write_text(NAMES, encoding="utf-8")
    bad.write_text(NAMES.replace("Person", "Persn"), encoding="utf-8")
    assert ask("lint", "--query", good)["status"] == "ok"
    offline = cli("lint", "--query", good, "--schema", schema_file)
    assert offline.out == f"{good}: 1 query, 0 errors, 0 warnings\n"
    outcome = cli("lint", "--query", bad, "--schema", schema_file, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["findings"][0]["code"] == "T1"
    both = cli("lint", prepared_graph, "--query", good, "--schema", schema_file)
    assert both.code == 2
    assert "[usage.two_schemas]" in both.err
