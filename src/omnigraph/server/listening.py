"""The sockets that a server listens on."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["bind_sockets", "listen", "parse_bind"]


def parse_bind(text: str) -> tuple[str, int]:
    """Parse host and port; ``[::1]:8080`` for IPv6, port 0 for any free one."""
    host, mark, port = text.rpartition(":")
    if not mark or not host or not port.isdigit() or int(port[:6]) > 65_535:
        raise InvalidInput(
            "serve.bad_bind",
            f"{text[:80]!r} is not of the form HOST:PORT",
            remedy="use a form like 127.0.0.1:8080",
        )
    return host.strip("[]"), int(port)


def bind_sockets(bind: str) -> list[socket.socket]:
    """Bind every address of a host, or fail with ``serve.cannot_bind`` and bind none."""
    host, port = parse_bind(bind)
    with ExitStack() as opened, _typed_failure(bind):
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        sockets = [
            opened.enter_context(_bound(family, address))
            for family, _, _, _, address in dict.fromkeys(found)
        ]
        opened.pop_all()
        return sockets


def listen(sockets: Sequence[socket.socket], bind: str, backlog: int) -> None:
    """Start to queue connections. If two processes have bound the same address, one fails here."""
    with _typed_failure(bind):
        for each in sockets:
            each.listen(backlog)


def _bound(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


@contextmanager
def _typed_failure(bind: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            "serve.cannot_bind",
            f"cannot listen on {bind}: {error.strerror or error}",
            remedy="stop the process that uses the address, or choose another one with --bind; "
            "port 0 selects a free port",
        ) from error
