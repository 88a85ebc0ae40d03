"""Which graph a command line means: flags before the environment before the operator's file.

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
    from omnigraph.cli.config import Config, Profile
    from omnigraph.cli.invocation import Invocation

__all__ = ["PROFILE_VARIABLE", "STORE_VARIABLE", "Scope", "ServerScope", "StoreScope", "find_scope"]

STORE_VARIABLE = "OMNIGRAPH_STORE"
PROFILE_VARIABLE = "OMNIGRAPH_PROFILE"
_WEB = ("http://", "https://")


@frozen
class StoreScope:
    """The storage of one graph."""

    uri: str


@frozen
class ServerScope:
    """A server, and which of its graphs; None leaves the choice to the server."""

    url: str
    graph: str | None = None


Scope = StoreScope | ServerScope


def find_scope(call: Invocation, uri: str | None = None) -> Scope:
    """The one graph that is addressed, if the verb can go there."""
    return _require_reach(call, _find(call, uri))


def _find(call: Invocation, uri: str | None) -> Scope:
    named = [*([uri] if uri is not None else []), *call.stores, *call.servers]
    profiles = list(dict.fromkeys(call.profiles))
    if len(named) + len(profiles) > 1:
        told = [*named, *(f"profile {name}" for name in profiles)]
        raise InvalidInput(
            "usage.two_addresses",
            f"the command line names {len(told)} graphs: {', '.join(told)}",
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
        "no graph addressed",
        remedy=f"name one by --store URI or --server URL, or set {STORE_VARIABLE}",
    )


def _bound(call: Invocation, profile: Profile) -> Scope:
    if profile.server:
        return _server(call, profile.server, profile.graph)
    if profile.store:
        return _store(call, str(Path(profile.store).expanduser()))
    raise InvalidInput(
        "usage.cluster_refused",
        f"profile {profile.name!r} is a cluster, and `{call.path}` works on one graph",
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


def _server(call: Invocation, said: str, graph: str | None) -> ServerScope:
    return ServerScope(server_url(call.config, said), call.graph or graph)


def server_url(config: Config, said: str) -> str:
    """The address of a server that is named, or given as an address."""
    if "://" in said:
        if not said.lower().startswith(_WEB):
            raise InvalidInput(
                "usage.bad_server",
                f"{said} is no address of a server",
                remedy="write http://… or https://…; storage is addressed by --store",
            )
        return said.rstrip("/")
    if said not in config.servers:
        known = ", ".join(sorted(config.servers)) or "none"
        raise InvalidInput(
            "config.server_missing",
            f"there is no server {said!r} in {config.path}",
            remedy=f"known: {known}; or give an address, http://…",
        )
    return config.servers[said]


def _require_reach(call: Invocation, scope: Scope) -> Scope:
    if isinstance(scope, ServerScope) and not call.served:
        raise InvalidInput(
            "usage.server_refused",
            f"`{call.path}` works on storage, and {scope.url} is a server",
            remedy="address the storage by --store URI",
        )
    if isinstance(scope, StoreScope) and not call.stored:
        raise InvalidInput(
            "usage.store_refused",
            f"`{call.path}` asks a server, and {scope.uri} is storage",
            remedy="address a server by --server URL",
        )
    return scope
