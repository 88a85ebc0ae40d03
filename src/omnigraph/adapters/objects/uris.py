"""The URIs that users write: paths, ``file://`` and ``s3://``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from omnigraph.errors import InvalidInput

__all__ = ["Location", "Scheme", "parse_uri"]


class Scheme(StrEnum):
    LOCAL = "file"
    S3 = "s3"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
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


def parse_uri(uri: str) -> Location:
    """Understand what the user wrote, or raise ``InvalidInput("uri.unsupported")``."""
    scheme, mark, rest = uri.partition("://")
    if not uri or "\0" in uri:
        raise _unsupported(uri, "it is empty" if not uri else "it holds a NUL character")
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
    if path.lower().startswith("file:"):
        raise _unsupported(path, "a file URI begins with 'file://'")
    return Location(Scheme.LOCAL, os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111


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
