"""The indexes of a version and the rows that they cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.ports.indexes import IndexInfo, IndexKind, IndexSegment, IndexSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ports.tables import Fragment

__all__ = ["describe_indexes", "notes_key", "segment_directory"]

_KINDS = frozenset(kind.value for kind in IndexKind)
_NOTES = "omnigraph.notes"


def describe_indexes(dataset: Any, fragments: Sequence[Fragment]) -> tuple[IndexInfo, ...]:
    """Return all indexes of a version, with their coverage."""
    positions = {each.fragment_id: place for place, each in enumerate(dataset.get_fragments())}
    found = [_describe(index, positions, fragments) for index in dataset.describe_indices()]
    return tuple(sorted(found, key=lambda index: index.name))


def _describe(index: Any, positions: Mapping[int, int], fragments: Sequence[Fragment]) -> IndexInfo:
    segments = tuple(
        IndexSegment(
            each.uuid,
            tuple(sorted(positions[key] for key in each.fragment_ids if key in positions)),
        )
        for each in index.segments
    )
    covered = {place for segment in segments for place in segment.fragments}
    uncovered = tuple(place for place in range(len(fragments)) if place not in covered)
    return IndexInfo(
        name=index.name,
        type=index.index_type,
        spec=_spec_of(index),
        segments=segments,
        uncovered=uncovered,
        covered_rows=sum(fragments[place].rows for place in covered),
        uncovered_rows=sum(fragments[place].rows for place in uncovered),
    )


def _spec_of(index: Any) -> IndexSpec | None:
    column, _, kind = index.name.rpartition(".")
    known = kind in _KINDS and index.field_names == [column]
    return IndexSpec(column, IndexKind(kind)) if known else None


def segment_directory(path: str, segment: str) -> str:
    """Return the directory of a segment's files."""
    return f"{path}/_indices/{segment}"


def notes_key(path: str, segment: str) -> str:
    """Return the key of a segment's notes; they lie beside its files, and are removed with them."""
    return f"{segment_directory(path, segment)}/{_NOTES}"
