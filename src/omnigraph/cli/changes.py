"""Changes on the command line: the flags that choose them, and how they look."""

from __future__ import annotations

import json
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.inputs import read_text
from omnigraph.cli.terminal import escape_controls, paint, spells_unicode
from omnigraph.errors import InvalidInput
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "change_lines",
    "decision_options",
    "filter_options",
    "find_resolutions",
    "json_list",
    "merge_lines",
    "picked_lines",
]

_SIGNS = {"insert": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_VALUE_MAX = 60


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--kind``, ``--type`` and ``--op``, each as often as wanted."""
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
            help=f"Only changes of this {flag[2:]}. May be given again.",
        )(command)
    return command


def decision_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--preview``, and how conflicts are decided."""
    command = click.option(
        "--resolve",
        metavar="FILE",
        help="Decisions about single conflicts, as JSON; - is stdin.",
    )(command)
    command = click.option(
        "--strategy",
        type=click.Choice(["ours", "theirs"]),
        help="Decide every conflict for one side; ours is the branch that is written.",
    )(command)
    return click.option(
        "--preview", is_flag=True, help="Tell conflicts and a summary, and write nothing."
    )(command)


def find_resolutions(file: str | None) -> list[Any] | None:
    """The decisions in a file; what they say is checked by whoever uses them."""
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
    """A change for people: one line, and one for each property that an update changed."""
    sign, colour = _SIGNS[change["op"]]
    ends = (change.get("after") or change["before"]).get("endpoints")
    between = f" {ends['from']} → {ends['to']}" if ends else ""
    if not spells_unicode(sys.stdout):
        between = between.replace("→", "->")
    line = f"{sign} {change['type']['name']} {change['id']}{between}"
    yield paint(escape_controls(line), colour, sys.stdout)
    for name in change.get("changed", ()):
        before, after = (_value(change[side], name) for side in ("before", "after"))
        yield escape_controls(f"    {name}: {before} => {after}")


def schema_change_line(change: Mapping[str, Any]) -> str:
    """A change of a definition for people, in one line."""
    name = change["type"]["name"]
    if "property" in change:
        name = f"{name}.{change['property']['name']}"
    verb = change["op"].replace("_", " ")
    previous = f" (was {change['previous_name']})" if "previous_name" in change else ""
    return paint(escape_controls(f"# {verb} {name}{previous}"), "cyan", sys.stdout)


def merge_lines(body: Mapping[str, Any]) -> Iterator[str]:
    """The summary of a merge, a revert or a picked commit, and the conflicts of a preview."""
    for part in body["summary"]:
        counts = [
            f"{sign}{part[name]}"
            for sign, name in (("+", "inserted"), ("~", "updated"), ("-", "deleted"))
            if name in part
        ]
        if not counts:
            # The merge did not read the rows; their numbers come from the manifests.
            counts = [f"{part['entities_before']} => {part['entities_after']} entities"]
        how = ["(taken over as it is)"] if part["taken_over"] else []
        yield f"  {part['kind']} {part['type']}  {'  '.join([*counts, *how])}"
    for conflict in body.get("conflicts", ()):
        yield escape_controls(f"! {conflict['conflict_id']}  {conflict['kind']}")
        yield escape_controls(f"    {conflict['message']}")
        yield from _sides(conflict)


def _sides(conflict: Mapping[str, Any]) -> Iterator[str]:
    """What each side has of what is disputed: without it nobody can choose."""
    if not conflict["takes"]:
        yield "    no choice settles it: bring the two schemas together first"
    states = {side: conflict.get(side) for side in ("base", "ours", "theirs")}
    if not any(states.values()):
        return
    for name in conflict.get("properties", ()):
        told = [
            f"{side} {_value(state, name)}" if state else f"not in {side}"
            for side, state in states.items()
        ]
        yield escape_controls(f"    {name}: {', '.join(told)}")


def picked_lines(body: Mapping[str, Any], done: str, doing: str) -> Iterator[str]:
    """What became of a commit that was reverted or picked; of a preview, what would."""
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
    """An object with one long list, printed as the list comes in. ``tail`` is asked at the end.

    Nothing is printed before the first item is known: what is refused at once is refused alone.
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
    text = json.dumps(value, indent=2, ensure_ascii=not spells_unicode(sys.stdout))
    return "\n".join(f"{'':>{spaces}}{line}" for line in text.splitlines())


def _value(image: Mapping[str, Any], name: str) -> str:
    ends = image.get("endpoints", {})
    value = ends[name] if name in ends else image["properties"].get(name)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"
