"""Tokens: opaque positions at which a reader of a long result continues.

A token encodes its purpose and everything that must not change meanwhile. It is neither secret nor
a promise: the graph keeps no state about readers, and rejects a token that does not match.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

from omnigraph.api.changes import ChangePosition
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.changes.model import ChangeFilter

__all__ = [
    "TOKEN_BYTES_MAX",
    "CommitToken",
    "FeedCursor",
    "FeedToken",
    "filter_digest",
    "rejected",
]

TOKEN_BYTES_MAX = 4_096
_CHECK_BYTES = 4
_FORMAT = 1
_NUMBER_MAX = 2**53


@frozen
class CommitToken:
    """The next page of the changes of one commit."""

    graph: str
    commit: str
    scope: str
    after: ChangePosition

    def encode(self) -> str:
        return _encode("commit", self.graph, self.commit, self.scope, _encode_position(self.after))

    @staticmethod
    def decode(text: str) -> CommitToken:
        graph, commit, scope, after = _decode(text, "commit", (str, str, str, list))
        return CommitToken(graph, commit, scope, _decode_position(after))


@frozen
class FeedCursor:
    """The position after a complete commit of a branch."""

    graph: str
    incarnation: str
    scope: str
    commit: str

    def encode(self) -> str:
        return _encode("feed", self.graph, self.incarnation, self.scope, self.commit)

    @staticmethod
    def decode(text: str) -> FeedCursor:
        return FeedCursor(*_decode(text, "feed", (str, str, str, str)))


@frozen
class FeedToken:
    """The next page of a poll: within the commit after ``done``, up to ``cut``.

    ``cut`` is the head at the start of the poll, ``commits`` counts complete commits before."""

    graph: str
    incarnation: str
    scope: str
    done: str | None
    cut: str
    commits: int
    after: ChangePosition

    def encode(self) -> str:
        bound = (self.graph, self.incarnation, self.scope)
        return _encode(
            "page", *bound, self.done, self.cut, self.commits, _encode_position(self.after)
        )

    @staticmethod
    def decode(text: str) -> FeedToken:
        kinds = (str, str, str, (str, type(None)), str, int, list)
        graph, incarnation, scope, done, cut, commits, after = _decode(text, "page", kinds)
        told, place = _read_number(commits), _decode_position(after)
        return FeedToken(graph, incarnation, scope, done, cut, told, place)


def filter_digest(wanted: ChangeFilter) -> str:
    """Return a short digest of a filter, for binding tokens."""
    parts = [sorted(wanted.kinds), sorted(wanted.types), sorted(int(op) for op in wanted.ops)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def rejected(why: str) -> InvalidInput:
    """Build the error for a token that does not match."""
    return InvalidInput(
        "change_cursor.rejected",
        f"change cursor rejected: {why}",
        remedy="take a new baseline, or start again with start=now",
    )


def _encode(purpose: str, *parts: Any) -> str:
    body = zlib.compress(json.dumps([_FORMAT, purpose, *parts], ensure_ascii=False).encode())
    return _to_text(hashlib.sha256(body).digest()[:_CHECK_BYTES] + body)


def _to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: object, purpose: str, kinds: tuple[Any, ...]) -> list[Any]:
    """Decode the parts of a token. The checksum detects damage, not forgery."""
    if not isinstance(text, str):
        raise rejected("it is not text")
    if len(text) > TOKEN_BYTES_MAX:
        raise rejected(f"it is longer than {TOKEN_BYTES_MAX} bytes")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        check, body = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
        if hashlib.sha256(body).digest()[:_CHECK_BYTES] != check or _to_text(raw) != text:
            raise rejected("it is not a token, or was changed")
        told: list[Any] = json.loads(zlib.decompress(body))
        version, found, *parts = told
    except (ValueError, TypeError, zlib.error, binascii.Error):
        raise rejected("it is not a token, or was changed") from None
    if version != _FORMAT:
        raise rejected("it comes from another release")
    if found != purpose:
        raise rejected(f"it is a token for {_PURPOSES.get(str(found), 'something else')}")
    if len(parts) != len(kinds) or not all(map(isinstance, parts, kinds)):
        raise rejected("it is incomplete")
    return parts


_PURPOSES = {
    "commit": "the next page of one commit",
    "feed": "resuming a feed",
    "page": "the next page of one poll",
}


def _encode_position(position: ChangePosition) -> list[Any]:
    return [int(position.is_edge), position.type_id, position.number]


def _decode_position(parts: list[Any]) -> ChangePosition:
    match parts:
        case [0 | 1 as is_edge, str(type_id), number]:
            return ChangePosition(bool(is_edge), type_id, _read_number(number))
        case _:
            raise rejected("it is incomplete")


def _read_number(found: object) -> int:
    if isinstance(found, int) and 0 <= found <= _NUMBER_MAX:
        return found
    raise rejected("it is incomplete")
