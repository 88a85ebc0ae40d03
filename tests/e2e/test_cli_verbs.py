"""A session with every verb, each as a process of its own; variants are in tests/unit/cli."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Omnigraph = Callable[..., subprocess.CompletedProcess[str]]

QUERIES = """\
// One person more.
query add($name: String) {
    insert Person { name: $name }
}

query names() {
    match {
        $p: Person
    }
    return {
        $p.name as name
    }
    order { name }
}
"""


def test_a_session_with_every_verb(
    run_omnigraph: Omnigraph, people_schema: Path, tmp_path: Path
) -> None:
    place = tmp_path / "session.omni"
    queries = tmp_path / "people.gq"
    queries.write_text(QUERIES, encoding="utf-8")
    here = {"OMNIGRAPH_STORE": str(place)}

    def tell(*arguments: str | Path) -> str:
        done = run_omnigraph(*arguments, env=here)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(*arguments: str | Path) -> Any:
        return json.loads(tell(*arguments, "--json"))

    made = tell("init", place, "--schema", people_schema, "--durability", "process", "--as", "ada")
    assert made == f"initialized {place}\n"
    params = tmp_path / "params.json"
    params.write_text('{"name": "Ada"}', encoding="utf-8")
    mutate = ("mutate", "add", "--query", queries)
    first = ask(*mutate, "--params-file", params, "--as", "ada", "--message", "the first")
    assert first["affected_nodes"] == 1
    assert (
        ask("branch", "create", "review")["graph_commit_id"] == first["commit"]["graph_commit_id"]
    )
    tell(*mutate, "--params", '{"name": "Grace"}', "--branch", "review", "--as", "grace")
    assert tell("query", "names", "--query", queries, "--format", "csv") == "name\nAda\n"
    names = ask("query", "names", "--query", queries, "--branch", "review")["rows"]
    assert names == [{"name": "Ada"}, {"name": "Grace"}]
    assert ask("tag", "create", "v1", "--at", "review")["name"] == "v1"
    assert ask("status")["tags"] == 1
    assert ask("snapshot", "--at", "v1")["datasets"][0]["entity_count"] == 2
    assert [c["kind"] for c in ask("commit", "list")["commits"]] == ["mutation", "init"]
    assert ask("show", "v1")["actor_id"] == "grace"
    assert tell("log", "--graph").count("* ") == 3
    assert ask("recovery", "list") == {"recoveries": [], "pending": []}
    assert [change["id"] for change in ask("diff", "main", "review")["changes"]] == ["Grace"]
    merged = ask("branch", "merge", "review")
    assert merged["outcome"] == "fast_forward"
    assert len(ask("commit", "changes", merged["commit"]["graph_commit_id"])["changes"]) == 1
    assert len(ask("changes", "poll", "--start", "beginning")["blocks"]) == 3
    assert ask("changes", "baseline", "--out", tmp_path / "people.jsonl")["resume_cursor"]
    assert len(ask("blame", "Person", "Grace")["history"]) == 2
    undone = ask("revert", merged["commit"]["graph_commit_id"])["commit"]["graph_commit_id"]
    assert ask("cherry-pick", merged["commit"]["graph_commit_id"])["commit"] is not None
    assert ask("branch", "reset", "main", "--to", undone)["commit"] is not None
    tell("branch", "delete", "review")
    assert ask("query", "names", "--query", queries, "--at", "v1")["row_count"] == 2
    tell("tag", "delete", "v1")
    assert tell("schema", "show") == people_schema.read_text(encoding="utf-8")
    assert tell("schema", "plan", "--schema", people_schema) == "No changes.\n"
    wanted = tmp_path / "wanted.pg"
    more = people_schema.read_text(encoding="utf-8").replace(
        "born: Date?", "born: Date?\n    n: I64?"
    )
    wanted.write_text(more, encoding="utf-8")
    assert ask("schema", "apply", "--schema", wanted)["applied"]
    copied = ("clone", place, tmp_path / "copy.omni", "--incremental")
    assert tell(*copied).startswith("copied ")
    assert tell(*copied).endswith(" was up to date\n")
    assert tell("lint", "--query", queries).endswith(": 2 queries, 0 errors, 0 warnings\n")
    assert tell("fmt", "--check", queries, people_schema) == "2 files, 0 to change\n"


def test_the_module_is_the_program(run_omnigraph: Omnigraph) -> None:
    as_module = subprocess.run(
        [sys.executable, "-m", "omnigraph", "--version"], capture_output=True, text=True, check=True
    )
    assert as_module.stdout == run_omnigraph("--version").stdout


def test_shell_completion_knows_verbs_and_flags(run_omnigraph: Omnigraph) -> None:
    script = run_omnigraph(env={"_OMNIGRAPH_COMPLETE": "zsh_source"})
    assert "omnigraph" in script.stdout

    def complete(words: str) -> str:
        request = {
            "_OMNIGRAPH_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return run_omnigraph(env=request).stdout

    assert {"plain,mutate", "plain,query"} <= set(complete("omnigraph ").split())
    assert complete("omnigraph bra").split() == ["plain,branch"]
    below = [f"plain,{verb}" for verb in ("create", "delete", "list", "merge", "reset")]
    assert complete("omnigraph branch ").split() == below
    assert "plain,--dry-run" in complete("omnigraph mutate --d").split()
