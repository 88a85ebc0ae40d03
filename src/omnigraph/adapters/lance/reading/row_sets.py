"""The difference of two versions of a table, by their files.

Data files are never rewritten. A live row at the same offset of the same file in two versions is
the same row, so only the other rows may differ. This holds for any two versions and needs only
their manifests and deletion vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.adapters.lance.handles.metadata import field_names
from omnigraph.adapters.lance.reading.deletion_vectors import deleted_offsets
from omnigraph.ports.tables import ROW_ADDRESS, RowSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from omnigraph.ports.objects import ObjectStore

__all__ = ["all_rows", "differing_rows", "read_rows"]

_FRAGMENT_SHIFT = np.uint64(32)
_OFFSET_MASK = np.uint64(0xFFFFFFFF)
# Addresses per lookup; a longer filter takes more time to plan than to run.
_LOOKED_UP_MAX = 8_192
# Above this density a scan of the fragment is cheaper than lookups.
_DENSE_ONE_IN = 12
_BATCH_ROWS = 16_384


def differing_rows(
    objects: ObjectStore, path: str, before: Any, after: Any
) -> tuple[RowSet, RowSet]:
    """Return the rows of each version that the other one does not hold at the same place."""
    old, new = _fragments_by_files(before), _fragments_by_files(after)
    only_old, only_new = _RowSetBuilder(), _RowSetBuilder()
    for key, fragment in old.items():
        twin = new.get(key)
        if twin is None:
            only_old.add_whole(fragment)
        elif _deletions(twin) != _deletions(fragment):
            gone = deleted_offsets(objects, path, fragment)
            gone_in_twin = deleted_offsets(objects, path, twin)
            only_old.add_offsets(fragment, np.setdiff1d(gone_in_twin, gone, assume_unique=True))
            only_new.add_offsets(twin, np.setdiff1d(gone, gone_in_twin, assume_unique=True))
    for key, fragment in new.items():
        if key not in old:
            only_new.add_whole(fragment)
    return only_old.rows(), only_new.rows()


def all_rows(dataset: Any) -> RowSet:
    """Return all rows of a version."""
    builder = _RowSetBuilder()
    for fragment in dataset.get_fragments():
        builder.add_whole(fragment)
    return builder.rows()


def read_rows(
    dataset: Any, rows: RowSet, stream: Callable[..., Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a set in no particular order; ``stream`` scans with Lance's options."""
    if rows.whole:
        fragments = [dataset.get_fragment(number) for number in rows.whole]
        yield from stream(fragments=fragments, batch_size=_BATCH_ROWS)
    numbers = rows.addresses >> _FRAGMENT_SHIFT
    sparse = []
    for number in np.unique(numbers):
        fragment = dataset.get_fragment(int(number))
        wanted = rows.addresses[numbers == number]
        if len(wanted) * _DENSE_ONE_IN < fragment.metadata.num_rows:
            sparse.append(wanted)
            continue
        for batch in stream(fragments=[fragment], batch_size=_BATCH_ROWS):
            kept = batch.filter(np.isin(batch.column(ROW_ADDRESS).to_numpy(), wanted))
            if kept.num_rows:
                yield kept
    if sparse:
        yield from _look_up(np.concatenate(sparse), stream)


def _look_up(
    addresses: np.ndarray, stream: Callable[..., Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(addresses), _LOOKED_UP_MAX):
        listed = ",".join(map(str, addresses[start : start + _LOOKED_UP_MAX].tolist()))
        yield from stream(filter=f"{ROW_ADDRESS} in ({listed})")


class _RowSetBuilder:
    """Collects rows of one version."""

    def __init__(self) -> None:
        self._whole: list[int] = []
        self._addresses: list[np.ndarray] = [np.empty(0, np.uint64)]
        self._count = 0

    def add_whole(self, fragment: Any) -> None:
        self._whole.append(fragment.fragment_id)
        self._count += fragment.metadata.num_rows

    def add_offsets(self, fragment: Any, offsets: np.ndarray) -> None:
        base = np.uint64(fragment.fragment_id) << _FRAGMENT_SHIFT
        self._addresses.append(offsets.astype(np.uint64) | base)
        self._count += len(offsets)

    def rows(self) -> RowSet:
        addresses = np.sort(np.concatenate(self._addresses))
        return RowSet(self._count, tuple(sorted(self._whole)), addresses)


def _fragments_by_files(dataset: Any) -> dict[tuple[Any, ...], Any]:
    """Key fragments by id, files and the names of the files' columns.

    Field ids are reused after a column was dropped, so an id alone does not identify a column.
    """
    names = field_names(dataset)
    return {_identity(fragment, names): fragment for fragment in dataset.get_fragments()}


def _identity(fragment: Any, names: Mapping[str, str]) -> tuple[Any, ...]:
    metadata = fragment.metadata
    files = tuple(
        (file.path, tuple((field, names.get(str(field))) for field in file.fields))
        for file in metadata.files
    )
    laid_over = tuple((each.data_file.path, each.committed_version) for each in metadata.overlays)
    return (metadata.id, files, laid_over)


def _deletions(fragment: Any) -> str | None:
    file = fragment.metadata.deletion_file
    return None if file is None else file.path(fragment.fragment_id)
