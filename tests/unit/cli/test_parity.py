"""One script of verbs through Python and through the command line: the same answers.

Two copies of one graph, each changed through one door. What differs by nature (ids, times, places)
is given names in the order of its first appearance, so that equal stories have equal texts.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import omnigraph
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    import pytest

Cli = Callable[..., Any]
NAMES = """\
query names() {
    match { $p: Person }
    return { $p.name as name, $p.age as age }
    order { name }
}
"""
ADD = "query add($name: String) { insert Person { name: $name, age: 7 } }"
DROP = "query drop($name: String) { delete Person where name = $name }"
WIDER = """\
node Person {
    name: String @key
    born: Date?
    age: I32?
    city: String?
}

edge Knows: Person -> Person {
    since: I32?
}
"""


@dataclass(frozen=True)
class Step:
    """The same request, for both doors."""

    words: tuple[str, ...]
    call: Callable[[omnigraph.Graph], Any]


def _head(graph: omnigraph.Graph, target: str = "main") -> str:
    return str(graph.at(target).snapshot()["graph_commit_id"])


SCRIPT = (
    Step(("query", "-e", NAMES), lambda g: g.query(NAMES).to_json()),
    Step(
        ("query", "-e", NAMES, "--branch", "review"),
        lambda g: g.at("review").query(NAMES).to_json(),
    ),
    Step(("query", "-e", NAMES, "--at", "v1"), lambda g: g.at("v1").query(NAMES).to_json()),
    Step(("query", "-e", "query q() { nonsense }"), lambda g: g.query("query q() { nonsense }")),
    Step(("query", "-e", NAMES, "--branch", "nowhere"), lambda g: g.at("nowhere").query(NAMES)),
    Step(
        ("mutate", "-e", ADD, "--params", '{"name": "Bo"}', "--as", "ada", "--message", "m"),
        lambda g: g.mutate(ADD, {"name": "Bo"}, actor="ada", message="m").to_json(),
    ),
    Step(
        ("mutate", "-e", ADD, "--params", '{"name": "Cy"}', "--dry-run"),
        lambda g: g.mutate(ADD, {"name": "Cy"}, dry_run=True).to_json(),
    ),
    Step(
        ("mutate", "-e", ADD, "--params", '{"nmae": "Cy"}'), lambda g: g.mutate(ADD, {"nmae": "Cy"})
    ),
    Step(
        ("load", "--data", "people.jsonl", "--mode", "merge", "--branch", "new", "--from", "main"),
        lambda g: {
            "uri": g.uri,
            **g.load("people.jsonl", mode="merge", branch="new", from_="main").to_json(),
        },
    ),
    Step(
        ("load", "--data", "wrong.jsonl", "--mode", "append"),
        lambda g: g.load("wrong.jsonl", mode="append"),
    ),
    Step(("branch", "merge", "new", "--as", "bo"), lambda g: g.merge("new", actor="bo").to_json()),
    Step(
        ("branch", "merge", "review", "--preview"),
        lambda g: g.merge("review", preview=True).to_json(),
    ),
    Step(
        ("schema", "apply", "--schema", "wider.pg"),
        lambda g: g.apply_schema(WIDER, source_name="wider.pg").to_json(),
    ),
    Step(("schema", "show"), lambda g: {"schema_source": g.schema}),
    Step(
        ("branch", "reset", "new", "--to", "v1"),
        lambda g: g.branches.reset("new", to="v1").to_json(),
    ),
    Step(("diff", "v1", "main"), lambda g: g.diff("v1", "main").to_json()),
    Step(("blame", "Person", "Bo"), lambda g: g.blame("Person", "Bo").to_json()),
    Step(
        ("mutate", "-e", DROP, "--params", '{"name": "Ada"}'),
        lambda g: g.mutate(DROP, {"name": "Ada"}).to_json(),
    ),
    Step(("snapshot",), lambda g: g.snapshot()),
    Step(
        ("commit", "list", "--limit", "3"),
        lambda g: g.commits.list(CommitFilter(limit=3)).to_json(),
    ),
    Step(("show", "v1"), lambda g: commit_to_json(g.commits.show(_head(g, "v1")))),
    Step(("index", "list"), lambda g: {"indexes": [each.to_json() for each in g.indexes()]}),
    Step(("status",), lambda g: g.status().to_json()),
)


class Scrubber:
    """Names for what differs by nature."""

    def __init__(self, place: Path) -> None:
        self._place = str(place)
        self._names: dict[str, str] = {}

    def __call__(self, body: Any) -> Any:
        text = json.dumps(body, default=str, sort_keys=True).replace(self._place, "GRAPH")
        text = re.sub(r'("(?:created_at|authored_at)": )\d+', r"\1TIME", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "TIME", text)
        text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", self._name, text)
        return text.replace("-TIME", "TIME")

    def _name(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found[0], f"ID{len(self._names)}")


def test_both_doors_tell_the_same_story(
    cli: Cli, prepared_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wider.pg").write_text(WIDER, encoding="utf-8")
    Path("people.jsonl").write_text('{"type": "Person", "data": {"name": "Lin"}}', encoding="utf-8")
    Path("wrong.jsonl").write_text('{"type": "Person", "data": {"nme": 1}}', encoding="utf-8")
    ours, theirs = (
        Path(shutil.copytree(prepared_graph, tmp_path / name))
        for name in ("python.omni", "cli.omni")
    )
    scrub = {ours: Scrubber(ours), theirs: Scrubber(theirs)}
    for step in SCRIPT:
        with omnigraph.open(ours) as graph:
            try:
                code, body = 0, step.call(graph)
            except GraphError as error:
                code, body = 1, error.to_json()
        told = cli(*step.words, "--store", theirs, "--json", "--quiet")
        assert told.code == code, f"{step.words}: {told.err}"
        answered = json.loads(told.out)
        # What one door says beside the other's answer.
        answered.pop("changed_types", None)
        if step.words[0] == "diff":
            body.pop("summary")
        expected = scrub[ours](body).replace("<query>", "TEXT")
        assert scrub[theirs](answered).replace("<query>", "TEXT") == expected, step.words
