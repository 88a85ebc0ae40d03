"""The prompt: when a statement is whole, what it does, how a word may go on."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.conftest import SCHEMA

from omnigraph.cli.shell.completion import complete, completion_words_of
from omnigraph.cli.shell.statements import as_command, as_document, is_complete

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
WORDS = completion_words_of(SCHEMA, branches=["main", "review"], commands=[":branch", ":help"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        ":types\n",
        "quit\n",
        "query q() { match { $p: Person } return { $p } }\n",
        "match { $p: Person } return { $p.name };\n",
        'insert Person { name: "a;b}" };\n',
        "match { $p: Person }\nreturn { $p.name }\n\n",
    ],
)
def test_a_statement_is_whole(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "query q() {\n",
        "query q(\n",
        "query q()\n",
        "match { $p: Person }\n",
        "match { $p: Person } // over;\n",
        'insert Person { name: "a }\n\n',
        "match {\n\n",
    ],
)
def test_a_statement_goes_on(text: str) -> None:
    assert not is_complete(text)


@pytest.mark.parametrize(
    ("typed", "meant"), [("quit\n", ":quit"), (" exit \n", ":quit"), (":at main\n", ":at main")]
)
def test_the_way_out_needs_no_colon(typed: str, meant: str) -> None:
    assert as_command(typed) == meant


def test_a_bare_statement_gets_a_name() -> None:
    assert as_document("match { $p: Person } return { $p };\n") == (
        "query shell() {\nmatch { $p: Person } return { $p }\n}"
    )
    assert as_document("query a() { … }\n") == "query a() { … }"


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", ":b", [":branch"]),
        (":branch ", "re", ["review"]),
        (":at ", "", ["main", "review"]),
        ("match { $p: ", "P", ["Person"]),
        ("insert ", "K", ["Knows"]),
        ("match { $p: Person $p.name = 1 } return { ", "$p.", ["$p.age", "$p.born", "$p.name"]),
        ("match { $a $k:knows $b } return { ", "$k.", ["$k.since"]),
        ("match { $p: Person $p ", "kn", ["knows"]),
        ("match { $p: Person } return { ", "$", ["$p"]),
        ("", "mat", ["match"]),
        ("match { $p: Person { ", "bo", ["born"]),
        ("match { ", "zz", []),
    ],
)
def test_a_word_goes_on_as_the_schema_allows(before: str, word: str, found: list[str]) -> None:
    assert complete(before, word, WORDS) == found


@pytest.fixture
def script(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the shell on statements that come through a pipe."""

    def run(statements: str, *arguments: object) -> Any:
        monkeypatch.setattr("sys.stdin", io.StringIO(statements))
        return cli("shell", *arguments)

    return run


def test_statements_from_a_pipe_run_one_after_the_other(script: Cli, graph_copy: Path) -> None:
    told = script(
        ":branch review\n"
        ':params {"name": "Lin"}\n'
        "query add($name: String) { insert Person { name: $name } }\n"
        ":format csv\n"
        'match { $p: Person $p.name starts_with "L" }\nreturn { $p.name as name }\n\n'
        ":branch main\n"
        "match { $p: Person } return { count($p) as people };\n",
        graph_copy,
        "--as",
        "ada",
    )
    assert told.code == 0, told.err
    first, *rest = told.out.splitlines()
    assert first.startswith("1 node, 0 edges on review: 01")
    assert rest == ["name", "Lin", "people", "3"]


def test_queries_of_a_file_run_by_name(script: Cli, prepared_graph: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.gq"
    file.write_text(
        "query one($n: String) { match { $p: Person { name: $n } } return { $p.name as name } }\n"
        "query all() { match { $p: Person } return { count($p) as n } }\n",
        encoding="utf-8",
    )
    told = script(
        f':file {file}\n:run one {{"n": "Ada"}}\n:run all\n:types\n:schema\n:log\n:quit\nnonsense',
        prepared_graph,
        "--read-only",
        "--format",
        "csv",
    )
    assert told.code == 0, told.err
    assert told.out.splitlines()[:5] == ["one, all", "name", "Ada", "n", "3"]
    assert "Person: name, born, age" in told.out
    assert "edge Knows: Person -> Person" in told.out


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (":nonsense\n", "shell.unknown_command"),
        (":run x\n", "shell.nothing_to_run"),
        (":format xml\n", "shell.unknown_format"),
        (":params [1]\n", "params.not_object"),
        (":branch nowhere\n", "target.missing"),
        ('insert Person { name: "X" };\n', "graph.read_only"),
    ],
)
def test_the_first_statement_that_fails_ends_a_script(
    script: Cli, prepared_graph: Path, statements: str, code: str
) -> None:
    told = script(f"{statements}:types\n", prepared_graph, "--read-only", "--json")
    assert told.code == 1
    assert json.loads(told.out)["code"] == code
