"""Profiles, servers, defaults: what the operator's files say, and who wins over whom."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.cli.credentials import find_token, server_of, variable_of
from omnigraph.server.serve import ServeRequest, make_server, serving

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
READ = "query q() { match { $p: Person } return { $p.name as name } order { name } limit 1 }"
SERVER = "http://127.0.0.1:9"


STORED = """\
query oldest($n: I64) {
    match { $p: Person }
    return { $p.name as name }
    order { name }
    limit $n
}

query add_person($name: String) {
    insert Person { name: $name }
}
"""
LISTER = """\
version: 1
groups:
  admins: [admin]
rules:
  - id: list
    allow:
      actors: { group: admins }
      actions: [graph_list]
"""
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for these tests


@pytest.fixture(scope="module")
def url(prepared_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two graphs of one server that knows one token."""
    home = tmp_path_factory.mktemp("served")
    for name in ("people", "others"):
        shutil.copytree(prepared_graph, home / f"{name}.omni")
        (home / "queries" / name).mkdir(parents=True)
        (home / "queries" / name / "stored.gq").write_text(STORED, encoding="utf-8")
    graphs = [str(home / f"{name}.omni") for name in ("people", "others")]
    lister = home / "server.policy.yaml"
    lister.write_text(LISTER, encoding="utf-8")
    request = ServeRequest(
        graphs,
        policy="preset:team",
        queries=str(home / "queries"),
        server_policy=str(lister),
    )
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"admin": TOKEN})}
    with serving(make_server(request, environment)) as address:
        yield address


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKEN)
    return TOKEN


@pytest.fixture
def configure(operator_home: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        (operator_home / "config.yaml").write_text(text, encoding="utf-8")

    return write


# --- who wins ------------------------------------------------------------------------------------


def test_the_default_store_is_the_last_to_be_asked(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path, monkeypatch: Any
) -> None:
    configure(f"defaults: {{store: {prepared_graph}}}")
    assert cli("status").code == 0
    monkeypatch.setenv("OMNIGRAPH_STORE", "/nowhere")
    assert "[graph.missing]" in cli("status").err
    assert cli("status", "--store", prepared_graph).code == 0


def test_a_profile_is_chosen_by_flag_or_environment(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path, monkeypatch: Any
) -> None:
    configure(f"profiles: {{here: {{store: {prepared_graph}}}, gone: {{store: /nowhere}}}}")
    assert cli("status", "--profile", "here").code == 0
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "gone")
    assert "[graph.missing]" in cli("status").err
    assert cli("status", "--profile", "here").code == 0
    assert cli("--profile", "here", "branch", "list").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot", "a.omni", "--server", SERVER),
        ("snapshot", "--store", "a.omni", "--profile", "here"),
        ("--server", SERVER, "snapshot", "--profile", "here"),
        ("--server", SERVER, "snapshot", "--server", "http://127.0.0.1:8"),
    ],
)
def test_two_addresses_of_any_kind_are_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "error [usage.two_addresses] the command line names 2 graphs: " in outcome.err


