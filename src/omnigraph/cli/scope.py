"""Resolve the addressed graph: flags, then the environment, then the configuration.

In order: exactly one of an argument, ``--store``, ``--server`` and ``--profile``; then
``OMNIGRAPH_STORE`` or ``OMNIGRAPH_PROFILE``; then ``defaults.server``; then ``defaults.store``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.cli.config import Config, ConnectionProfile
    from omnigraph.cli.invocation import Invocation

__all__ = ["PROFILE_VARIABLE", "STORE_VARIABLE", "Scope", "ServerScope", "StoreScope", "find_scope"]

STORE_VARIABLE = "OMNIGRAPH_STORE"
PROFILE_VARIABLE = "OMNIGRAPH_PROFILE"
_WEB = ("http://", "https://")


@frozen
class StoreScope:
    """Storage of one graph."""

    uri: str


@frozen
class ServerScope:
    """A server and one of its graphs; None leaves the choice to the server."""

    url: str
    graph: str | None = None


Scope = StoreScope | ServerScope


def find_scope(call: Invocation, uri: str | None = None) -> Scope:
    """Return the address of the graph, if the verb supports its kind."""
    return _require_supported(call, _find(call, uri))


def _find(call: Invocation, uri: str | None) -> Scope:
    named = [*([uri] if uri is not None else []), *call.stores, *call.servers]
    profiles = list(dict.fromkeys(call.profiles))
    if len(named) + len(profiles) > 1:
        addresses = [*named, *(f"profile {name}" for name in profiles)]
        raise InvalidInput(
            "usage.two_addresses",
            f"the command line names {len(addresses)} graphs: {', '.join(addresses)}",
            remedy="name one, as an argument or by --store, --server or --profile",
        )
    if call.servers:
        return _server(call, call.servers[0], None)
    if named:
        return _store(call, named[0])
    if profiles:
        return _bound(call, call.config.profile(profiles[0]))
    return _by_environment(call) or _by_defaults(call)


def _by_environment(call: Invocation) -> Scope | None:
    store, profile = os.environ.get(STORE_VARIABLE), os.environ.get(PROFILE_VARIABLE)
    if store and profile:
        raise InvalidInput(
            "usage.two_addresses",
            f"the environment names two graphs: {STORE_VARIABLE} and {PROFILE_VARIABLE}",
            remedy="unset one of them",
        )
    if store:
        return _store(call, store)
    return _bound(call, call.config.profile(profile)) if profile else None


def _by_defaults(call: Invocation) -> Scope:
    defaults = call.config.defaults
    if defaults.server:
        return _server(call, defaults.server, defaults.graph)
    if defaults.store:
        return _store(call, str(Path(defaults.store).expanduser()))
    raise InvalidInput(
        "usage.no_address",
        "no graph given",
        remedy=f"name one by --store URI or --server URL, or set {STORE_VARIABLE}",
    )


def _bound(call: Invocation, profile: ConnectionProfile) -> Scope:
    if profile.server:
        return _server(call, profile.server, profile.graph)
    if profile.store:
        return _store(call, str(Path(profile.store).expanduser()))
    raise InvalidInput(
        "usage.cluster_refused",
        f"profile {profile.name!r} is a cluster, and `{call.path}` needs one graph",
        remedy="address the graph by --server or --store",
    )


def _store(call: Invocation, uri: str) -> StoreScope:
    if uri.lower().startswith(_WEB):
        raise InvalidInput(
            "usage.server_as_store",
            f"{uri} is the address of a server, not of storage",
            remedy=f"write --server {uri}",
        )
    if call.graph is not None:
        raise InvalidInput(
            "usage.graph_refused",
            f"--graph chooses among the graphs of a server; {uri} is one graph",
            remedy="leave --graph out",
        )
    return StoreScope(uri)


def _server(call: Invocation, given: str, graph: str | None) -> ServerScope:
    return ServerScope(server_url(call.config, given), call.graph or graph)


def server_url(config: Config, given: str) -> str:
    """Return the URL of a server, given by name or URL."""
    if "://" in given:
        if not given.lower().startswith(_WEB):
            raise InvalidInput(
                "usage.bad_server",
                f"{given} is not the address of a server",
                remedy="write http://… or https://…; storage is addressed by --store",
            )
        return given.rstrip("/")
    if given not in config.servers:
        known = ", ".join(sorted(config.servers)) or "none"
        raise InvalidInput(
            "config.server_missing",
            f"server {given!r} does not exist in {config.path}",
            remedy=f"known: {known}; or pass a URL, http://…",
        )
    return config.servers[given]


def _require_supported(call: Invocation, scope: Scope) -> Scope:
    if isinstance(scope, ServerScope) and not call.served:
        raise InvalidInput(
            "usage.server_refused",
            f"`{call.path}` needs storage, and {scope.url} is a server",
            remedy="address the storage by --store URI",
        )
    if isinstance(scope, StoreScope) and not call.stored:
        raise InvalidInput(
            "usage.store_refused",
            f"`{call.path}` needs a server, and {scope.uri} is storage",
            remedy="address a server by --server URL",
        )
    return scope
