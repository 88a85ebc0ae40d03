"""What two versions of a table have in common, told by their files.

Data files are never rewritten. A row that lies at the same offset of the same file in two versions,
deleted in neither, is the same row: nobody has to read it to know that. All that may differ between
the versions are the other rows. This holds for any two versions, whatever lies between them and
whether it still exists, and needs nothing but their manifests and deletion vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.adapters.lance.deletions import deleted_offsets
from omnigraph.adapters.lance.handle_metadata import field_names
from omnigraph.ports.tables import ROW_ADDRESS, RowSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from omnigraph.ports.objects import ObjectStore

__all__ = ["all_rows", "read_rows", "unshared_rows"]

_FRAGMENT_SHIFT = np.uint64(32)
_OFFSET_MASK = np.uint64(0xFFFFFFFF)
# So many addresses are looked up at once; more make a filter that takes longer to plan than to run.
_LOOKED_UP_MAX = 8_192
# When more than one row in so many is wanted, passing over the fragment is cheaper than looking up.
_DENSE_ONE_IN = 12
_BATCH_ROWS = 16_384


def unshared_rows(
    objects: ObjectStore, path: str, before: Any, after: Any
) -> tuple[RowSet, RowSet]:
    """The rows of each version that the other one does not hold in the same place."""
    old, new = _fragments_by_files(before), _fragments_by_files(after)
    only_old, only_new = _Gathering(), _Gathering()
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
    """Every row of a version."""
    gathering = _Gathering()
    for fragment in dataset.get_fragments():
        gathering.add_whole(fragment)
    return gathering.rows()


def read_rows(
    dataset: Any, rows: RowSet, stream: Callable[..., Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """The rows of a set, in no particular order. ``stream`` scans with Lance's own options."""
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


class _Gathering:
    """Rows of one version, as they are found."""

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
    """Fragments by what makes them the same: number, files, and what the files' columns are called.

    Field ids are reused after a column was dropped, so the number of a field says nothing alone.
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
