"""Which hosts and origins an unauthenticated server answers.

A server without tokens is open to every process that reaches it, and a browser reaches it on behalf
of any page that it shows: by a plain form, and after DNS rebinding under a name of the page's own.
Both arrive with a Host or an Origin that is not the server's.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from omnigraph.errors import InvalidInput
from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.server.exchange import Exchange

__all__ = ["Origins", "is_loopback", "parse_host"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origins:
    """The hosts and origins of one server. ``hosts`` and ``origins`` come from the operator."""

    def __init__(
        self, bind_host: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        self._hosts = {bind_host.lower(), *(_listed_host(each) for each in hosts)}
        # A wildcard address names no host: then every literal address is the server's own. A page
        # cannot have one as its name, so it does not help DNS rebinding.
        self._any_address = _is_wildcard(bind_host)
        self._origins = frozenset(_listed_origin(each) for each in origins)

    def require_own(self, exchange: Exchange) -> None:
        """403 for a request under another name, or from the page of another origin."""
        host = exchange.header("Host")
        if host is not None and not self._is_own(host):
            raise HttpProblem(
                403,
                "request.host_refused",
                f"an unauthenticated server does not answer as {host[:80]!r}",
                remedy="use the address that it is bound to, configure tokens, or start it with "
                "--allow-host NAME",
            )
        origin = exchange.header("Origin")
        if origin is None:
            foreign = exchange.header("Sec-Fetch-Site") in _OTHER_SITES
            refused = foreign and exchange.scope["method"] not in _SAFE_METHODS
        else:
            refused = not (self.allows(origin) or _is_same(origin, host))
        if refused:
            raise HttpProblem(
                403,
                "request.origin_refused",
                f"an unauthenticated server does not answer pages of {(origin or '?')[:80]!r}",
                remedy="configure tokens, or start it with --allow-origin ORIGIN",
            )

    def allows(self, origin: str) -> bool:
        """Whether the operator listed an origin."""
        return _normal_origin(origin) in self._origins

    def _is_own(self, text: str) -> bool:
        host = parse_host(text)
        if host is None:
            return False
        if host in self._hosts or is_loopback(host):
            return True
        return self._any_address and _address(host) is not None


def parse_host(text: str) -> str | None:
    """Return the host of a Host header in lower case, without port, dot and brackets."""
    if not text or any(mark in text for mark in "@/\\?# "):
        return None
    try:
        parts = urlsplit(f"//{text}")
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return host.removesuffix(".") if host else None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by name or by address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_wildcard(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_unspecified


def _is_same(origin: str, host: str | None) -> bool:
    """Whether an origin is the one that the request went to; a proxy may have ended the TLS."""
    if host is None:
        return False
    return _normal_origin(origin) in {_normal_origin(f"{each}://{host}") for each in _DEFAULT_PORTS}


def _normal_origin(text: str) -> str | None:
    try:
        parts = urlsplit(text.lower())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return None
    return f"{parts.scheme}://{parts.hostname}:{port or _DEFAULT_PORTS[parts.scheme]}"


def _listed_host(text: str) -> str:
    host = parse_host(text.strip())
    if host is None:
        raise InvalidInput("serve.bad_host", f"{text[:80]!r} is not a host name")
    return host


def _listed_origin(text: str) -> str:
    origin = _normal_origin(text.strip())
    if origin is None:
        raise InvalidInput(
            "serve.bad_origin",
            f"{text[:80]!r} is not an origin",
            remedy="write SCHEME://HOST or SCHEME://HOST:PORT, without a path",
        )
    return origin
