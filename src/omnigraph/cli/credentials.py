"""Tokens for servers: from the environment, or from the operator's file ``credentials``.

The file has a section per server and is readable for its owner alone::

    [staging]
    token = …

A token that belongs to a server never goes to another address.
"""

from __future__ import annotations

import configparser
import os
import re
import stat
from typing import TYPE_CHECKING

from omnigraph.cli.config import HOME_VARIABLE, home_directory
from omnigraph.cli.durable import install
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_credentials", "drop_token", "find_token", "keep_token", "server_of"]

ANY_SERVER_VARIABLE = "OMNIGRAPH_BEARER_TOKEN"
_FILE = "credentials"
_KEY = "token"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def find_token(url: str, servers: Mapping[str, str]) -> str | None:
    """The token for an address: that of the server which it belongs to, else that for any."""
    name = server_of(url, servers)
    if name is not None:
        keyed = os.environ.get(variable_of(name)) or _sections(_path()).get(name)
        if keyed:
            return keyed
    return os.environ.get(ANY_SERVER_VARIABLE) or None


def server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """The known server with the longest address that ``url`` begins with, at the end of a part."""
    wanted = url.rstrip("/")
    fitting = [
        (len(known), name)
        for name, known in servers.items()
        if wanted == known or wanted.startswith(f"{known}/")
    ]
    return max(fitting)[1] if fitting else None


def variable_of(name: str) -> str:
    """The variable that holds the token of a server."""
    return f"OMNIGRAPH_TOKEN_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"


def keep_token(name: str, token: str) -> Path:
    """Write the token of a server down, for the owner's eyes."""
    require_server_name(name)
    if not token or not token.isprintable() or token != token.strip():
        raise InvalidInput(
            "credentials.bad_token", "the token is empty, or holds spaces or control characters"
        )
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InvalidInput(
            "credentials.unwritable",
            f"{path.parent} cannot be made: {error.strerror or error}",
            remedy=f"name another directory by {HOME_VARIABLE}, or give the token by "
            f"{variable_of(name)}",
        ) from error
    _write(path, {**_sections(path), name: token})
    return path


def drop_token(name: str) -> bool:
    """Forget the token of a server; whether there was one."""
    path = _path()
    sections = _sections(path)
    if name not in sections:
        return False
    _write(path, {key: token for key, token in sections.items() if key != name})
    return True


def check_credentials() -> Path:
    """Read the file, and raise what is wrong with it; where it is."""
    _sections(_path())
    return _path()


def require_server_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise InvalidInput(
            "credentials.bad_name",
            f"{name!r} is no name of a server",
            remedy="letters, digits, dots, dashes and underscores, at most 64",
        )


def _path() -> Path:
    return home_directory() / _FILE


def _sections(path: Path) -> dict[str, str]:
    try:
        mode = path.stat().st_mode
        if mode & _OTHERS:
            raise InvalidInput(
                "credentials.exposed",
                f"{path} can be read by others",
                remedy=f"chmod 600 {path}, and replace the tokens that were in it",
            )
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput("credentials.unreadable", f"{path} cannot be read: {why}") from error
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        # What the parser says quotes the line, and the line may be a token.
        raise InvalidInput(
            "credentials.malformed",
            f"{path} is not made of sections with a token each",
            remedy="write [server] and below it token = …, or use `omnigraph login`",
        ) from None
    return {name: parser[name].get(_KEY, "") for name in parser.sections()}


def _write(path: Path, sections: Mapping[str, str]) -> None:
    text = "".join(f"[{name}]\n{_KEY} = {token}\n\n" for name, token in sorted(sections.items()))
    install(path, [text.encode()], mode=0o600)
