"""``omnigraph log``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.cli.address import open_to_read
from omnigraph.cli.commits import (
    History,
    commit_lines,
    draw_commits,
    names_by_commit,
    walk_ancestors,
)
from omnigraph.cli.invocation import Invocation, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.commits import Commit
    from omnigraph.api.graph import Graph

__all__ = ["command"]

_COUNT_DEFAULT = 30


@verb(
    "log",
    examples=(
        "omnigraph log people.omni",
        "omnigraph log --branch review -n 5 --store people.omni",
        "omnigraph log --graph --store people.omni",
        "omnigraph log --all --store people.omni",
    ),
)
@click.argument("uri", required=False)
@click.option("--branch", metavar="TARGET", help="The branch; main by default.")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    default=_COUNT_DEFAULT,
    show_default=True,
    metavar="N",
    help="At most N commits.",
)
@click.option(
    "--graph",
    "drawn",
    is_flag=True,
    help="Draw the commit graph, of all branches unless one is given. Select the graph of a "
    "server with --graph-id here.",
)
@click.option(
    "--all", "shows_all", is_flag=True, help="Show commits of maintenance and recovery as well."
)
@click.pass_obj
def command(
    call: Invocation,
    *,
    uri: str | None,
    branch: str | None,
    count: int,
    drawn: bool,
    shows_all: bool,
) -> None:
    """The history of a branch, newest first."""
    with open_to_read(call, uri) as graph:
        view = History(graph, shows_all=shows_all)
        names = names_by_commit(view)
        if drawn:
            commits = walk_ancestors(view, _heads(graph, branch), count)
            # Drawn while the graph is open: parents are looked up.
            lines = iter([*draw_commits(view, commits, names)])
        else:
            wanted = CommitFilter(
                target=branch or "main", limit=count, hide_maintenance=not shows_all
            )
            commits = list(graph.commits.list(wanted).commits)
            lines = (line for commit in commits for line in commit_lines(commit, names))
    body = {"commits": [commit_to_json(commit) | _named(commit, names) for commit in commits]}
    call.print_result(body, lines)


def _named(commit: Commit, names: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {"names": names[commit.id]} if commit.id in names else {}


def _heads(graph: Graph, branch: str | None) -> list[Commit]:
    if branch is None:
        return [info.head.commit for info in graph.branches.list()]
    return [graph.commits.show(graph.at(branch).snapshot()["graph_commit_id"])]
