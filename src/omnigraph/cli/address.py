"""Which graph a command line means, and whether the user means it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

import omnigraph
from omnigraph.cli.terminal import spells_unicode, write_error
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.cli.invocation import Invocation
    from omnigraph.graph.facade import Graph

__all__ = [
    "STORE_VARIABLE",
    "announce",
    "find_address",
    "is_addressed",
    "is_local",
    "open_to_read",
    "open_to_write",
    "require_consent",
]

STORE_VARIABLE = "OMNIGRAPH_STORE"


def open_to_read(call: Invocation, uri: str | None = None) -> Graph:
    """The graph that the command line names; opening it like this writes nothing at all."""
    graph = omnigraph.open(find_address(call, uri), read_only=True)
    _warn_of_unreadable_intents(graph)
    return graph


def open_to_write(call: Invocation, uri: str | None = None) -> Graph:
    """The graph that the command line names, for the actor that it names."""
    graph = omnigraph.open(find_address(call, uri), actor=call.actor)
    _warn_of_unreadable_intents(graph)
    return graph


def is_addressed(call: Invocation, uri: str | None = None) -> bool:
    """Whether the command line names a graph; the environment does not count."""
    return bool(uri or call.stores)


def find_address(call: Invocation, uri: str | None = None) -> str:
    """The one graph that is named: as an argument, by ``--store``, or by the environment."""
    named = [*([uri] if uri is not None else []), *call.stores]
    if len(named) > 1:
        raise InvalidInput(
            "usage.two_addresses",
            f"the command line names {len(named)} graphs: {', '.join(named)}",
            remedy="name one, either as an argument or by --store",
        )
    if named:
        return named[0]
    default = os.environ.get(STORE_VARIABLE)
    if not default:
        raise InvalidInput(
            "usage.no_address",
            "no graph addressed",
            remedy=f"name one by --store URI, or set {STORE_VARIABLE}",
        )
    return default


def is_local(uri: str) -> bool:
    """A path on this machine, rather than a bucket that others may share."""
    return "://" not in uri or uri.lower().startswith("file://")


def announce(call: Invocation, verb: str, uri: str) -> None:
    """Say on stderr what is about to be written to."""
    arrow = "→" if spells_unicode(sys.stderr) else "->"
    place = "local" if is_local(uri) else "remote"
    call.remark(f"omnigraph {verb} {arrow} {uri} (direct, {place})")


def require_consent(call: Invocation, uri: str, *, action: str, yes: bool) -> None:
    """Destroying something that others may share needs a yes: as a flag, or typed."""
    if yes or is_local(uri):
        return
    if call.json or sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(
            "usage.consent_needed",
            f"{action} on {uri} cannot be undone",
            remedy="add --yes if this is meant",
        )
    typed = click.prompt(f"{action} on {uri}? Type yes to go on", default="no", err=True)
    if typed.strip().lower() not in {"yes", "y"}:
        raise InvalidInput("usage.consent_refused", "nothing was done")


def _warn_of_unreadable_intents(graph: Graph) -> None:
    """They block nobody, and nobody but the operator can tell what to do about them."""
    for left in graph.recoveries.pending():
        if left.reason.startswith("unreadable"):
            write_error(f"warning: intent {left.id} is {left.reason}")
