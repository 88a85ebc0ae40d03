"""``omnigraph snapshot``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import Rows, block, page_of, table
from omnigraph.cli.targets import find_target, target_options

__all__ = ["command"]

_COLUMNS = {
    "entity_kind": "kind",
    "type_name": "type",
    "entity_count": "count",
    "published_dataset_version": "version",
    "dataset_path": "path",
}


@verb(
    "snapshot",
    tabular=True,
    examples=(
        "omnigraph snapshot people.omni",
        "omnigraph snapshot --store people.omni --at main@2026-11-01T12:00:00Z",
    ),
)
@click.argument("uri", required=False)
@target_options
@click.pass_obj
def command(call: Invocation, uri: str | None, branch: str | None, at: str | None) -> None:
    """List the dataset versions of a target with their entity counts."""
    with open_to_read(call, uri) as graph:
        body = graph.at(find_target(branch, at)).snapshot()
    page = page_of(sys.stdout)
    head = block(
        [
            ("branch", body["graph_branch"]),
            ("commit", body["graph_commit_id"]),
            ("version", body["graph_manifest_version"]),
            ("format", body["internal_schema_version"]),
        ],
        page,
    )
    rows = [[dataset[key] for key in _COLUMNS] for dataset in body["datasets"]]
    heads = [*_COLUMNS.values()]
    about = {key: value for key, value in body.items() if key != "datasets"}
    lines = [*head, "", *table(heads, rows, page)]
    call.print_rows(body, Rows(heads, rows, about), lines=lines)