def test_two_addresses_in_the_environment_are_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_STORE", "a.omni")
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "b")
    assert "[usage.two_addresses]" in cli("status").err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("status", SERVER), "usage.server_as_store"),
        (("status", "--store", f"{SERVER}/graphs/x"), "usage.server_as_store"),
        (("status", "a.omni", "--graph", "people"), "usage.graph_refused"),
        (("status", "--server", "s3://bucket/x"), "usage.bad_server"),
        (("init", "a.omni", "--schema", "x.pg", "--server", SERVER), "usage.server_refused"),
        (("recovery", "list", "--server", SERVER), "usage.server_refused"),
        (("fmt", "x.pg", "--graph", "people"), "usage.graph_refused"),
        (("version", "--profile", "here"), "usage.profile_refused"),
        (("status", "a.omni", "--yes"), "usage.yes_refused"),
        (("status", "--server", SERVER, "--graph", "a", "--graph", "b"), "usage.two_graphs"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(
    cli: Cli, arguments: tuple[str, ...], code: str
) -> None:
    outcome = cli(*arguments)
    assert (outcome.code, outcome.err.split()[1]) == (2, f"[{code}]")
    assert "help: " in outcome.err


def test_the_first_flag_without_sense_is_the_one_that_is_told(cli: Cli) -> None:
    outcome = cli("version", "--as", "ada", "--store", "x", "--server", SERVER)
    assert "[usage.server_refused]" in outcome.err


def test_a_profile_of_a_server_does_not_suit_a_verb_on_storage(
    cli: Cli, configure: Callable[[str], None]
) -> None:
    configure(f"profiles: {{there: {{server: '{SERVER}'}}, many: {{cluster: /x}}}}")
    outcome = cli("recovery", "list", "--profile", "there")
    assert "[usage.server_refused] `omnigraph recovery list` needs storage" in outcome.err
    assert "[usage.cluster_refused]" in cli("status", "--profile", "many").err


# --- servers -------------------------------------------------------------------------------------


def test_a_server_that_does_not_answer_is_a_typed_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.client.TIMEOUT_SECONDS", 0.2)
    outcome = cli("graphs", "list", "--server", SERVER, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["code"].startswith("client.")


def test_a_verb_goes_to_the_server_with_graph_and_token(
    cli: Cli, configure: Callable[[str], None], url: str, monkeypatch: Any
) -> None:
    configure(
        f"servers: {{staging: {{url: '{url}/'}}}}\n"
        "defaults: {server: staging, default_graph: people}"
    )
    assert cli("query", "-e", READ).code == 1
    monkeypatch.setenv("OMNIGRAPH_TOKEN_STAGING", TOKEN)
    told = cli("query", "-e", READ, "--format", "csv")
    assert (told.code, told.out) == (0, "name\nAda\n")
    for words in (
        ("log", "--graph", "--graph-id", "others"),
        ("--graph", "others", "log", "--graph"),
    ):
        drawn = cli(*words, "-n", "1")
        assert drawn.code == 0, drawn.err
        assert drawn.out.startswith("* 01")
    assert json.loads(cli("status", "--graph", "others", "--json").out)["branches"] == 2


def test_what_a_server_serves_can_be_listed(cli: Cli, url: str, token: str) -> None:
    told = cli("graphs", "list", "--server", url, "--format", "csv")
    assert told.out.splitlines()[0] == "graph_id,uri"
    listed = [line.split(",")[0] for line in told.out.splitlines()[1:]]
    assert listed == ["others", "people"]
    queries = cli("queries", "list", "--server", url, "--graph", "people", "--json")
    names = {each["name"]: each["mutation"] for each in json.loads(queries.out)["queries"]}
    assert names == {"oldest": False, "add_person": True}
    assert "[usage.store_refused]" in cli("graphs", "list", "--store", "x.omni").err


def test_a_server_with_several_graphs_wants_one_named(cli: Cli, url: str, token: str) -> None:
    outcome = cli("status", "--server", url)
    assert (outcome.code, "[client.which_graph]" in outcome.err) == (1, True)
    assert "names no graph, and the server has 2\n" in outcome.err
    assert "help: name a graph with --graph ID or graph=ID: others, people" in outcome.err


def test_a_server_knows_who_writes(
    cli: Cli, configure: Callable[[str], None], url: str, token: str
) -> None:
    configure("operator: {actor: ada}")
    add = 'query q() { insert Person { name: "Lin" } }'
    there = ("--server", url, "--graph", "others")
    assert "[usage.actor_refused]" in cli("mutate", "-e", add, *there, "--as", "x").err
    done = cli("mutate", "-e", add, *there, "--json")
    assert json.loads(done.out)["actor_id"] == "admin", done.err


def test_destroying_on_a_server_needs_consent(cli: Cli, url: str, token: str) -> None:
    there = ("--server", url, "--graph", "others")
    assert cli("branch", "create", "short-lived", *there).code == 0
    refused = cli("branch", "delete", "short-lived", *there)
    assert (refused.code, "[usage.consent_needed]" in refused.err) == (2, True)
    assert f"omnigraph branch delete → {url}/graphs/others (served, remote)" in refused.err
    assert cli("--yes", "branch", "delete", "short-lived", *there).code == 0


def test_a_name_without_a_text_is_a_stored_query(
    cli: Cli, url: str, token: str, prepared_graph: Path
) -> None:
    there = ("--server", url, "--graph", "others")
    told = cli("query", "oldest", *there, "--params", '{"n": 1}', "--format", "csv")
    assert told.out == "name\nAda\n", told.err
    added = cli("mutate", "add_person", *there, "--params", '{"name": "Bo"}', "--branch", "review")
    assert "add_person changed 1 node, 0 edges on review" in added.out, added.err
    assert "[usage.flag_refused]" in cli("mutate", "add_person", *there, "--dry-run").err
    assert "[usage.no_query]" in cli("query", "oldest", "--store", prepared_graph).err
    assert cli("query", "add_person", *there, "--params", '{"name": "X"}').code == 1


def test_an_alias_gives_arguments_names(
    cli: Cli, configure: Callable[[str], None], url: str, token: str
) -> None:
    configure(
        f"servers: {{staging: {{url: '{url}'}}}}\n"
        "aliases:\n"
        "  first: {server: staging, graph: people, query: oldest, args: [n], params: {n: 2},\n"
        "          format: csv}\n"
    )
    assert cli("alias", "first").out == "name\nAda\nCharles\n"
    assert cli("alias", "first", "1").out == "name\nAda\n"
    explicit = cli("alias", "first", "2", "--params", '{"n": 1}', "--json")
    assert json.loads(explicit.out)["row_count"] == 1
    many = cli("alias", "first", "1", "2")
    assert (many.code, "[usage.too_many_arguments]" in many.err) == (2, True)
    assert "[config.alias_missing]" in cli("alias", "last").err


# --- tokens --------------------------------------------------------------------------------------


def test_a_token_belongs_to_the_longest_address_that_fits() -> None:
    servers = {"a": "https://h", "b": "https://h/x", "c": "https://h/x/y"}
    assert server_of("https://h/x/y/", servers) == "c"
    assert server_of("https://h/x/yes", servers) == "b"
    assert server_of("https://h.evil.example/x", servers) is None


def test_tokens_come_from_the_environment_before_the_file(
    cli: Cli, operator_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {"my-server": SERVER}
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "any")
    assert find_token(SERVER, servers) == "any"
    assert cli("login", "my-server", "--token", "file%1").code == 0
    assert find_token(SERVER, servers) == "file%1"
    assert find_token("http://elsewhere", servers) == "any"
    monkeypatch.setenv(variable_of("my-server"), "environment")
    assert variable_of("my-server") == "OMNIGRAPH_TOKEN_MY_SERVER"
    assert find_token(SERVER, servers) == "environment"


def test_credentials_are_for_their_owner_alone(cli: Cli, operator_home: Path) -> None:
    assert cli("login", "staging", "--token", "secret").code == 0
    file = operator_home / "credentials"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    exposed = cli("logout", "staging")
    assert (exposed.code, "[credentials.exposed]" in exposed.err) == (1, True)
    file.chmod(0o600)
    assert json.loads(cli("logout", "staging", "--json").out)["removed"] is True
    assert json.loads(cli("logout", "staging", "--json").out)["removed"] is False


def test_a_home_that_is_missing_is_missed_by_login_alone(
    cli: Cli, prepared_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", "/dev/null/none")
    outcome = cli("login", "staging", "--token", "secret")
    assert (outcome.code, "[credentials.unwritable]" in outcome.err) == (1, True)
    assert "OMNIGRAPH_TOKEN_STAGING" in outcome.err

    def no_home(_: object) -> None:
        raise RuntimeError("Could not determine home directory.")

    # A user whom the system does not know, as in a container, with HOME unset.
    monkeypatch.delenv("OMNIGRAPH_HOME")
    monkeypatch.setattr("pathlib.Path.expanduser", no_home)
    assert cli("status", prepared_graph).code == 0


def test_a_malformed_credentials_file_is_not_quoted(cli: Cli, operator_home: Path) -> None:
    file = operator_home / "credentials"
    file.write_text("s3cret\n", encoding="utf-8")
    file.chmod(0o600)
    outcome = cli("logout", "staging")
    assert "[credentials.malformed]" in outcome.err
    assert "s3cret" not in outcome.err


@pytest.mark.parametrize(("name", "token"), [("a b", "x"), ("a", ""), ("a", "x\ny"), ("]", "x")])
def test_a_token_that_would_break_the_file_is_refused(cli: Cli, name: str, token: str) -> None:
    outcome = cli("login", name, "--token", token)
    assert (outcome.code, "[credentials.bad_" in outcome.err) == (1, True)


# --- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("defaults: {server: a, store: b}", "config.two_addresses"),
        ("defaults: {store: b, default_graph: c}", "config.graph_of_store"),
        ("defaults: {output: xml}", "config.bad_value"),
        ("defaults: {table_max_column_width: 0}", "config.bad_value"),
        ("defaults: [1]", "config.bad_value"),
        ("servers: {a: {url: 'ftp://x'}}", "config.bad_value"),
        ("servers: {a: }", "config.bad_value"),
        ("a: [", "config.bad_yaml"),
        ("[]", "usage.no_address"),
        ("- 1", "config.bad_value"),
        ("defaults: {server: staging}", "config.server_missing"),
    ],
)
def test_a_wrong_file_says_where(
    cli: Cli, configure: Callable[[str], None], text: str, code: str
) -> None:
    configure(text)
    assert f"error [{code}]" in cli("status").err


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{}", "config.bad_profile"),
        ("{store: a, server: b}", "config.bad_profile"),
        ("{store: a, default_graph: b}", "config.graph_of_store"),
        ("[a]", "config.bad_value"),
    ],
)
def test_a_profile_is_checked_when_it_is_used(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path, body: str, code: str
) -> None:
    configure(f"profiles: {{wrong: {body}, right: {{store: {prepared_graph}}}}}")
    assert cli("status", "--profile", "right").code == 0
    assert f"[{code}]" in cli("status", "--profile", "wrong").err
    listed = json.loads(cli("profiles", "list", "--json").out)["profiles"]
    assert [(each["name"], each["valid"]) for each in listed] == [("right", True), ("wrong", False)]
    assert "[config.profile_missing]" in cli("profiles", "show", "other").err
    assert str(prepared_graph) in cli("profiles", "show", "right").out


