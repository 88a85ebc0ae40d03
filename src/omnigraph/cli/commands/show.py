"""``omnigraph show``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.api.commits import commit_to_json
from omnigraph.cli.address import open_to_read
from omnigraph.cli.commits import commit_fields
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import block, page_of, table
from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from omnigraph.api.commits import Commit
    from omnigraph.api.graph import Graph

__all__ = ["command"]

_COLUMNS = ("entity_kind", "type_name", "entities_before", "entities_after")
_HEADS = ("kind", "type", "before", "after")


@verb(
    "show",
    examples=(
        "omnigraph show 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni",
        "omnigraph show review --store people.omni",
    ),
)
@click.argument("target", metavar="COMMIT")
@click.pass_obj
def command(call: Invocation, target: str) -> None:
    """Show one commit and the types that it changed.

    COMMIT is a commit id; a branch, a tag, BRANCH@TIME or BRANCH@vN select a commit.
    """
    with open_to_read(call) as graph:
        commit = graph.commits.show(graph.at(target).snapshot()["graph_commit_id"])
        changed = _changed_types(graph, commit)
    page = page_of(sys.stdout)
    lines = list(block(commit_fields(commit), page))
    if changed:
        rows = [[change[column] for column in _COLUMNS] for change in changed]
        lines += ["", *table(_HEADS, rows, page)]
    call.print_result({**commit_to_json(commit), "changed_types": changed}, lines)


def _changed_types(graph: Graph, commit: Commit) -> list[dict[str, Any]]:
    """Return the types whose dataset version differs from the parent, with their sizes."""
    before = _datasets(graph, commit.parent.id) if commit.parent else {}
    after = _datasets(graph, commit.id)
    if before is None or after is None:
        return []
    return [
        {
            **_identity(after.get(key) or before[key]),
            "entities_before": before[key]["entity_count"] if key in before else None,
            "entities_after": after[key]["entity_count"] if key in after else None,
        }
        for key in dict.fromkeys((*before, *after))
        if _version(before.get(key)) != _version(after.get(key))
    ]


def _datasets(graph: Graph, commit_id: str) -> dict[str, dict[str, Any]] | None:
    """Return the datasets of a commit by path, or None if cleanup has removed them."""
    try:
        snapshot = graph.at(commit_id).snapshot()
    except NotFound:
        return None
    return {dataset["dataset_path"]: dataset for dataset in snapshot["datasets"]}


def _identity(dataset: dict[str, Any]) -> dict[str, Any]:
    return {key: dataset[key] for key in ("entity_kind", "type_name")}


def _version(dataset: dict[str, Any] | None) -> int | None:
    return dataset["published_dataset_version"] if dataset else None
