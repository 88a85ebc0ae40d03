"""``omnigraph schema``."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.catalog.render import render_plan
from omnigraph.cli.address import announce, open_to_read, open_to_write, require_consent
from omnigraph.cli.durable import install
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.targets import find_target, target_options
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.operations.evolve.apply import SchemaResult

__all__ = ["command"]


@verb_group("schema")
def command() -> None:
    """Show the schema of a graph, plan a change of it, apply one, or draft one from files."""


def _change_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What planning and applying have in common."""
    for option in (
        click.option(
            "--backfill",
            "fills",
            multiple=True,
            metavar="TYPE.PROPERTY=VALUE",
            help="Values for rows that exist: another property, or a constant in JSON.",
        ),
        click.option(
            "--allow-data-loss", is_flag=True, help="Drop for good: history may lose it, too."
        ),
        click.option("--branch", default="main", show_default=True, help="Whose schema changes."),
        click.option(
            "--schema", "file", required=True, metavar="FILE", help="The schema that is wanted."
        ),
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
    call.answer({"schema_source": source}, [source.rstrip("\n")])


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
    """List the steps from the accepted schema to the one in FILE. Nothing is changed.

    No data is read: what has to hold of it is listed with the steps. Exit code 1 when a step is
    refused.
    """
    wanted, backfill = read_text(file), _parse_fills(fills)
    with open_to_read(call, uri) as graph:
        steps = graph.at(branch).plan_schema(
            wanted, source_name=file, allow_data_loss=allow_data_loss, backfill=backfill
        )
        call.answer({"uri": graph.uri, **steps.to_json()}, [render_plan(steps)])
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
@click.option("--message", metavar="TEXT", help="What the commit says of itself.")
@click.option(
    "--if-commit", metavar="ID", help="Only while the branch is at this commit; else exit code 4."
)
@click.option("--dry-run", is_flag=True, help="Plan, check the data, and write nothing.")
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
    """Make the schema in FILE that of a branch, as one commit.

    Data is checked first, and rewritten where it must be; what is dropped stays readable in older
    commits, unless --allow-data-loss. Applying a schema twice has no second effect.
    """
    wanted, backfill = read_text(file), _parse_fills(fills)
    with open_to_read(call, uri) if dry_run else open_to_write(call, uri) as graph:
        if not dry_run:
            announce(call, "schema apply", graph.uri)
        if allow_data_loss and not dry_run:
            require_consent(call, graph.uri, action="dropping data for good")
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
        call.answer(result.to_json(), [render_plan(result.plan), *_outcome(result)])


def _outcome(result: SchemaResult) -> list[str]:
    if result.commit is not None:
        return [f"applied to {result.branch}: {result.commit.id}"]
    return ["The data allows it; nothing was written."] if result.dry_run else []


def _parse_fills(fills: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in fills:
        place, mark, value = entry.partition("=")
        if not mark or place.strip() in found:
            raise InvalidInput(
                "usage.bad_backfill",
                f"--backfill {entry!r}: {'names a property twice' if mark else 'has no value'}",
                remedy="write TYPE.PROPERTY=OTHER_PROPERTY, or TYPE.PROPERTY=JSON",
            )
        found[place.strip()] = value
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
@click.option("--type", "type_name", metavar="TYPE", help="The one type of all the files.")
@click.option("--out", metavar="FILE", help="Where to write it; stdout by default.")
@click.pass_obj
def infer(call: Invocation, files: tuple[str, ...], type_name: str | None, out: str | None) -> None:
    """Draft a schema from CSV, Parquet, Arrow and JSON files.

    A table is of one type, named after its file; one with columns from and to holds edges. Records
    may say what they are, as `load` reads them. Read the draft before you use it: data shows what
    is there, not what is meant.
    """
    from omnigraph.operations.infer import infer_schema  # noqa: PLC0415 - the door to Arrow

    draft = infer_schema(files, type=type_name)
    if out is None:
        call.answer(draft.to_json(), [draft.schema.rstrip("\n")])
        return
    if Path(out).exists():
        raise InvalidInput("file.exists", f"{out} exists", remedy="choose another --out")
    install(Path(out), [draft.schema.encode()])
    call.answer({**draft.to_json(), "out": out}, [f"drafted {len(draft.counts)} types in {out}"])


for each in (show, plan, apply, infer):
    command.add_command(each)

# Another word for it, which `--help` need not list.
_get = copy(show)
_get.hidden = True
command.add_command(_get, "get")
