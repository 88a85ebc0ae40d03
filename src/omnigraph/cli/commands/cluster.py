"""``omnigraph cluster``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.atomic_files import write_atomically
from omnigraph.cli.cluster_text import diagnostic_lines, plan_lines, result_line
from omnigraph.cli.exits import FAILED
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import plural
from omnigraph.errors import InvalidInput
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.cluster.commands import Cluster, ClusterResult

__all__ = ["command"]


@verb_group("cluster")
def command() -> None:
    """Declare graphs, schemas, queries and policies in cluster.yaml, plan and apply them."""


def _config_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--config",
        "directory",
        default=".",
        show_default=True,
        metavar="DIR",
        help="The directory of cluster.yaml.",
    )(function)


_recreate_option = click.option(
    "--recreate-empty", is_flag=True, help="Create graphs anew, empty, whose roots have vanished."
)


def _open(directory: str) -> Cluster:
    from omnigraph.cluster.commands import Cluster  # noqa: PLC0415 - imports the engine

    return Cluster(Path(directory))


def _finish(call: Invocation, result: ClusterResult, lines: list[str]) -> None:
    """Print a result; the exit code is 1 after an error."""
    shown = [*diagnostic_lines(result.diagnostics), *lines]
    call.print_result(result.to_json(), shown)
    if not result.ok:
        raise click.exceptions.Exit(FAILED)


@verb("validate", stored=False, examples=("omnigraph cluster validate --config ./cluster",))
@_config_option
@click.pass_obj
def validate(call: Invocation, directory: str) -> None:
    """Check cluster.yaml and all files that it names, without access to any storage.

    The exit code is 1 if there are errors.
    """
    result = _open(directory).validate()
    count = len(result.fields["resources"])
    _finish(call, result, [f"valid: {plural(count, 'resource')}"] if result.ok else [])


@verb(
    "plan",
    stored=False,
    examples=("omnigraph cluster plan", "omnigraph cluster plan --out change.json"),
)
@_config_option
@_recreate_option
@click.option("--out", metavar="FILE", help="Write the plan to FILE, for `apply --plan FILE`.")
@click.pass_obj
def plan(call: Invocation, *, directory: str, recreate_empty: bool, out: str | None) -> None:
    """Show what an apply would change, and why: nothing is locked or written."""
    result = _open(directory).plan(recreate_empty=recreate_empty)
    if out is not None and result.ok:
        write_atomically(Path(out), [call.to_json(result.to_json()).encode()])
    _finish(call, result, _plan_lines(result))


@verb(
    "apply",
    stored=False,
    writes=True,
    examples=("omnigraph cluster apply --as ada", "omnigraph cluster apply --plan change.json"),
)
@_config_option
@_recreate_option
@click.option("--plan", "plan_file", metavar="FILE", help="Apply exactly this saved plan.")
@click.pass_obj
def apply(call: Invocation, *, directory: str, recreate_empty: bool, plan_file: str | None) -> None:
    """Make storage equal the declaration: creations, schemas, payloads, approved deletions.

    What is blocked stays as it is, and the exit code is 0: see `converged`. An interrupted apply
    is completed by the next one.
    """
    saved = _read_plan(plan_file) if plan_file is not None else None
    call.default_actor = call.config.actor
    result = _open(directory).apply(actor=call.actor, recreate_empty=recreate_empty, saved=saved)
    lines = _plan_lines(result)
    if result.plan is not None:
        fields = result.fields
        lines.append(
            result_line(
                fields["applied_count"],
                deferred=fields["deferred_count"],
                converged=fields["converged"],
            )
        )
    _finish(call, result, lines)


@verb(
    "approve",
    stored=False,
    writes=True,
    examples=("omnigraph cluster approve graph.scratch --as ada",),
)
@click.argument("resource")
@_config_option
@click.pass_obj
def approve(call: Invocation, resource: str, directory: str) -> None:
    """Approve the deletion of a graph: RESOURCE is graph.ID.

    The approval holds for the current declaration and the current ledger only.
    """
    call.default_actor = call.config.actor
    if call.actor is None:
        raise InvalidInput("usage.no_actor", "an approval needs an actor", remedy="pass --as ACTOR")
    result = _open(directory).approve(resource, actor=call.actor)
    done = f"approved: {resource}, as {result.fields['approval_id']}" if result.ok else ""
    _finish(call, result, [done] if done else [])


@verb("status", stored=False, examples=("omnigraph cluster status",))
@_config_option
@click.pass_obj
def status(call: Invocation, directory: str) -> None:
    """Show the ledger, the lock and the state of the payloads, without observing graphs."""
    _finish_state(call, _open(directory).status())


@verb("observe", stored=False, examples=("omnigraph cluster observe --json",))
@_config_option
@click.pass_obj
def observe(call: Invocation, directory: str) -> None:
    """Show what `refresh` would record, without lock and without writing."""
    _finish_state(call, _open(directory).observe())


@verb("refresh", stored=False, examples=("omnigraph cluster refresh",))
@_config_option
@click.pass_obj
def refresh(call: Invocation, directory: str) -> None:
    """Observe graphs and payloads, and record drift in the ledger."""
    _finish_state(call, _open(directory).refresh())


@verb("import", stored=False, examples=("omnigraph cluster import --config ./cluster",))
@_config_option
@click.pass_obj
def import_(call: Invocation, directory: str) -> None:
    """Build a missing ledger from the graphs that exist."""
    _finish_state(call, _open(directory).import_state())


@verb(
    "undelete",
    stored=False,
    writes=True,
    examples=("omnigraph cluster undelete graph.scratch",),
)
@click.argument("resource")
@_config_option
@click.pass_obj
def undelete(call: Invocation, resource: str, directory: str) -> None:
    """Restore a deleted graph with all data. Declare it again before the next apply."""
    call.default_actor = call.config.actor
    result = _open(directory).undelete(resource, actor=call.actor)
    _finish(call, result, [f"restored: {resource}"] if result.ok else [])


@verb(
    "force-unlock",
    stored=False,
    examples=("omnigraph cluster force-unlock 01JD0000000000000000000000",),
)
@click.argument("lock_id")
@_config_option
@click.pass_obj
def force_unlock(call: Invocation, lock_id: str, directory: str) -> None:
    """End the lock LOCK_ID. The lock of a dead process ends without this command."""
    result = _open(directory).force_unlock(lock_id)
    _finish(call, result, [f"unlocked: {lock_id}"] if result.ok else [])


for each in (
    validate,
    plan,
    apply,
    approve,
    status,
    observe,
    refresh,
    import_,
    undelete,
    force_unlock,
):
    command.add_command(each)


def _plan_lines(result: ClusterResult) -> list[str]:
    return plan_lines(result.plan, result.changes) if result.plan is not None else []


def _finish_state(call: Invocation, result: ClusterResult) -> None:
    lines = []
    for address, state in sorted(result.fields.get("resource_statuses", {}).items()):
        conditions = ", ".join(state["conditions"])
        lines.append(f"{address}: {state['status']}{f' ({conditions})' if conditions else ''}")
    found = result.fields.get("state_observations", {})
    if found.get("locked"):
        lines.append(f"locked by `{found['lock_operation']}`: {found['lock_id']}")
    if found.get("state_found"):
        lines.append(f"revision {found['state_revision']}: {plural(len(lines), 'resource')}")
    _finish(call, result, lines)


def _read_plan(path: str) -> dict[str, Any]:
    try:
        found = parse_json(read_text(path))
    except (json.JSONDecodeError, ValueError) as error:
        raise InvalidInput("cluster.bad_plan", f"{path} is not a saved plan: {error}") from error
    if not isinstance(found, dict) or not {"plan_digest", "recreate_empty", "root"} <= set(found):
        raise InvalidInput(
            "cluster.bad_plan",
            f"{path} is not a saved plan",
            remedy="write one with `omnigraph cluster plan --out FILE`",
        )
    return found
