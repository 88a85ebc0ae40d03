"""``omnigraph commit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.api.change_json import cause_to_json, change_to_json, schema_change_to_json
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.cli.address import open_to_read
from omnigraph.cli.changes import (
    change_lines,
    filter_options,
    json_list,
    schema_change_line,
)
from omnigraph.cli.commits import COMMIT_COLUMNS, cause_line, commit_fields, commit_row
from omnigraph.cli.inputs import parse_time
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows, block, page_of, table
from omnigraph.cli.terminal import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from omnigraph.api.change_pages import CommitChanges
    from omnigraph.api.commit_listing import CommitPage
    from omnigraph.api.graph import Graph

__all__ = ["command"]


@verb_group("commit")
def command() -> None:
    """List and show commits and their changes."""


@verb(
    "list",
    tabular=True,
    examples=(
        "omnigraph commit list people.omni",
        "omnigraph commit list --branch review --actor ada --since 2026-11-01",
        "omnigraph commit list --limit 100 --page-token 01K5T3V9QX8R2M4N6P7S9W0Y1Z",
    ),
)
@click.argument("uri", required=False)
@click.option("--branch", default="main", show_default=True, help="The branch.")
@click.option("--actor", help="Only commits by this actor.")
@click.option("--kind", help="Only commits of this kind, such as mutation or load.")
@click.option("--since", metavar="TIME", help="Not older than this.")
@click.option("--until", metavar="TIME", help="Not newer than this.")
@click.option("--limit", type=int, metavar="N", help="Page size; a page token follows.")
@click.option("--page-token", metavar="TOKEN", help="Continue after the previous page.")
@click.pass_obj
def list_(
    call: Invocation,
    *,
    uri: str | None,
    branch: str,
    actor: str | None,
    kind: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    page_token: str | None,
) -> None:
    """List the commits of a branch, newest first."""
    wanted = CommitFilter(
        target=branch,
        actor=actor,
        kind=kind,
        since_micros=parse_time("--since", since),
        until_micros=parse_time("--until", until),
        limit=limit,
        page_token=page_token,
    )
    with open_to_read(call, uri) as graph:
        page = graph.commits.list(wanted)
    body = page.to_json()
    rows = [commit_row(commit) for commit in page.commits]
    about = {key: value for key, value in body.items() if key != "commits"}
    call.print_rows(body, Rows(COMMIT_COLUMNS, rows, about), lines=_lines(page))


def _lines(page: CommitPage) -> Iterator[str]:
    rows = [commit_row(commit) for commit in page.commits]
    yield from table(COMMIT_COLUMNS, rows, page_of(sys.stdout))
    if page.next_page_token:
        yield f"more: --page-token {page.next_page_token}"


@verb("show", examples=("omnigraph commit show 01K5T3V9QX8R2M4N6P7S9W0Y1Z",))
@click.argument("commit_id", metavar="ID")
@click.pass_obj
def show(call: Invocation, commit_id: str) -> None:
    """Show one commit."""
    with open_to_read(call) as graph:
        commit = graph.commits.show(commit_id.upper())
    call.print_result(commit_to_json(commit), block(commit_fields(commit), page_of(sys.stdout)))


@verb(
    "changes",
    examples=(
        "omnigraph commit changes 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni",
        "omnigraph commit changes 01K5T3V9QX8R2M4N6P7S9W0Y1Z --type Person --json",
    ),
)
@click.argument("commit_id", metavar="ID")
@click.option("--limit", type=int, metavar="N", help="Page size in changes.")
@click.option("--page-token", metavar="TOKEN", help="Print only the page of this token.")
@filter_options
@click.pass_obj
def changes(
    call: Invocation,
    *,
    commit_id: str,
    limit: int | None,
    page_token: str | None,
    kinds: Sequence[str],
    types: Sequence[str],
    ops: Sequence[str],
) -> None:
    """List the changes of one commit, relative to its first parent."""
    wanted: dict[str, Any] = {"limit": limit, "kinds": kinds, "types": types, "ops": ops}
    with open_to_read(call) as graph:
        first = graph.changes.of_commit(commit_id.upper(), page_token=page_token, **wanted)
        if page_token is not None:
            call.print_result(first.to_json(), _page_lines([first]))
            return
        pages = _pages(graph, first, wanted)
        if not call.json:
            write_lines(_page_lines(pages))
            return
        told = (change_to_json(change) for page in pages for change in page.block.changes)
        head = {key: value for key, value in first.block.to_json().items() if key != "changes"}
        write_lines(json_list(head, "changes", told, dict))


def _pages(graph: Graph, first: CommitChanges, wanted: dict[str, Any]) -> Iterator[CommitChanges]:
    page = first
    yield page
    while page.next_page_token is not None:
        commit_id = first.block.commit.id
        page = graph.changes.of_commit(commit_id, page_token=page.next_page_token, **wanted)
        yield page


def _page_lines(pages: Iterable[CommitChanges]) -> Iterator[str]:
    for number, page in enumerate(pages):
        if not number:
            yield cause_line(cause_to_json(page.block.commit))
        for defined in page.block.schema_changes:
            yield schema_change_line(schema_change_to_json(defined))
        for change in page.block.changes:
            yield from change_lines(change_to_json(change))


for each in (list_, show, changes):
    command.add_command(each)
