"""Restricts the hosts and origins that an unauthenticated server answers.

A server without tokens is open to every process that reaches it, including a browser on behalf of
any page: by a plain form, or after DNS rebinding under a name of the page's own. Both arrive with a
Host or an Origin that is not the server's.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.server.exchange import Exchange

__all__ = ["Origins", "is_loopback", "parse_host"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A page of another site cannot send these. Unknown values are refused.
_OWN_SITES = frozenset({"same-origin", "none"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL = r"[A-Za-z0-9_-]{1,63}"
_AUTHORITY = re.compile(
    rf"(?:\[(?P<address>[0-9A-Fa-f:.]{{2,45}})\]|(?P<name>{_LABEL}(?:\.{_LABEL}){{0,126}})\.?)"
    r"(?::(?P<port>[0-9]{0,5}))?"
)
_PORT_MAX = 65_535


class Origins:
    """The hosts and origins of one server; the operator may add ``hosts`` and ``origins``."""

    def __init__(
        self, bind_host: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        self._hosts = {_normal_host(bind_host), *(_listed_host(each) for each in hosts)}
        # A wildcard address names no host, so every literal address is the server's own. DNS
        # rebinding cannot use one, since the name of a page is no literal address.
        self._any_address = _is_wildcard(bind_host)
        self._origins = frozenset(_listed_origin(each) for each in origins)

    def require_own(self, exchange: Exchange) -> None:
        """Raise 403 for a request to another host, or from a page of another origin."""
        host = exchange.header("Host")
        if host is not None and not self._is_own(host):
            raise HttpProblem(
                403,
                "request.host_refused",
                f"an unauthenticated server does not accept the host {host[:80]!r}",
                remedy="use the bound address, configure tokens, or start the server with "
                "--allow-host NAME",
            )
        origin = exchange.header("Origin")
        if origin is None:
            site = exchange.header("Sec-Fetch-Site")
            foreign = site is not None and site.lower() not in _OWN_SITES
            refused = foreign and exchange.scope["method"] not in _SAFE_METHODS
        else:
            refused = not (self.allows(origin) or _is_same(origin, host))
        if refused:
            raise HttpProblem(
                403,
                "request.origin_refused",
                f"an unauthenticated server does not accept the origin {(origin or '?')[:80]!r}",
                remedy="configure tokens, or start the server with --allow-origin ORIGIN",
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
    """Return the host of a Host header in lower case, without port, final dot and brackets."""
    found = _parse_authority(text)
    return None if found is None else found[0]


def _parse_authority(text: str) -> tuple[str, int | None] | None:
    """Return host and port.

    The grammar is strict: a lenient URL parser ignores unexpected text, such as that after
    ``[::1]``, and would accept a wrong host.
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if port is not None and port > _PORT_MAX:
        return None
    if found["name"] is not None:
        return found["name"].lower(), port
    address = _address(found["address"])
    return None if address is None else (str(address), port)


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


def _normal_host(host: str) -> str:
    """Normalise an address, which has several spellings."""
    address = _address(host)
    return host.lower() if address is None else str(address)


def _is_wildcard(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_unspecified


def _is_same(origin: str, host: str | None) -> bool:
    """Whether an origin is the host of the request; a proxy may terminate TLS."""
    if host is None:
        return False
    return _normal_origin(origin) in {_normal_origin(f"{each}://{host}") for each in _DEFAULT_PORTS}


def _normal_origin(text: str) -> str | None:
    scheme, mark, authority = text.partition("://")
    scheme, found = scheme.lower(), _parse_authority(authority)
    if not mark or scheme not in _DEFAULT_PORTS or found is None:
        return None
    host, port = found
    return f"{scheme}://{host}:{port or _DEFAULT_PORTS[scheme]}"


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
            remedy="use SCHEME://HOST or SCHEME://HOST:PORT, without a path",
        )
    return origin
