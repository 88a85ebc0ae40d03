"""The verbs of version control: diff, changes, merge, revert, cherry-pick, reset, blame."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.cli.atomic_files import write_atomically
from omnigraph.cli.changes import json_list
from omnigraph.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]


def mutate(cli: Cli, graph: Path, statement: str, branch: str = "main") -> str:
    text = f"query q() {{ {statement} }}"
    done = cli("mutate", "-e", text, "--store", graph, "--branch", branch, "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["commit"]["graph_commit_id"])


def ask(cli: Cli, *arguments: Any, code: int = 0) -> Any:
    done = cli(*arguments, "--json")
    assert done.code == code, done.err
    return json.loads(done.out)


# --- diff ----------------------------------------------------------------------------------------


def test_a_diff_is_told_for_people_and_for_programs(cli: Cli, graph_copy: Path) -> None:
    mutate(cli, graph_copy, 'update Person set { age: 37 } where name = "Ada"', "review")
    mutate(cli, graph_copy, "delete Knows where since = 1833", "review")
    here = ("--store", graph_copy)
    lines = cli("diff", "main", "review", *here).out.splitlines()
    assert lines[:3] == ["~ Person Ada", "    age: 36 => 37", "+ Person Grace"]
    assert lines[3].startswith("- Knows ")
    assert lines[3].endswith("Ada → Charles")
    body = ask(cli, "diff", "main", "review", *here)
    assert [change["op"] for change in body["changes"]] == ["update", "insert", "delete"]
    assert body["from"]["target"] == "main"
    summary = cli("diff", "main", "review", "--summary", *here).out.splitlines()
    assert summary[2].split() == ["node", "Person", "1", "1", "0"]
    only = ask(cli, "diff", "main", "review", "--type", "Person", "--op", "insert", *here)
    assert [change["id"] for change in only["changes"]] == ["Grace"]
    assert ask(cli, "diff", "v1", "main", *here)["changes"] == []


def test_a_diff_of_unknown_things_is_refused(cli: Cli, prepared_graph: Path) -> None:
    here = ("--store", prepared_graph)
    assert ask(cli, "diff", "main", "nowhere", *here, code=1)["code"] == "target.missing"
    unknown = ask(cli, "diff", "main", "review", "--type", "Persn", *here, code=1)
    assert unknown["code"] == "changes.unknown_type"
    assert cli("diff", "main", "review", "--op", "upsert", *here).code == 2


# --- commit changes, changes ---------------------------------------------------------------------


def test_the_changes_of_a_commit_are_told_whole_or_by_the_page(cli: Cli, graph_copy: Path) -> None:
    here = ("--store", graph_copy)
    people = " ".join(f'insert Person {{ name: "p{number:02d}" }}' for number in range(7))
    commit = mutate(cli, graph_copy, people)
    names = [f"p{number:02d}" for number in range(7)]
    body = ask(cli, "commit", "changes", commit.lower(), "--limit", "3", *here)
    assert [change["id"] for change in body["changes"]] == names
    assert body["cause"]["graph_commit_id"] == commit
    lines = cli("commit", "changes", commit, *here).out.splitlines()
    assert lines[0].startswith(commit)
    assert lines[1:] == [f"+ Person {name}" for name in names]


def test_a_feed_is_polled_and_goes_on_at_its_cursor(cli: Cli, graph_copy: Path) -> None:
    here = ("--store", graph_copy)
    start = ask(cli, "changes", "poll", *here)
    assert start["blocks"] == []
    commit = mutate(cli, graph_copy, 'insert Person { name: "Eve" }')
    page = ask(cli, "changes", "poll", "--cursor", start["cursor"], *here)
    assert [block["cause"]["graph_commit_id"] for block in page["blocks"]] == [commit]
    assert page["caught_up"] is True
    everything = ask(cli, "changes", "poll", "--start", "beginning", "--limit", "1", *here)
    assert [len(block["changes"]) for block in everything["blocks"]] == [0, 4, 1]
    lines = cli("changes", "poll", "--cursor", start["cursor"], *here).out.splitlines()
    assert lines[1] == "+ Person Eve"
    assert lines[-2].startswith("cursor: ")
    assert lines[-1] == "caught_up: true"
    bad = ask(cli, "changes", "poll", "--cursor", "nonsense", *here, code=1)
    assert bad["code"] == "change_cursor.rejected"


def test_a_baseline_stands_before_its_cursor_is_told(
    cli: Cli, graph_copy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "people.jsonl"
    body = ask(cli, "changes", "baseline", "--out", out, "--store", graph_copy)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 4
    assert list(tmp_path.glob("people*")) == [out]
    commit = mutate(cli, graph_copy, 'insert Person { name: "Eve" }')
    page = ask(cli, "changes", "poll", "--cursor", body["resume_cursor"], "--store", graph_copy)
    assert [block["cause"]["graph_commit_id"] for block in page["blocks"]] == [commit]


def test_a_file_is_installed_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")

    def breaking() -> Any:
        yield b"new"
        with pytest.raises(Conflict, match="another process"):
            write_atomically(place, [b"other"])
        raise ValueError

    with pytest.raises(ValueError):
        write_atomically(place, breaking())
    assert place.read_bytes() == b"old"
    write_atomically(place, [b"a", b"b"])
    assert place.read_bytes() == b"ab"
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(InvalidInput, match="cannot write"):
        write_atomically(tmp_path / "nowhere" / "file", [b""])


# --- merge and its kin ---------------------------------------------------------------------------


def test_a_branch_is_merged_and_deleted(cli: Cli, graph_copy: Path) -> None:
    preview = cli("branch", "merge", "review", "--preview", "--store", graph_copy)
    assert preview.out.splitlines()[1] == "  node Person  +1  ~0  -0  (taken over unchanged)"
    people = ask(cli, "snapshot", graph_copy)["datasets"]
    (before,) = [part["entity_count"] for part in people if part["type_name"] == "Person"]
    done = cli("branch", "merge", "review", "--delete-branch", "--store", graph_copy, "--as", "ada")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("merged review into main: fast_forward as ")
    sizes = f"{before} => {before + 1} entities"
    assert lines[1] == f"  node Person  {sizes}  (taken over unchanged)"
    assert "branch merge" in done.err
    assert ask(cli, "branch", "list", graph_copy)["branches"] == ["main"]
    shown = ask(cli, "log", graph_copy)["commits"][0]
    assert (shown["kind"], shown["actor_id"]) == ("merge", "ada")


def test_a_branch_that_cannot_be_deleted_is_a_warning(cli: Cli, graph_copy: Path) -> None:
    cli("branch", "create", "child", "--from", "review", "--store", graph_copy)
    done = cli("branch", "merge", "review", "--delete-branch", "--store", graph_copy)
    assert done.code == 0
    assert "warning: review was not deleted" in done.err


def test_conflicts_are_previewed_decided_and_merged(
    cli: Cli, graph_copy: Path, tmp_path: Path
) -> None:
    here = ("--store", graph_copy)
    mutate(cli, graph_copy, 'update Person set { age: 1 } where name = "Ada"')
    mutate(cli, graph_copy, 'update Person set { age: 2 } where name = "Ada"', "review")
    preview = ask(cli, "branch", "merge", "review", "--preview", *here)
    (conflict,) = preview["conflicts"]
    assert conflict["kind"] == "divergent_update"
    shown = cli("branch", "merge", "review", "--preview", *here).out
    assert f"! {conflict['conflict_id']}  divergent_update" in shown
    assert "    age: base 36, ours 1, theirs 2" in shown
    refused = ask(cli, "branch", "merge", "review", *here, code=1)
    assert refused["code"] == "merge.conflicts"
    assert refused["details"]["merge_conflicts"] == [conflict]
    decisions = tmp_path / "decisions.json"
    choice = {"conflict_id": conflict["conflict_id"], "take": {"value": {"age": 3}}}
    decisions.write_text(json.dumps([choice]), encoding="utf-8")
    merged = ask(cli, "branch", "merge", "review", "--resolve", decisions, *here)
    assert merged["outcome"] == "merged"
    history = ask(cli, "blame", "Person", "Ada", *here)["history"]
    assert history[0]["change"]["after"]["properties"]["age"] == 3
    assert history[0]["cause"]["graph_commit_id"] == merged["commit"]["graph_commit_id"]


@pytest.mark.parametrize(("strategy", "age"), [("ours", 1), ("theirs", 2)])
def test_a_strategy_decides_all(cli: Cli, graph_copy: Path, strategy: str, age: int) -> None:
    here = ("--store", graph_copy)
    mutate(cli, graph_copy, 'update Person set { age: 1 } where name = "Ada"')
    mutate(cli, graph_copy, 'update Person set { age: 2 } where name = "Ada"', "review")
    assert cli("branch", "merge", "review", "--strategy", strategy, *here).code == 0
    query = 'query q() { match { $p: Person { name: "Ada" } } return { $p.age as age } }'
    assert ask(cli, "query", "-e", query, *here)["rows"] == [{"age": age}]


def test_decisions_that_cannot_be_read_are_refused(
    cli: Cli, graph_copy: Path, tmp_path: Path
) -> None:
    here = ("--store", graph_copy)
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    assert ask(cli, "branch", "merge", "review", "--resolve", broken, *here, code=2)["code"] == (
        "usage.bad_resolve"
    )
    broken.write_text('{"take": "ours"}', encoding="utf-8")
    assert ask(cli, "branch", "merge", "review", "--resolve", broken, *here, code=1)["code"] == (
        "merge.bad_resolution"
    )
    same = ask(cli, "branch", "merge", "main", *here, code=1)
    assert same["code"] == "merge.same_branch"


def test_a_commit_is_reverted_picked_and_a_branch_reset(cli: Cli, graph_copy: Path) -> None:
    here = ("--store", graph_copy)
    commit = mutate(cli, graph_copy, 'insert Person { name: "Eve" }', "review")
    preview = cli("cherry-pick", commit, "--preview", *here).out
    assert preview.startswith(f"picking {commit} onto main would change:")
    picked = ask(cli, "cherry-pick", commit.lower(), *here, "--as", "ada")
    assert picked["picked_commit_id"] == commit
    assert ask(cli, "cherry-pick", commit, *here)["commit"] is None
    undone = cli("revert", picked["commit"]["graph_commit_id"], *here).out
    assert undone.startswith(f"reverted {picked['commit']['graph_commit_id']} on main: 01")
    assert ask(cli, "diff", "v1", "main", *here)["changes"] == []
    done = ask(cli, "branch", "reset", "main", "--to", "review", *here)
    assert done["commit"] is not None
    assert ask(cli, "diff", "review", "main", *here)["changes"] == []
    again = cli("branch", "reset", "main", "--to", "review", *here).out
    assert "already up to date" in again


def test_blame_tells_who_changed_an_entity(cli: Cli, graph_copy: Path) -> None:
    mutate(cli, graph_copy, 'update Person set { age: 37 } where name = "Ada"')
    lines = cli("blame", "Person", "Ada", "--store", graph_copy).out.splitlines()
    assert lines[1:3] == ["~ Person Ada", "    age: 36 => 37"]
    assert lines[5] == "+ Person Ada"
    assert "by ada" in lines[4]
    nobody = cli("blame", "Person", "Nobody", "--store", graph_copy).out
    assert nobody == "Person Nobody does not occur in any commit\n"


# --- long lists ----------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [[], [1], [{"a": [1, 2]}, {"b": None}]])
@pytest.mark.parametrize("head", [{}, {"x": {"y": 1}}])
@pytest.mark.parametrize("tail", [{}, {"z": 1}, {"z": [1], "w": "é"}])
def test_a_long_list_is_the_same_json_as_a_short_one(items: Any, head: Any, tail: Any) -> None:
    text = "\n".join(json_list(head, "items", iter(items), lambda: tail))
    assert json.loads(text) == {**head, "items": items, **tail}
    if items:
        assert text == json.dumps({**head, "items": items, **tail}, indent=2, ensure_ascii=False)
