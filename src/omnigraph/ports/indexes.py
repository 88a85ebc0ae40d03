"""Indexes of a table: what is wanted, what is there, and how much of the table it covers.

An index covers parts of a table, each wholly. Rows of other parts are found by scanning them, so an
index never decides what the answer is.
"""

from __future__ import annotations

from enum import StrEnum

from omnigraph.frozen import frozen

__all__ = ["IndexInfo", "IndexKind", "IndexSegment", "IndexSpec", "NewSegment"]


class IndexKind(StrEnum):
    """What an index is good for."""

    ORDER = "order"  # equality, ranges, prefixes
    MEMBERS = "members"  # equality, where there are few different values
    WORDS = "words"  # texts that have words
    VECTOR = "vector"  # vectors near to a vector


@frozen
class IndexSpec:
    """An index that should be there."""

    column: str
    kind: IndexKind

    @property
    def name(self) -> str:
        return f"{self.column}.{self.kind}"


@frozen
class NewSegment:
    """A segment to build: an index over some parts, by their places in ``Table.parts()``.

    It replaces all segments that the index has when ``replaces`` is set. ``values`` is how many
    values it will hold, where that is known. ``notes`` is kept with it, for whoever reads the
    index; it lives exactly as long as the segment.
    """

    spec: IndexSpec
    parts: tuple[int, ...]
    replaces: bool = False
    values: int | None = None
    notes: bytes | None = None


@frozen
class IndexSegment:
    """One segment of an index; ``parts`` are the places of what it covers."""

    key: str
    parts: tuple[int, ...]


@frozen
class IndexInfo:
    """An index that is there.

    ``uncovered`` are the places of the parts that no segment covers. ``spec`` is None for an index
    that this system did not make.
    """

    name: str
    type: str
    spec: IndexSpec | None
    segments: tuple[IndexSegment, ...]
    uncovered: tuple[int, ...]
    covered_rows: int
    uncovered_rows: int
