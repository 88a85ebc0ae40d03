"""Open the addressed graph, embedded or over HTTP, and ask for confirmation.

Only this module distinguishes the two: both kinds of graphs have the same methods.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph import client
from omnigraph.cli.scope import ServerScope, find_scope
from omnigraph.cli.terminal import supports_unicode, write_error
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.api.graph import Graph
    from omnigraph.api.refs import DamagedRef
    from omnigraph.cli.invocation import Invocation
    from omnigraph.client.remote import RemoteGraph
    from omnigraph.graph.facade import EmbeddedGraph

__all__ = [
    "announce",
    "connect",
    "is_addressed",
    "is_local",
    "open_to_read",
    "open_to_write",
    "refuse_actor",
    "require_consent",
    "warn_of_damage",
]


def open_to_read(call: Invocation, uri: str | None = None) -> Graph:
    """Open the addressed graph read-only."""
    scope = find_scope(call, uri)
    if isinstance(scope, ServerScope):
        _refuse_policy(call, scope)
        return connect(call, scope)
    # Imported only for embedded graphs.
    from omnigraph.graph.open import open_graph  # noqa: PLC0415

    if call.policy is not None:
        call.default_actor = call.config.actor
    graph = open_graph(scope.uri, read_only=True, policy=call.policy, actor=call.actor)
    _warn_of_unreadable_intents(graph)
    return graph


def open_to_write(call: Invocation, uri: str | None = None) -> Graph:
    """Open the addressed graph for writing, with the actor of --as or the configuration."""
    scope = find_scope(call, uri)
    if isinstance(scope, ServerScope):
        refuse_actor(call, scope)
        _refuse_policy(call, scope)
        return connect(call, scope)
    from omnigraph.graph.open import open_graph  # noqa: PLC0415

    call.default_actor = call.config.actor
    graph = open_graph(scope.uri, actor=call.actor, policy=call.policy)
    _warn_of_unreadable_intents(graph)
    return graph


def connect(call: Invocation, scope: ServerScope) -> RemoteGraph:
    """Connect to a graph of a server."""
    # Imported only for servers.
    from omnigraph.cli.credentials import find_token  # noqa: PLC0415

    token = find_token(scope.url, call.config.servers)
    return client.connect(scope.url, token=token, graph=scope.graph)


def refuse_actor(call: Invocation, scope: ServerScope) -> None:
    """Refuse --as: a server takes the actor from the token."""
    if call.actor is not None:
        raise InvalidInput(
            "usage.actor_refused",
            f"{scope.url} takes the actor from the token, not from --as",
            remedy="leave --as out",
        )


def _refuse_policy(call: Invocation, scope: ServerScope) -> None:
    if call.policy is not None:
        raise InvalidInput(
            "usage.policy_refused",
            f"--policy does not apply to {scope.url}: a server has its own policy",
            remedy="leave --policy out",
        )


def is_addressed(call: Invocation, uri: str | None = None) -> bool:
    """Return whether the command line, not the environment, names a graph."""
    return bool(uri or call.stores or call.servers or call.profiles)


def is_local(uri: str) -> bool:
    """Return whether a URI is a path on this machine, not a bucket or server."""
    return "://" not in uri or uri.lower().startswith("file://")


def announce(call: Invocation, verb: str, uri: str) -> None:
    """Print the target of a write to stderr."""
    arrow = "→" if supports_unicode(sys.stderr) else "->"
    location = "local" if is_local(uri) else "remote"
    how = "served" if uri.lower().startswith(("http://", "https://")) else "direct"
    call.notice(f"omnigraph {verb} {arrow} {uri} ({how}, {location})")


def require_consent(call: Invocation, uri: str, *, action: str) -> None:
    """Require confirmation of a destructive action on a shared graph, by flag or prompt."""
    if call.yes or is_local(uri):
        return
    if call.json or sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(
            "usage.consent_needed",
            f"{action} on {uri} cannot be undone",
            remedy="pass --yes to confirm",
        )
    typed = click.prompt(f"{action} on {uri}? Type yes to go on", default="no", err=True)
    if typed.strip().lower() not in {"yes", "y"}:
        raise InvalidInput("usage.consent_refused", "cancelled; nothing was changed")


def _warn_of_unreadable_intents(graph: EmbeddedGraph) -> None:
    """Warn of unreadable intents, which block nothing and need the operator."""
    # Bypasses authorisation: readers get the warning, too.
    for left in graph.engine.recovery.pending():
        if left.reason.startswith("unreadable"):
            write_error(f"warning: intent {left.id} is {left.reason}")


def warn_of_damage(call: Invocation, damaged: Iterable[DamagedRef]) -> None:
    """Warn of branches and tags that a listing cannot show."""
    for ref in damaged:
        call.notice(f"warning: {ref.name} is damaged: {ref.fault}")
