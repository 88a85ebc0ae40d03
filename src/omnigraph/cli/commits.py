"""Format commits as rows or lines, with the branches and tags that point to them."""

from __future__ import annotations

import heapq
import sys
from typing import TYPE_CHECKING, Any

from omnigraph.cli.commit_graph import Node, draw
from omnigraph.cli.terminal import colorize, escape_controls
from omnigraph.errors import NotFound
from omnigraph.runtime.clock import format_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.api.commits import Commit, Counts
    from omnigraph.api.graph import Graph

__all__ = [
    "COMMIT_COLUMNS",
    "History",
    "cause_line",
    "commit_fields",
    "commit_lines",
    "commit_row",
    "draw_commits",
    "names_by_commit",
    "walk_ancestors",
]

COMMIT_COLUMNS = ("commit", "time", "kind", "actor", "changed", "message")


def commit_row(commit: Commit) -> tuple[Any, ...]:
    """Return a row with ``COMMIT_COLUMNS``."""
    return (
        commit.id,
        format_micros(commit.time_micros),
        commit.kind.value,
        commit.actor or "",
        _changes(commit.counts),
        commit.message or "",
    )


def commit_fields(commit: Commit) -> list[tuple[str, Any]]:
    """Return the fields of a commit; missing ones are None."""
    return [
        ("commit", commit.id),
        ("branch", commit.branch),
        ("parent", commit.parent.id if commit.parent else None),
        ("merged", commit.merged_parent.id if commit.merged_parent else None),
        ("time", format_micros(commit.time_micros)),
        ("kind", commit.kind.value),
        ("actor", commit.actor),
        ("message", commit.message),
        ("changed", _changes(commit.counts) or None),
        ("schema", commit.schema),
    ]


def commit_lines(commit: Commit, names: Mapping[str, list[str]]) -> list[str]:
    """Format a commit for ``log``, for narrow terminals."""
    pointing = f" ({', '.join(names[commit.id])})" if commit.id in names else ""
    author = f" by {escape_controls(commit.actor)}" if commit.actor else ""
    changes = _changes(commit.counts)
    lines = [
        f"{colorize(commit.id, 'yellow', sys.stdout)}{pointing}",
        format_micros(commit.time_micros),
        f"{commit.kind.value}{author}{': ' if changes else ''}{changes}",
        *map(escape_controls, (commit.message or "").splitlines()),
    ]
    return [*filter(None, lines), ""]


def cause_line(cause: Mapping[str, Any]) -> str:
    """Format the commit of a block of changes in one line."""
    author = f" by {cause['actor_id']}" if "actor_id" in cause else ""
    origin = f"{format_micros(cause['authored_at'])} on {cause['authored_branch']}{author}"
    return f"{colorize(cause['graph_commit_id'], 'yellow', sys.stdout)} {escape_controls(origin)}"


class History:
    """The commits of a graph as ``log`` shows them: without maintenance and recovery, unless
    ``shows_all``. A hidden commit is represented by its nearest visible ancestor."""

    def __init__(self, graph: Graph, *, shows_all: bool) -> None:
        self.graph = graph
        self._shows_all = shows_all

    def visible(self, commit: Commit) -> Commit:
        """Return a commit, or the ancestor that represents it."""
        while commit.kind.is_maintenance and not self._shows_all and commit.parent is not None:
            parent = _find(self.graph, commit.parent.id)
            if parent is None:
                break
            commit = parent
        return commit

    def visible_id(self, commit_id: str) -> str:
        """Return the id of a commit, or of the ancestor that represents it."""
        commit = None if self._shows_all else _find(self.graph, commit_id)
        return self.visible(commit).id if commit is not None else commit_id

    def parents(self, commit: Commit) -> list[Commit]:
        """Return the visible parents of a commit, without those that cleanup has removed."""
        refs = (ref for ref in (commit.parent, commit.merged_parent) if ref is not None)
        found = (_find(self.graph, ref.id) for ref in refs)
        return [self.visible(parent) for parent in found if parent is not None]


def names_by_commit(history: History) -> dict[str, list[str]]:
    """The branches whose head a commit is, and the tags that name it."""
    names: dict[str, list[str]] = {}
    for info in history.graph.branches.list():
        head = history.visible(info.head.commit)
        names.setdefault(head.id, []).append(info.ref.name)
    for tag in history.graph.tags.list():
        names.setdefault(history.visible_id(tag.commit), []).append(f"tag {tag.name}")
    return names


def walk_ancestors(history: History, heads: Iterable[Commit], count: int) -> list[Commit]:
    """Return commits with all their ancestors, newest first, at most ``count``.

    A commit is later than its parents, so children precede their parents.
    """
    known = {commit.id: commit for commit in map(history.visible, heads)}
    pending = [(-commit.time_micros, commit.id) for commit in known.values()]
    heapq.heapify(pending)
    ordered: list[Commit] = []
    while pending and len(ordered) < count:
        commit = known[heapq.heappop(pending)[1]]
        ordered.append(commit)
        for parent in history.parents(commit):
            if parent.id not in known:
                known[parent.id] = parent
                heapq.heappush(pending, (-parent.time_micros, parent.id))
    return ordered


def draw_commits(
    history: History, commits: Iterable[Commit], names: Mapping[str, list[str]]
) -> Iterator[str]:
    """Draw commits beside the lines of their ancestry."""
    return draw(
        Node(commit.id, _parent_ids(history, commit), commit_lines(commit, names))
        for commit in commits
    )


def _parent_ids(history: History, commit: Commit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parent.id for parent in history.parents(commit)))


def _find(graph: Graph, commit_id: str) -> Commit | None:
    """Return a commit, or None if cleanup has removed it."""
    try:
        return graph.commits.show(commit_id)
    except NotFound:
        return None


def _changes(counts: Counts) -> str:
    """Format counts as ``+2 ~1 nodes, +3 edges``: inserted, updated, deleted."""
    nodes = _change("node", counts.nodes_inserted, counts.nodes_updated, counts.nodes_deleted)
    edges = _change("edge", counts.edges_inserted, counts.edges_updated, counts.edges_deleted)
    return ", ".join(filter(None, (nodes, edges)))


def _change(noun: str, inserted: int, updated: int, deleted: int) -> str:
    signed = (("+", inserted), ("~", updated), ("-", deleted))
    parts = [f"{sign}{count}" for sign, count in signed if count]
    many = inserted + updated + deleted > 1
    return f"{' '.join(parts)} {noun}{'s' if many else ''}" if parts else ""
