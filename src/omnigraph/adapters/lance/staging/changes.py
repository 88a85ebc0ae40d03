"""Changes of rows: appends, overwrites, mutations and partitions of mutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.adapters.lance.handles.failures import writing
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.handles.metadata import field_names, schema_of
from omnigraph.adapters.lance.reading.blobs import encode_rows
from omnigraph.adapters.lance.staging.deletions import FRAGMENT_SHIFT, as_addresses, delete_rows
from omnigraph.adapters.lance.staging.operations import (
    OperationKind,
    TableOperation,
    encode_schema_text,
)
from omnigraph.adapters.lance.staging.small_fragments import find_small_fragments
from omnigraph.adapters.lance.staging.writing import (
    fragment_bodies,
    require_columns,
    write_rows,
)
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["stage_append", "stage_change", "stage_overwrite", "stage_partition"]


def stage_append(dataset: Any, rows: pa.Table, *, path: str, fingerprint: str) -> TableOperation:
    """Stage new rows."""
    new = write_rows(dataset, require_columns(rows, schema_of(dataset), path), path=path)
    return _append(dataset, new, fingerprint)


def stage_overwrite(
    dataset: Any, rows: pa.Table, schema: pa.Schema, *, path: str, fingerprint: str
) -> TableOperation:
    """Stage rows, with their own schema, that replace all others."""
    new: list[Any] = []
    if rows.num_rows:
        with writing(path):
            new = load_lance().fragment.write_fragments(
                encode_rows(rows, schema), dataset, schema=schema, mode="overwrite"
            )
    return TableOperation(
        OperationKind.OVERWRITE,
        fingerprint,
        new=fragment_bodies(new),
        schema=encode_schema_text(schema),
    )


def stage_change(
    dataset: Any,
    *,
    path: str,
    fingerprint: str,
    delete: np.ndarray | None,
    replace: tuple[np.ndarray, pa.Table] | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """Stage deletions, replacements and insertions as one change.

    Replacement rows are new rows. Rows that keep the row ids of others would be found twice by the
    segments of text indexes that still have those ids.
    """
    gone = _gone_addresses(delete, replace, path)
    new_rows = [rows for rows in (replace and replace[1], insert) if rows is not None]
    new_rows = [rows for rows in new_rows if rows.num_rows]
    small = find_small_fragments(dataset, written_rows=sum(rows.num_rows for rows in new_rows))
    removed: tuple[int, ...] = ()
    if small is not None:
        new_rows.append(small.without(gone))
        # Compacted fragments are removed whole.
        ids = np.array(small.fragment_ids, np.uint64)
        gone = gone[~np.isin(gone >> FRAGMENT_SHIFT, ids)]
        removed = small.fragment_ids
    new = _write(dataset, new_rows, path)
    if not gone.size and not removed:
        return _append(dataset, new, fingerprint) if new else None
    updated, emptied = delete_rows(dataset, gone, path)
    return _mutation(dataset, fingerprint, new=new, updated=updated, removed=(*emptied, *removed))


def stage_partition(
    dataset: Any,
    *,
    path: str,
    fingerprint: str,
    delete: np.ndarray | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """Stage one partition of a change; ``combine`` joins partitions.

    Small fragments are not compacted: their total number is unknown here.
    """
    new = _write(dataset, [] if insert is None else [insert], path)
    updated, removed = delete_rows(dataset, np.unique(as_addresses(delete)), path)
    if not (new or updated or removed):
        return None
    return _mutation(dataset, fingerprint, new=new, updated=updated, removed=removed)


def _gone_addresses(
    delete: np.ndarray | None, replace: tuple[np.ndarray, pa.Table] | None, path: str
) -> np.ndarray:
    deleted = as_addresses(delete)
    replaced = as_addresses(replace[0] if replace is not None else None)
    if replace is not None and len(replaced) != replace[1].num_rows:
        raise InvalidInput("table.replace", f"table {path}: addresses and rows differ in number")
    if replaced.size != np.unique(replaced).size or np.isin(replaced, deleted).any():
        raise InvalidInput("table.replace", f"table {path}: a row is replaced and gone, or twice")
    return np.union1d(deleted, replaced)


def _write(dataset: Any, rows: Sequence[pa.Table], path: str) -> list[Any]:
    schema = schema_of(dataset)
    fitting = [require_columns(each, schema, path) for each in rows if each.num_rows]
    return write_rows(dataset, pa.concat_tables(fitting), path=path) if fitting else []


def _append(dataset: Any, new: Sequence[Any], fingerprint: str) -> TableOperation:
    return TableOperation(
        OperationKind.APPEND, fingerprint, new=fragment_bodies(new), fields=field_names(dataset)
    )


def _mutation(
    dataset: Any,
    fingerprint: str,
    *,
    new: Sequence[Any],
    updated: Sequence[Any],
    removed: tuple[int, ...],
) -> TableOperation:
    return TableOperation(
        OperationKind.UPDATE if new else OperationKind.DELETE,
        fingerprint,
        new=fragment_bodies(new),
        updated=fragment_bodies(updated),
        removed=removed,
        fields=field_names(dataset) if new else None,
    )
