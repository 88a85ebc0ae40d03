"""Indexes of a table: wanted ones, existing ones, and their coverage.

A segment covers whole fragments of a table. Rows of other fragments are found by scans, so an index
never changes a result.
"""

from __future__ import annotations

from enum import StrEnum

from omnigraph.frozen import frozen

__all__ = ["IndexInfo", "IndexKind", "IndexSegment", "IndexSpec", "NewSegment"]


class IndexKind(StrEnum):
    """The structure of an index; its value is part of the index's name in storage."""

    BTREE = "order"  # equality, ranges, prefixes
    BITMAP = "members"  # equality on columns with few distinct values
    INVERTED = "words"  # words of texts
    IVF = "vector"  # nearest neighbours of a vector


@frozen
class IndexSpec:
    """A declared index."""

    column: str
    kind: IndexKind

    @property
    def name(self) -> str:
        return f"{self.column}.{self.kind}"


@frozen
class NewSegment:
    """A segment to build over some fragments, given by position in ``Table.fragments()``.

    With ``replaces`` it replaces all segments of the index. ``values`` is the number of values that
    it will hold, where known. ``notes`` are stored with the segment, for readers of the index.
    """

    spec: IndexSpec
    fragments: tuple[int, ...]
    replaces: bool = False
    values: int | None = None
    notes: bytes | None = None


@frozen
class IndexSegment:
    """One segment of an index; ``fragments`` are the positions of the fragments that it covers."""

    key: str
    fragments: tuple[int, ...]


@frozen
class IndexInfo:
    """An existing index.

    ``uncovered`` are the positions of fragments without a segment. ``spec`` is None for an index of
    another system.
    """

    name: str
    type: str
    spec: IndexSpec | None
    segments: tuple[IndexSegment, ...]
    uncovered: tuple[int, ...]
    covered_rows: int
    uncovered_rows: int
