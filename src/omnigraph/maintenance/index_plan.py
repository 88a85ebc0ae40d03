"""The indexes that a schema declares, and the segments that a table lacks. Pure, without I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.indexes import IndexAction
from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.datatypes.types import EnumType, Scalar, ScalarType, VectorType
from omnigraph.executor.search.vector_column import EXACT_VALUES
from omnigraph.frozen import frozen
from omnigraph.ports.indexes import IndexKind, IndexSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.datatypes.types import DataType
    from omnigraph.ports.indexes import IndexInfo
    from omnigraph.ports.tables import Fragment

__all__ = ["DeclaredIndex", "IndexStep", "declared_indexes", "plan_step"]

# Scanning so few rows is as fast as a lookup.
_ROWS_MIN = 4_096
# Uncovered rows are scanned; up to so many need no work.
_UNCOVERED_ROWS = 1_024
_UNCOVERED_PARTS = 16
# Every segment is searched, so many segments are rebuilt as one.
_SEGMENTS_MAX = 8


@frozen
class DeclaredIndex:
    """An index that follows from the schema; ``prop`` is the indexed property."""

    prop: Property
    spec: IndexSpec


@frozen
class IndexStep:
    """The action on one index, with its parts and its reason."""

    action: IndexAction
    reason: str
    parts: tuple[int, ...] = ()


def declared_indexes(entity: EntityType) -> tuple[DeclaredIndex, ...]:
    """Return the indexes of a type: for ids, endpoints, keys, and declared with ``@index``."""
    found: dict[IndexSpec, DeclaredIndex] = {}
    for declared in _declared(entity):
        found.setdefault(declared.spec, declared)
    return tuple(found.values())


def _declared(entity: EntityType) -> Iterator[DeclaredIndex]:
    for prop in (ID, SRC, DST) if isinstance(entity, EdgeType) else (ID,):
        yield DeclaredIndex(prop, IndexSpec(prop.column, IndexKind.BTREE))
    # Uniqueness checks look values up, as keys do.
    for members in (entity.key or (), *entity.uniques):
        for prop in (entity.by_id[member] for member in members):
            for kind in _kinds_of(prop.dtype)[:1]:
                yield DeclaredIndex(prop, IndexSpec(prop.column, kind))
    for members in entity.indexes:
        for prop in (entity.by_id[member] for member in members):
            for kind in _kinds_of(prop.dtype):
                yield DeclaredIndex(prop, IndexSpec(prop.column, kind))


def _kinds_of(dtype: DataType) -> tuple[IndexKind, ...]:
    """Return the kinds of index for a type, the one for equality first."""
    match dtype:
        case ScalarType(Scalar.STRING):
            # No NGRAM besides: Lance uses only the first scalar index of a column.
            return (IndexKind.BTREE, IndexKind.INVERTED)
        case ScalarType(Scalar.BOOL):
            return (IndexKind.BITMAP,)
        case ScalarType(Scalar.BLOB):
            return ()
        case ScalarType() | EnumType():
            return (IndexKind.BTREE,)
        case VectorType():
            return (IndexKind.IVF,)
        case _:
            return ()


def plan_step(
    declared: DeclaredIndex, present: IndexInfo | None, parts: Sequence[Fragment], *, force: bool
) -> IndexStep:
    """Plan the step for one index. ``force`` disables the thresholds."""
    rows = sum(part.rows for part in parts)
    everything = tuple(place for place, part in enumerate(parts) if part.rows)
    if not rows:
        return IndexStep(IndexAction.SKIP, "the table is empty")
    if present is None:
        reason = None if force else _reason_to_skip(declared, rows)
        return (
            IndexStep(IndexAction.SKIP, reason)
            if reason
            else IndexStep(IndexAction.BUILD, "missing", everything)
        )
    uncovered = tuple(place for place in present.uncovered if parts[place].rows)
    if not uncovered:
        return IndexStep(IndexAction.SKIP, "it covers every row")
    if len(present.segments) >= _SEGMENTS_MAX or present.uncovered_rows > present.covered_rows:
        return IndexStep(
            IndexAction.REBUILD, "it covers too little, or in too many segments", everything
        )
    if not force and present.uncovered_rows < _UNCOVERED_ROWS and len(uncovered) < _UNCOVERED_PARTS:
        return IndexStep(IndexAction.SKIP, f"only {present.uncovered_rows} rows are not covered")
    return IndexStep(
        IndexAction.EXTEND, f"{present.uncovered_rows} rows are not covered", uncovered
    )


def _reason_to_skip(declared: DeclaredIndex, rows: int) -> str | None:
    """Return the reason why an index would not help, if any."""
    if rows < _ROWS_MIN:
        return f"{rows} rows are scanned as fast"
    dtype = declared.prop.dtype
    if isinstance(dtype, VectorType) and rows * dtype.dim <= EXACT_VALUES:
        return "an exact search of so many vectors is as fast"
    return None
