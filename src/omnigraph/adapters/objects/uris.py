"""The URIs that users write: paths, ``file://`` and ``s3://``."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

__all__ = ["Location", "Scheme", "parse_uri"]


class Scheme(StrEnum):
    LOCAL = "file"
    S3 = "s3"
    MEMORY = "memory"


@frozen
class Location:
    """Where a graph lies. ``path`` is absolute on a disk; in a bucket it is the key prefix."""

    scheme: Scheme
    path: str
    bucket: str = ""

    @property
    def uri(self) -> str:
        """The canonical spelling; Lance takes it as well."""
        match self.scheme:
            case Scheme.LOCAL:
                return self.path
            case Scheme.S3:
                return f"s3://{self.bucket}/{self.path}".rstrip("/")
            case Scheme.MEMORY:
                return f"memory://{self.path}"


# Neither Lance nor a terminal takes one of these for what it is.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_uri(uri: str) -> Location:
    """Understand what the user wrote, or raise ``InvalidInput("uri.unsupported")``."""
    scheme, mark, rest = uri.partition("://")
    if not uri or _CONTROL.search(uri):
        raise _unsupported(uri, "it is empty" if not uri else "it holds a control character")
    if not mark:
        return _local(uri)
    match scheme.lower():
        case "file":
            return _file(uri)
        case "s3":
            return _s3(uri, rest)
        case "memory":
            return Location(Scheme.MEMORY, rest.strip("/"))
        case _:
            raise _unsupported(uri, f"the scheme {scheme!r} is unknown")


def _local(path: str) -> Location:
    scheme, mark, _ = path.partition(":")
    if mark and scheme.lower() in set(Scheme):
        raise _unsupported(path, f"a URI of this kind begins with '{scheme.lower()}://'")
    at_home = os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser() raises something else
    if at_home.startswith("~"):
        raise _unsupported(path, f"there is no user {at_home.partition('/')[0][1:]!r}; or say ./~")
    return Location(Scheme.LOCAL, os.path.abspath(at_home))  # noqa: PTH100 - keeps no '..'


def _file(uri: str) -> Location:
    parts = urlsplit(uri)
    if parts.netloc not in {"", "localhost"}:
        raise _unsupported(uri, f"a file on another machine ({parts.netloc!r}) cannot be opened")
    if parts.query or parts.fragment:
        raise _unsupported(uri, "write '?' and '#' as %3F and %23")
    return _local(unquote(parts.path) or "/")


def _s3(uri: str, rest: str) -> Location:
    bucket, _, prefix = rest.partition("/")
    if not bucket or "@" in bucket:
        raise _unsupported(uri if not bucket else "s3://…", "it names no bucket")
    segments = [segment for segment in prefix.split("/") if segment]
    if any(segment in {".", ".."} for segment in segments):
        raise _unsupported(uri, "a key prefix has no '.' or '..'")
    return Location(Scheme.S3, "/".join(segments), bucket)


def _unsupported(uri: str, reason: str) -> InvalidInput:
    return InvalidInput(
        "uri.unsupported",
        f"cannot use {uri!r} as the place of a graph: {reason}",
        details={"uri": uri},
        remedy="Give a path, file:///absolute/path, or s3://bucket/prefix.",
    )