def test_unknown_keys_are_told_and_ignored(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path
) -> None:
    configure(f"defaults: {{store: {prepared_graph}, colour: red}}\nplugins: {{}}")
    outcome = cli("status")
    assert outcome.code == 0
    assert "unknown key defaults.colour" in outcome.err
    assert "unknown key plugins" in outcome.err
    assert cli("status", "--quiet").err == ""


def test_the_operator_writes_unless_somebody_else_is_named(
    cli: Cli, configure: Callable[[str], None], graph_copy: Path
) -> None:
    configure("operator: {actor: ada}")
    add = 'query q() { insert Person { name: "Lin" } }'
    mine = cli("mutate", "-e", add, "--store", graph_copy, "--json")
    assert json.loads(mine.out)["actor_id"] == "ada"
    theirs = cli(
        "mutate", "-e", add.replace("Lin", "Bo"), "--store", graph_copy, "--json", "--as", "b"
    )
    assert json.loads(theirs.out)["actor_id"] == "b"


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        ("query", "-e", READ),
        ("branch", "list"),
        ("tag", "list"),
        ("commit", "list"),
        ("snapshot",),
        ("index", "list"),
        ("recovery", "list"),
        ("status",),
    ],
)
def test_every_verb_with_rows_knows_every_format(
    cli: Cli, prepared_graph: Path, verb: tuple[str, ...]
) -> None:
    told = {
        layout: cli(*verb, "--store", prepared_graph, "--format", layout)
        for layout in ("table", "kv", "csv", "jsonl", "json")
    }
    assert {outcome.code for outcome in told.values()} == {0}
    assert told["json"].out == cli(*verb, "--store", prepared_graph, "--json").out
    lines = [json.loads(line) for line in told["jsonl"].out.splitlines()]
    assert lines[0]["kind"] == "metadata"
    assert len(told["csv"].out.splitlines()) >= len(lines)


def test_the_format_of_the_operator_gives_way_to_flags(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path
) -> None:
    configure("defaults: {output: csv}")
    ask = ("query", "-e", READ, "--store", prepared_graph)
    assert cli(*ask).out == "name\nAda\n"
    assert cli(*ask, "--format", "kv").out == "-- 1\nname: Ada\n"
    assert json.loads(cli(*ask, "--format", "kv", "--json").out)["row_count"] == 1


def test_the_operator_says_how_wide_a_column_may_be(
    cli: Cli, configure: Callable[[str], None], prepared_graph: Path
) -> None:
    ask = (
        "query",
        "-e",
        'query q() { match { $p: Person { name: "Charles" } } return { $p.name as name } }',
    )
    configure("defaults: {table_max_column_width: 5}")
    assert cli(*ask, "--store", prepared_graph).out.splitlines()[2] == "Char…"
    configure("defaults: {table_max_column_width: 5, table_cell_layout: wrap}")
    assert cli(*ask, "--store", prepared_graph).out.splitlines()[2:4] == ["Charl", "es"]
