"""Finds the operation of a path.

Segments are split before they are decoded: an escaped slash is part of a name, and no name can
reach another segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.server.operations import ApiOperation

__all__ = ["Router", "split_path"]


class Router:
    """All operations, by the number of their segments."""

    def __init__(self, operations: Sequence[ApiOperation]) -> None:
        self._by_length: dict[int, list[tuple[tuple[str | None, ...], ApiOperation]]] = {}
        for each in operations:
            pattern = tuple(None if part.startswith("{") else part for part in each.segments)
            self._by_length.setdefault(len(pattern), []).append((pattern, each))
        for found in self._by_length.values():
            # Literal segments take precedence over parameters.
            found.sort(key=lambda entry: sum(part is None for part in entry[0]))

    def find(self, method: str, segments: Sequence[str]) -> tuple[ApiOperation, dict[str, str]]:
        """Return the operation of a request and the names in its path, or raise 404 or 405."""
        allowed = set()
        for pattern, found in self._by_length.get(len(segments), ()):
            if not _fits(pattern, segments):
                continue
            if found.method == method:
                return found, _names(found, segments)
            allowed.add(found.method)
        if allowed:
            raise HttpProblem(
                405,
                "request.bad_method",
                f"the path does not support the method {method[:20]}",
                headers={"Allow": ", ".join(sorted(allowed))},
            )
        raise HttpProblem(404, "request.no_such_path", "the path does not exist")


def split_path(raw: bytes) -> list[str]:
    """Return the decoded segments of a raw path."""
    parts = raw.split(b"?", 1)[0].split(b"/")
    try:
        segments = [unquote_to_bytes(part).decode() for part in parts[1:]]
    except UnicodeDecodeError:
        raise HttpProblem(400, "request.bad_path", "the path is not valid UTF-8") from None
    if any("\x00" in segment for segment in segments):
        raise HttpProblem(400, "request.bad_path", "the path contains a NUL character")
    return segments


def _fits(pattern: tuple[str | None, ...], segments: Sequence[str]) -> bool:
    for wanted, given in zip(pattern, segments, strict=True):
        if (not given) if wanted is None else wanted != given:
            return False
    return True


def _names(found: ApiOperation, segments: Sequence[str]) -> dict[str, str]:
    return {
        part[1:-1]: given
        for part, given in zip(found.segments, segments, strict=True)
        if part.startswith("{")
    }
