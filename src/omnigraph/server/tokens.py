"""Bearer tokens, their sources, and the authentication of requests.

Tokens are kept as hashes only. A request is compared with all of them in constant time, so that the
response time reveals nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.server.aws import read_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ANYONE", "Tokens", "read_tokens"]

# The actor of a single, unnamed token.
ANYONE = "default"

_VARIABLE = "OMNIGRAPH_SERVER_BEARER_TOKEN"
_JSON_VARIABLE = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
_FILE_VARIABLE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
_AWS_VARIABLE = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"
# The characters of RFC 6750, and a generous length.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,4096}")
_ACTOR = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,253}[^\s\x00-\x1f\x7f])?")
_SCHEME = b"bearer "


class Tokens:
    """The digests of all tokens, with their actors."""

    __slots__ = ("_known",)

    def __init__(self, by_actor: Mapping[str, str]) -> None:
        known = [(_digest(token.encode()), actor) for actor, token in by_actor.items()]
        if len({digest for digest, _ in known}) != len(known):
            raise InvalidInput(
                "token.shared",
                "two actors have the same token",
                remedy="use a separate token for every actor",
            )
        self._known = tuple(known)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def actors(self) -> tuple[str, ...]:
        return tuple(actor for _, actor in self._known)

    def actor_of(self, header: bytes) -> str | None:
        """Return the actor of an ``Authorization`` header; None if there is none."""
        if header[: len(_SCHEME)].lower() != _SCHEME:
            return None
        given = _digest(header[len(_SCHEME) :])
        found = None
        for digest, actor in self._known:
            if hmac.compare_digest(digest, given):
                found = actor
        return found


def read_tokens(environment: Mapping[str, str]) -> Tokens:
    """Read the tokens that the environment names; only the first source that is set is used."""
    if environment.get(_AWS_VARIABLE):
        secret = read_secret(environment[_AWS_VARIABLE], environment)
        return Tokens(_parse(secret, _AWS_VARIABLE))
    if environment.get(_FILE_VARIABLE):
        return Tokens(_parse(_read_file(environment[_FILE_VARIABLE]), _FILE_VARIABLE))
    if environment.get(_JSON_VARIABLE):
        return Tokens(_parse(environment[_JSON_VARIABLE], _JSON_VARIABLE))
    token = environment.get(_VARIABLE, "").strip()
    return Tokens({ANYONE: _checked(ANYONE, token, _VARIABLE)} if token else {})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _parse(text: str, where: str) -> dict[str, str]:
    """Parse ``{"actor": "token"}``. Error messages never quote the text, which is secret."""
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found:
        raise InvalidInput(
            "token.bad_source",
            f"{where} is malformed",
            remedy='the format is {"actor": "token", …}, with distinct actors',
        )
    return {actor: _checked(actor, token, where) for actor, token in found.items()}


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate name")
    return found


def _checked(actor: str, token: object, where: str) -> str:
    if not _ACTOR.fullmatch(actor) or actor.startswith("omnigraph:"):
        raise InvalidInput(
            "token.bad_actor",
            f"{where}: {actor[:80]!r} is not a valid actor name",
            remedy="use up to 255 printable characters; the prefix `omnigraph:` is reserved",
        )
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidInput(
            "token.bad_token",
            f"{where}: the token of {actor!r} is not a valid bearer token",
            remedy="use letters, digits and ._~+/=- only",
        )
    return token


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInput(
            "token.unreadable", f"{_FILE_VARIABLE}: cannot read {path}: {reason}"
        ) from None
