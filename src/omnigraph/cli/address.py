"""Opening what a command line addresses, embedded or over HTTP, and asking whether it is meant.

This is the one place of the command line that knows the difference: what it returns has the methods
of the facade.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import click

import omnigraph
from omnigraph import client
from omnigraph.cli.scope import ServerScope, find_scope
from omnigraph.cli.terminal import spells_unicode, write_error
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.cli.invocation import Invocation
    from omnigraph.client.remote import RemoteGraph
    from omnigraph.graph.facade import Graph
    from omnigraph.versioning.refs import DamagedRef

__all__ = [
    "announce",
    "connect",
    "connect_remote",
    "is_addressed",
    "is_local",
    "open_to_read",
    "open_to_write",
    "refuse_actor",
    "require_consent",
    "warn_of_damage",
]


def open_to_read(call: Invocation, uri: str | None = None) -> Graph:
    """The graph that the command line names; opening it like this writes nothing at all."""
    scope = find_scope(call, uri)
    if isinstance(scope, ServerScope):
        _refuse_policy(call, scope)
        return connect(call, scope)
    if call.policy is not None:
        call.default_actor = call.config.actor
    graph = omnigraph.open(scope.uri, read_only=True, policy=call.policy, actor=call.actor)
    _warn_of_unreadable_intents(graph)
    return graph


def open_to_write(call: Invocation, uri: str | None = None) -> Graph:
    """The graph that the command line names, for the actor that it or the operator's file names."""
    scope = find_scope(call, uri)
    if isinstance(scope, ServerScope):
        refuse_actor(call, scope)
        _refuse_policy(call, scope)
        return connect(call, scope)
    call.default_actor = call.config.actor
    graph = omnigraph.open(scope.uri, actor=call.actor, policy=call.policy)
    _warn_of_unreadable_intents(graph)
    return graph


def connect(call: Invocation, scope: ServerScope) -> Graph:
    """A graph of a server, behind the methods of the facade."""
    return cast("Graph", connect_remote(call, scope))


def connect_remote(call: Invocation, scope: ServerScope) -> RemoteGraph:
    """The same with what only a server has: stored queries, other graphs."""
    # Nobody who asks a graph on this machine waits for it.
    from omnigraph.cli.credentials import find_token  # noqa: PLC0415

    token = find_token(scope.url, call.config.servers)
    return client.connect(scope.url, token=token, graph=scope.graph)


def refuse_actor(call: Invocation, scope: ServerScope) -> None:
    """A server takes the actor from the token."""
    if call.actor is not None:
        raise InvalidInput(
            "usage.actor_refused",
            f"{scope.url} knows who writes from the token, not from --as",
            remedy="leave --as out",
        )


def _refuse_policy(call: Invocation, scope: ServerScope) -> None:
    if call.policy is not None:
        raise InvalidInput(
            "usage.policy_refused",
            f"{scope.url} has a policy of its own",
            remedy="leave --policy out",
        )


def is_addressed(call: Invocation, uri: str | None = None) -> bool:
    """Whether the command line names a graph; the environment does not count."""
    return bool(uri or call.stores or call.servers or call.profiles)


def is_local(uri: str) -> bool:
    """A path on this machine, rather than a bucket or a server that others may share."""
    return "://" not in uri or uri.lower().startswith("file://")


def announce(call: Invocation, verb: str, uri: str) -> None:
    """Say on stderr what is about to be written to."""
    arrow = "→" if spells_unicode(sys.stderr) else "->"
    place = "local" if is_local(uri) else "remote"
    how = "served" if uri.lower().startswith(("http://", "https://")) else "direct"
    call.remark(f"omnigraph {verb} {arrow} {uri} ({how}, {place})")


def require_consent(call: Invocation, uri: str, *, action: str) -> None:
    """Destroying something that others may share needs a yes: as a flag, or typed."""
    if call.yes or is_local(uri):
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
    # Behind the facade: whoever may only read is to know of it, too.
    for left in graph.engine.recovery.pending():
        if left.reason.startswith("unreadable"):
            write_error(f"warning: intent {left.id} is {left.reason}")


def warn_of_damage(call: Invocation, damaged: Iterable[DamagedRef]) -> None:
    """Warn of branches and tags that a listing cannot show."""
    for ref in damaged:
        call.remark(f"warning: {ref.name} is damaged: {ref.fault}")
