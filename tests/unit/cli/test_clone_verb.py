"""``omnigraph clone``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import omnigraph

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]


def test_a_graph_is_copied_and_brought_up_to_date(
    cli: Cli, graph_copy: Path, tmp_path: Path
) -> None:
    target = tmp_path / "backup.omni"
    done = cli("clone", graph_copy, target, "--json")
    assert done.code == 0, done.err
    assert done.err.startswith(f"omnigraph clone → {target} (direct, local)")
    body = json.loads(done.out)
    assert (body["branches"], body["commits"] > 0) == (["main", "review"], True)
    assert cli("clone", graph_copy, target, "--incremental").out == f"{target} was up to date\n"
    with omnigraph.open(graph_copy) as graph:
        graph.mutate('query q() { insert Person { name: "Zed" } }')
    again = cli("clone", graph_copy, target, "--incremental")
    assert again.out.startswith("copied 1 commit in ")
    with omnigraph.open(graph_copy) as graph, omnigraph.open(target) as copy:
        assert copy.id == graph.id
        assert copy.commits.list().commits == graph.commits.list().commits


def test_only_the_named_branches_are_copied(cli: Cli, graph_copy: Path, tmp_path: Path) -> None:
    with omnigraph.open(graph_copy) as graph:
        graph.branches.create("other")
    done = cli("clone", graph_copy, tmp_path / "part.omni", "--branch", "review", "--json")
    assert json.loads(done.out)["branches"] == ["main", "review"]


def test_refusals_have_a_code_and_a_remedy(cli: Cli, graph_copy: Path, tmp_path: Path) -> None:
    cli("clone", graph_copy, tmp_path / "backup.omni")
    (tmp_path / "link").symlink_to(tmp_path / "backup.omni")
    for code, arguments in (
        ("graph.nested", (graph_copy, tmp_path / "backup.omni" / "inner")),
        ("graph.nested", (graph_copy, tmp_path / "link" / "inner")),
        ("graph.exists", (graph_copy, tmp_path / "backup.omni")),
        ("graph.missing", (tmp_path / "none.omni", tmp_path / "x.omni")),
        ("branch.missing", (graph_copy, tmp_path / "x.omni", "--branch", "nobody")),
        ("clone.same_place", (graph_copy, graph_copy)),
        ("usage.store_refused", (graph_copy, tmp_path / "x.omni", "--store", graph_copy)),
        ("usage.actor_refused", (graph_copy, tmp_path / "x.omni", "--as", "ada")),
    ):
        done = cli("clone", *arguments)
        assert done.code != 0
        assert f"[{code}]" in done.err
        assert "help: " in done.err
    assert not (tmp_path / "backup.omni" / "inner").exists()
