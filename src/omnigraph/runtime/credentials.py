"""Reads the user's directory, and the file of secrets in it.

The file ``credentials`` in ``~/.omnigraph``, or in ``OMNIGRAPH_HOME``, has a section per server and
per embedding provider, and only its owner may read it::

    [staging]
    token = …

    [embedding:openai]
    token = …

The provider of a base URL of its own is ``embedding:custom``.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from omnigraph.errors import InvalidInput

__all__ = ["HOME_VARIABLE", "TOKEN_KEY", "credentials_path", "home_directory", "read_credentials"]

HOME_VARIABLE = "OMNIGRAPH_HOME"
TOKEN_KEY = "token"  # noqa: S105 - the name of a key
_FILE = "credentials"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# The conventional home of users without one.
_NO_HOME = Path("/nonexistent/.omnigraph")


def home_directory() -> Path:
    """Return the user's directory of configuration, credentials and caches."""
    configured = Path(os.environ.get(HOME_VARIABLE) or "~/.omnigraph")
    try:
        return configured.expanduser()
    except RuntimeError:
        return _NO_HOME


def credentials_path() -> Path:
    """Return the path of the file of secrets, which may not exist."""
    return home_directory() / _FILE


def read_credentials(path: Path) -> dict[str, str]:
    """Return the secret of each section; a missing file has none."""
    try:
        if path.stat().st_mode & _OTHERS:
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
        raise InvalidInput("credentials.unreadable", f"cannot read {path}: {why}") from error
    # Every command imports this module, and few have credentials.
    import configparser  # noqa: PLC0415

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        # The message of the parser quotes the line, which may contain a token.
        raise InvalidInput(
            "credentials.malformed",
            f"{path} is malformed: it must contain sections with a token each",
            remedy="write [server] and below it token = …, or use `omnigraph login`",
        ) from None
    return {name: parser[name].get(TOKEN_KEY, "") for name in parser.sections()}
