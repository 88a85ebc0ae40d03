"""One script through every door: embedded, command line, HTTP, command line over HTTP. Each door
works on a graph of its own, and all of them must say the same."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import omnigraph
from omnigraph.cli.program import run
from omnigraph.client import connect
from omnigraph.errors import GraphError
from omnigraph.server.serve import ServeRequest, make_server, serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
    score: I64?
}

edge Knows: Person -> Person {
    since: I32?
}
"""
WIDER = SCHEMA.replace("score: I64?", "score: I64?\n    email: String?")
PEOPLE = """\
query people() {
    insert Person { name: "Ada", born: date("1815-12-10"), score: 9007199254740993 }
    insert Person { name: "José 東京" }
    insert Knows { from: "Ada", to: "José 東京", since: 1833 }
}
"""
ALL = "query all() { match { $p: Person } return { $p.name, $p.born, $p } order { $p.name asc } }"
KNOWS = "query k() { match { $a: Person $a knows $b } return { $a.name, $b.name } }"
GHOST = "query g() { match { $x: Ghost } return { $x } }"
UPDATE = 'query u() { update Person set { score: 7 } where name = "Ada" }'
DATA = (
    '{"type": "Person", "data": {"name": "Grace", "born": "1906-12-09"}}\n'
    '{"edge": "Knows", "from": "Ada", "to": "Grace", "data": {"since": 1950}}\n'
)
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for one test


@dataclass(frozen=True)
class Step:
    """The same thing, as a call and as a command line."""

    name: str
    call: Callable[[Any, Path], Any]
    line: Callable[[Path], list[str]] | None = None


def last(graph: Any) -> str:
    return str(graph.commits.list().commits[0].id)


SCRIPT = (
    Step(
        "mutate",
        lambda g, _: g.mutate(PEOPLE, message="first"),
        lambda _: ["mutate", "-e", PEOPLE, "--message", "first"],
    ),
    Step("query", lambda g, _: g.query(ALL), lambda _: ["query", "-e", ALL]),
    Step("hops", lambda g, _: g.query(KNOWS), lambda _: ["query", "-e", KNOWS]),
    Step("wrong query", lambda g, _: g.query(GHOST), lambda _: ["query", "-e", GHOST]),
    Step("explain", lambda g, _: g.explain(ALL), lambda _: ["explain", "-e", ALL]),
    Step("branch", lambda g, _: g.branches.create("draft").name),
    Step("branch", lambda g, _: g.branches.create("review").name),
    Step(
        "branch again",
        lambda g, _: g.branches.create("draft"),
        lambda _: ["branch", "create", "draft"],
    ),
    Step(
        "load",
        lambda g, home: g.load(home / "data.ndjson", mode="merge", branch="draft"),
        lambda home: [
            "load",
            "--data",
            str(home / "data.ndjson"),
            "--mode",
            "merge",
            "--branch",
            "draft",
        ],
    ),
    Step("update", lambda g, _: g.mutate(UPDATE), lambda _: ["mutate", "-e", UPDATE]),
    Step(
        "read a branch",
        lambda g, _: g.at("draft").query(ALL),
        lambda _: ["query", "-e", ALL, "--branch", "draft"],
    ),
    Step("diff", lambda g, _: g.diff("main", "draft")),
    Step(
        "preview",
        lambda g, _: g.merge("draft", preview=True),
        lambda _: ["branch", "merge", "draft", "--preview"],
    ),
    Step(
        "merge",
        lambda g, _: g.merge("draft", message="bring it in"),
        lambda _: ["branch", "merge", "draft", "--message", "bring it in"],
    ),
    Step(
        "merge nothing", lambda g, _: g.merge("nowhere"), lambda _: ["branch", "merge", "nowhere"]
    ),
    Step("tag", lambda g, _: g.tags.create("v1").name),
    Step("tags", lambda g, _: [tag.name for tag in g.tags.list()]),
    Step("commits", lambda g, _: g.commits.list(), lambda _: ["commit", "list"]),
    Step("changes", lambda g, _: g.changes.of_commit(last(g))),
    Step("feed", lambda g, _: g.changes.poll(start="beginning")),
    Step("blame", lambda g, _: g.blame("Person", "Ada"), lambda _: ["blame", "Person", "Ada"]),
    Step("plan", lambda g, _: g.plan_schema(WIDER)),
    Step(
        "apply",
        lambda g, _: g.apply_schema(WIDER),
        lambda home: ["schema", "apply", "--schema", str(home / "wider.pg")],
    ),
    Step("schema", lambda g, _: g.schema),
    Step("old schema", lambda g, _: g.at("v1").schema),
    Step("revert", lambda g, _: g.revert(g.commits.list().commits[1].id).branch),
    Step("reset", lambda g, _: g.branches.reset("review", to="v1").branch),
    Step("snapshot", lambda g, _: g.snapshot(), lambda _: ["snapshot"]),
    Step("status", lambda g, _: g.status(), lambda _: ["status"]),
    Step("branches", lambda g, _: [each.ref.name for each in g.branches.list()]),
    Step("delete", lambda g, _: g.branches.delete("review")),
    Step("query at the end", lambda g, _: g.query(ALL), lambda _: ["query", "-e", ALL]),
)
# What a command line cannot do by these lines is done for it through the facade.
Door = Callable[[Step], Any]


