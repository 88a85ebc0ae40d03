"""``omnigraph schema``."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.catalog.render import render_plan
from omnigraph.cli.address import announce, open_to_read, open_to_write, require_consent
from omnigraph.cli.atomic_files import write_atomically
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.managed_roots import require_unmanaged
from omnigraph.cli.targets import find_target, target_options
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.api.schemas import SchemaResult

__all__ = ["command"]


@verb_group("schema")
def command() -> None:
    """Show, plan and apply schemas, or infer one from files."""


def _change_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the common flags of ``plan`` and ``apply``."""
    for option in (
        click.option(
            "--backfill",
            "fills",
            multiple=True,
            metavar="TYPE.PROPERTY=VALUE",
            help="Value for existing rows: a property, or a JSON constant.",
        ),
        click.option(
            "--allow-data-loss", is_flag=True, help="Drop permanently, also from history."
        ),
        click.option("--branch", default="main", show_default=True, help="The branch to change."),
        click.option("--schema", "file", required=True, metavar="FILE", help="The desired schema."),
    ):
        function = option(function)
    return function


@verb(
    "show",
    examples=(
        "omnigraph schema show people.omni > people.pg",
        "omnigraph schema show --store people.omni --at v1.2",
    ),
)
@click.argument("uri", required=False)
@target_options
@click.pass_obj
def show(call: Invocation, uri: str | None, branch: str | None, at: str | None) -> None:
    """Print the schema at a target, as .pg."""
    with open_to_read(call, uri) as graph:
        source = graph.at(find_target(branch, at)).schema
    call.print_result({"schema_source": source}, [source.rstrip("\n")])


@verb("plan", examples=("omnigraph schema plan people.omni --schema people.pg",))
@click.argument("uri", required=False)
@_change_options
@click.pass_obj
def plan(
    call: Invocation,
    uri: str | None,
    *,
    file: str,
    branch: str,
    allow_data_loss: bool,
    fills: Sequence[str],
) -> None:
    """List the steps from the accepted schema to the one in FILE, without changes.

    No data is read: the conditions on the data are listed with the steps. The exit code is 1 if a
    step is refused.
    """
    wanted, backfill = read_text(file), _parse_fills(fills)
    with open_to_read(call, uri) as graph:
        steps = graph.at(branch).plan_schema(
            wanted, source_name=file, allow_data_loss=allow_data_loss, backfill=backfill
        )
        call.print_result({"uri": graph.uri, **steps.to_json()}, [render_plan(steps)])
    if not steps.supported:
        raise click.exceptions.Exit(1)


@verb(
    "apply",
    writes=True,
    destroys=True,
    examples=(
        "omnigraph schema apply people.omni --schema people.pg --as ada",
        "omnigraph schema apply people.omni --schema people.pg --branch review --dry-run",
        "omnigraph schema apply people.omni --schema people.pg \\",
        """    --backfill Person.full_name=name --backfill 'Person.country="NL"'""",
    ),
)
@click.argument("uri", required=False)
@_change_options
@click.option("--message", metavar="TEXT", help="The commit message.")
@click.option(
    "--if-commit", metavar="ID", help="Require this commit as the head; else exit code 4."
)
@click.option("--dry-run", is_flag=True, help="Plan and check the data without writing.")
@click.pass_obj
def apply(
    call: Invocation,
    uri: str | None,
    *,
    file: str,
    branch: str,
    allow_data_loss: bool,
    fills: Sequence[str],
    message: str | None,
    if_commit: str | None,
    dry_run: bool,
) -> None:
    """Apply the schema in FILE to a branch, as one commit.

    Data is checked first and rewritten where necessary. Dropped data stays readable in older
    commits, unless --allow-data-loss. Applying a schema is idempotent.
    """
    wanted, backfill = read_text(file), _parse_fills(fills)
    with open_to_read(call, uri) if dry_run else open_to_write(call, uri) as graph:
        if not dry_run:
            require_unmanaged(graph.uri, action="schema apply")
            announce(call, "schema apply", graph.uri)
        if allow_data_loss and not dry_run:
            require_consent(call, graph.uri, action="dropping data permanently")
        result = graph.apply_schema(
            wanted,
            branch=branch,
            allow_data_loss=allow_data_loss,
            backfill=backfill,
            actor=call.actor,
            message=message,
            if_commit=if_commit.upper() if if_commit else None,
            dry_run=dry_run,
            source_name=file,
        )
        call.print_result(result.to_json(), [render_plan(result.plan), *_outcome(result)])


def _outcome(result: SchemaResult) -> list[str]:
    if result.commit is not None:
        return [f"applied to {result.branch}: {result.commit.id}"]
    return ["The data passes all checks; nothing was written."] if result.dry_run else []


def _parse_fills(fills: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in fills:
        target, mark, value = entry.partition("=")
        if not mark or target.strip() in found:
            raise InvalidInput(
                "usage.bad_backfill",
                f"--backfill {entry!r}: {'names a property twice' if mark else 'has no value'}",
                remedy="write TYPE.PROPERTY=OTHER_PROPERTY, or TYPE.PROPERTY=JSON",
            )
        found[target.strip()] = value
    return found


@verb(
    "infer",
    stored=False,
    examples=(
        "omnigraph schema infer people.csv knows.csv > people.pg",
        "omnigraph schema infer export.jsonl --out people.pg",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--type", "type_name", metavar="TYPE", help="The type of all files.")
@click.option("--out", metavar="FILE", help="The output file; the default is stdout.")
@click.pass_obj
def infer(call: Invocation, files: tuple[str, ...], type_name: str | None, out: str | None) -> None:
    """Infer a schema from CSV, Parquet, Arrow and JSON files.

    A table has one type, named after its file; one with columns from and to contains edges. JSON
    records may name their type, as for `load`. Review the schema before you use it: data does not
    show intent.
    """
    from omnigraph.loading.inference import infer_schema  # noqa: PLC0415 - imports Arrow

    draft = infer_schema(files, type=type_name)
    if out is None:
        call.print_result(draft.to_json(), [draft.schema.rstrip("\n")])
        return
    if Path(out).exists():
        raise InvalidInput("file.exists", f"{out} already exists", remedy="choose another --out")
    write_atomically(Path(out), [draft.schema.encode()])
    call.print_result(
        {**draft.to_json(), "out": out}, [f"drafted {len(draft.counts)} types in {out}"]
    )


for each in (show, plan, apply, infer):
    command.add_command(each)

# A hidden alias.
_get = copy(show)
_get.hidden = True
command.add_command(_get, "get")
