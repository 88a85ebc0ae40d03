"""Find tokens for servers in the environment or in the file ``credentials``.

A token of a server is never sent to another address.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from omnigraph.cli.atomic_files import write_atomically
from omnigraph.errors import InvalidInput
from omnigraph.runtime.credentials import (
    HOME_VARIABLE,
    TOKEN_KEY,
    credentials_path,
    read_credentials,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_credentials", "delete_token", "find_token", "server_of", "store_token"]

ANY_SERVER_VARIABLE = "OMNIGRAPH_BEARER_TOKEN"


def find_token(url: str, servers: Mapping[str, str]) -> str | None:
    """Return the token of the server at an address, else the token for any server."""
    name = server_of(url, servers)
    if name is not None:
        keyed = os.environ.get(variable_of(name)) or read_credentials(credentials_path()).get(name)
        if keyed:
            return keyed
    return os.environ.get(ANY_SERVER_VARIABLE) or None


def server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """Return the configured server whose URL is the longest path prefix of ``url``."""
    wanted = url.rstrip("/")
    fitting = [
        (len(known), name)
        for name, known in servers.items()
        if wanted == known or wanted.startswith(f"{known}/")
    ]
    return max(fitting)[1] if fitting else None


def variable_of(name: str) -> str:
    """Return the environment variable with the token of a server."""
    return f"OMNIGRAPH_TOKEN_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"


def store_token(name: str, token: str) -> Path:
    """Store the token of a server in a file that only its owner can read."""
    require_server_name(name)
    if not token or not token.isprintable() or token != token.strip():
        raise InvalidInput(
            "credentials.bad_token", "the token is empty, or contains spaces or control characters"
        )
    path = credentials_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InvalidInput(
            "credentials.unwritable",
            f"cannot create {path.parent}: {error.strerror or error}",
            remedy=f"set another directory with {HOME_VARIABLE}, or pass the token in "
            f"{variable_of(name)}",
        ) from error
    _write(path, {**read_credentials(path), name: token})
    return path


def delete_token(name: str) -> bool:
    """Delete the token of a server; return whether there was one."""
    path = credentials_path()
    sections = read_credentials(path)
    if name not in sections:
        return False
    _write(path, {key: token for key, token in sections.items() if key != name})
    return True


def check_credentials() -> Path:
    """Validate the file and return its path."""
    read_credentials(credentials_path())
    return credentials_path()


def require_server_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise InvalidInput(
            "credentials.bad_name",
            f"{name!r} is not a valid server name",
            remedy="use at most 64 letters, digits, dots, dashes and underscores",
        )


def _write(path: Path, sections: Mapping[str, str]) -> None:
    text = "".join(
        f"[{name}]\n{TOKEN_KEY} = {token}\n\n" for name, token in sorted(sections.items())
    )
    write_atomically(path, [text.encode()], mode=0o600)
