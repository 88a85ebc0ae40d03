"""Define the flags and the output of changes, merges and conflicts."""

from __future__ import annotations

import json
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.inputs import read_text
from omnigraph.cli.terminal import colorize, escape_controls, supports_unicode
from omnigraph.errors import InvalidInput
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "change_lines",
    "filter_options",
    "find_resolutions",
    "json_list",
    "merge_lines",
    "picked_lines",
    "resolution_options",
]

_SIGNS = {"insert": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_VALUE_MAX = 60


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the repeatable filters ``--kind``, ``--type`` and ``--op``."""
    for flag, name, choices in (
        ("--op", "ops", click.Choice(["insert", "update", "delete"])),
        ("--type", "types", None),
        ("--kind", "kinds", click.Choice(["node", "edge"])),
    ):
        command = click.option(
            flag,
            name,
            multiple=True,
            type=choices,
            metavar=None if choices else "TYPE",
            help=f"Only changes of this {flag[2:]}; repeatable.",
        )(command)
    return command


def resolution_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--preview``, ``--strategy`` and ``--resolve``."""
    command = click.option(
        "--resolve",
        metavar="FILE",
        help="Resolutions of single conflicts, as JSON; - is stdin.",
    )(command)
    command = click.option(
        "--strategy",
        type=click.Choice(["ours", "theirs"]),
        help="Resolve every conflict with one side; ours is the target branch.",
    )(command)
    return click.option(
        "--preview", is_flag=True, help="Report conflicts and a summary without writing."
    )(command)


def find_resolutions(file: str | None) -> list[Any] | None:
    """Read the resolutions in a file; the merge validates them."""
    if file is None:
        return None
    try:
        found = parse_json(read_text(file))
    except ValueError as error:
        raise InvalidInput(
            "usage.bad_resolve",
            f"{file} is not JSON: {error}",
            remedy='a list of {"conflict_id": …, "take": "ours" | "theirs" | {"value": {…}}}',
        ) from None
    return list(found) if isinstance(found, list) else [found]


def change_lines(change: Mapping[str, Any]) -> Iterator[str]:
    """Format a change: one line, and one for each updated property."""
    sign, colour = _SIGNS[change["op"]]
    ends = (change.get("after") or change["before"]).get("endpoints")
    between = f" {ends['from']} → {ends['to']}" if ends else ""
    if not supports_unicode(sys.stdout):
        between = between.replace("→", "->")
    line = f"{sign} {change['type']['name']} {change['id']}{between}"
    yield colorize(escape_controls(line), colour, sys.stdout)
    for name in change.get("changed", ()):
        before, after = (_value(change[side], name) for side in ("before", "after"))
        yield escape_controls(f"    {name}: {before} => {after}")


def schema_change_line(change: Mapping[str, Any]) -> str:
    """Format a schema change in one line."""
    name = change["type"]["name"]
    if "property" in change:
        name = f"{name}.{change['property']['name']}"
    verb = change["op"].replace("_", " ")
    previous = f" (was {change['previous_name']})" if "previous_name" in change else ""
    return colorize(escape_controls(f"# {verb} {name}{previous}"), "cyan", sys.stdout)


def merge_lines(body: Mapping[str, Any]) -> Iterator[str]:
    """Format the summary of a merge, revert or cherry-pick, and the conflicts of a preview."""
    for part in body["summary"]:
        counts = [
            f"{sign}{part[name]}"
            for sign, name in (("+", "inserted"), ("~", "updated"), ("-", "deleted"))
            if name in part
        ]
        if not counts:
            # The merge did not read the rows; the manifests have their counts.
            counts = [f"{part['entities_before']} => {part['entities_after']} entities"]
        how = ["(taken over unchanged)"] if part["taken_over"] else []
        yield f"  {part['kind']} {part['type']}  {'  '.join([*counts, *how])}"
    for conflict in body.get("conflicts", ()):
        yield escape_controls(f"! {conflict['conflict_id']}  {conflict['kind']}")
        yield escape_controls(f"    {conflict['message']}")
        yield from _sides(conflict)


def _sides(conflict: Mapping[str, Any]) -> Iterator[str]:
    """Format the conflicting values of each side."""
    if not conflict["takes"]:
        yield "    not resolvable by a choice: align the two schemas first"
    states = {side: conflict.get(side) for side in ("base", "ours", "theirs")}
    if not any(states.values()):
        return
    for name in conflict.get("properties", ()):
        values = [
            f"{side} {_value(state, name)}" if state else f"not in {side}"
            for side, state in states.items()
        ]
        yield escape_controls(f"    {name}: {', '.join(values)}")


def picked_lines(body: Mapping[str, Any], done: str, doing: str) -> Iterator[str]:
    """Format the result or the preview of a revert or cherry-pick."""
    if not body.get("preview"):
        landed = body["commit"]
        yield f"{done}: {landed['graph_commit_id'] if landed else 'nothing to change'}"
    elif body["conflicts"]:
        yield f"{doing} would not work: {len(body['conflicts'])} to be decided"
    else:
        yield f"{doing} would change{':' if body['summary'] else ' nothing'}"
    yield from merge_lines(body)


def json_list(
    head: Mapping[str, Any], name: str, items: Iterable[Any], tail: Callable[[], dict[str, Any]]
) -> Iterator[str]:
    """Print an object with one long list incrementally; ``tail`` returns its last fields.

    The first item is fetched before anything is printed, so that an early error is the only output.
    """
    source = iter(items)
    first = [*islice(source, 1)]
    yield "{"
    for key, value in head.items():
        yield f"{_indented(key, 2)}: {_indented(value, 2).lstrip()},"
    yield f"{_indented(name, 2)}: ["
    waiting: str | None = None
    for item in chain(first, source):
        if waiting is not None:
            yield f"{waiting},"
        waiting = _indented(item, 4)
    if waiting is not None:
        yield waiting
    rest = tail()
    yield "  ]," if rest else "  ]"
    for number, (key, value) in enumerate(rest.items(), 1):
        comma = "," if number < len(rest) else ""
        yield f"{_indented(key, 2)}: {_indented(value, 2).lstrip()}{comma}"
    yield "}"


def _indented(value: Any, spaces: int) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=not supports_unicode(sys.stdout))
    return "\n".join(f"{'':>{spaces}}{line}" for line in text.splitlines())


def _value(image: Mapping[str, Any], name: str) -> str:
    ends = image.get("endpoints", {})
    value = ends[name] if name in ends else image["properties"].get(name)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"