def by_calls(graph: Any, home: Path) -> Door:
    def go(step: Step) -> Any:
        try:
            answer = step.call(graph, home)
        except GraphError as error:
            return {"code": error.code, "class": type(error).__name__}
        return answer.to_json() if hasattr(answer, "to_json") else answer

    return go


def by_lines(graph: Any, home: Path, where: list[str], capsys: pytest.CaptureFixture[str]) -> Door:
    call = by_calls(graph, home)

    def go(step: Step) -> Any:
        if step.line is None:
            return call(step)
        capsys.readouterr()
        code = run([*step.line(home), *where, "--json", "--quiet"])
        said = capsys.readouterr()
        if code != 0:
            told = said.out or said.err
            assert told.startswith("{"), (step.name, told)
            body = json.loads(told)
            return {"code": body["code"], "class": None}
        return json.loads(said.out)

    return go


ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
# These belong to the graph, the moment or the way, not to what was done.
OWN = {
    "uri",
    "created_at",
    "created_at_text",
    "authored_at",
    "idempotency_key",
    "graph_id",
    "dataset_path",
    "cursor",
    "seconds",
    "cache",
    "caught_up",
    "published_dataset_version",
}


def told(answers: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Answers with commits by order of appearance, and without what is each graph's own."""
    names: dict[str, str] = {}

    def plain(value: Any) -> Any:
        match value:
            case dict():
                # A command line needs nobody's name to preview.
                own = OWN | {"actor_id"} if value.get("preview") else OWN
                kept = {key: plain(item) for key, item in value.items() if key not in own}
                return {key: item for key, item in kept.items() if item is not None}
            case list() | tuple():
                return [plain(item) for item in value]
            case str():
                return ULID.sub(lambda m: names.setdefault(m[0], f"commit {len(names)}"), value)
            case _:
                return value

    return [(name, plain(answer)) for name, answer in answers]


def without_class(answers: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """A command line tells the code of an error, not its class."""
    return [
        (
            name,
            {"code": answer["code"]} if isinstance(answer, dict) and "class" in answer else answer,
        )
        for name, answer in answers
    ]


def test_every_door_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "operator"))
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKEN)
    (tmp_path / "data.ndjson").write_text(DATA, encoding="utf-8")
    (tmp_path / "wider.pg").write_text(WIDER, encoding="utf-8")
    tokens = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"admin": TOKEN})}
    # Copies of one graph: types have the same identities everywhere.
    omnigraph.init(tmp_path / "first.omni", SCHEMA, durability="process", actor="admin").close()
    with ExitStack() as stack:
        graphs = {}
        for name in ("embedded", "lines", "remote", "remote-lines"):
            place = shutil.copytree(tmp_path / "first.omni", tmp_path / name / "people.omni")
            graphs[name] = stack.enter_context(omnigraph.open(place, actor="admin"))

        def serve(name: str) -> tuple[str, Any]:
            request = ServeRequest([graphs[name].uri], policy="preset:team")
            url = stack.enter_context(serving(make_server(request, tokens)))
            remote = connect(url, token=TOKEN, graph="people")
            return url, stack.enter_context(remote)

        url, behind = serve("remote-lines")
        _, remote = serve("remote")
        stored = ["--store", graphs["lines"].uri]
        operator = tmp_path / "operator"
        operator.mkdir()
        # The server knows the actor from the token, the command line from the operator's file.
        (operator / "config.yaml").write_text("operator:\n  actor: admin\n", encoding="utf-8")
        doors = {
            "embedded": by_calls(graphs["embedded"], tmp_path),
            "lines": by_lines(graphs["lines"], tmp_path, stored, capsys),
            "remote": by_calls(remote, tmp_path),
            "remote-lines": by_lines(
                behind, tmp_path, ["--server", url, "--graph", "people"], capsys
            ),
        }
        said = {name: told([(s.name, door(s)) for s in SCRIPT]) for name, door in doors.items()}
        outs = {}
        for name, graph in (("embedded", graphs["embedded"]), ("remote", remote)):
            graph.export(tmp_path / f"{name}.ndjson")
            outs[name] = sorted((tmp_path / f"{name}.ndjson").read_text("utf-8").splitlines())
    assert said["remote"] == said["embedded"]
    assert said["remote-lines"] == said["lines"]
    assert without_class(said["lines"]) == without_class(said["embedded"])
    assert [re.sub(ULID, "", line) for line in outs["remote"]] == [
        re.sub(ULID, "", line) for line in outs["embedded"]
    ]
