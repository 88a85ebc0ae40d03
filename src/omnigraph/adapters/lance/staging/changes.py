"""Changes of rows: appends, overwrites, mutations and partitions of mutations."""

from __future__ import annotations

from typing import Any

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
    uneven_replacement,
    write_replacements,
    write_rows,
)
from omnigraph.errors import InvalidInput

__all__ = ["stage_append", "stage_change", "stage_overwrite", "stage_partition"]


def stage_append(dataset: Any, rows: pa.Table, *, path: str, fingerprint: str) -> TableOperation:
    """Stage new rows."""
    new = write_rows(dataset, require_columns(rows, schema_of(dataset), path), path=path)
    return TableOperation(
        OperationKind.APPEND, fingerprint, new=fragment_bodies(new), fields=field_names(dataset)
    )


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
    replace: tuple[np.ndarray, np.ndarray | None, pa.Table] | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """Stage deletions, replacements and insertions as one change; given row ids are kept."""
    deleted = as_addresses(delete)
    replaced = as_addresses(replace[0] if replace is not None else None)
    gone = np.union1d(deleted, replaced)
    if replaced.size != np.unique(replaced).size or np.isin(replaced, deleted).any():
        raise InvalidInput("table.replace", f"table {path}: a row is replaced and gone, or twice")
    plain, identified = _by_identity(replace, insert, path)
    written = sum(rows.num_rows for rows in plain)
    small = find_small_fragments(
        dataset, written_rows=written + (len(identified[0]) if identified else 0)
    )
    if not gone.size and small is None:
        return (
            stage_append(dataset, plain[0], path=path, fingerprint=fingerprint) if written else None
        )
    remaining = gone
    if small is not None:
        plain = [*plain, small.without(gone)]
        # Compacted fragments are removed whole.
        compacted = np.isin(gone >> FRAGMENT_SHIFT, np.array(small.fragment_ids, np.uint64))
        remaining = gone[~compacted]
    new = write_replacements(dataset, *identified, path) if identified else []
    fitting = [require_columns(rows, schema_of(dataset), path) for rows in plain if rows.num_rows]
    if fitting:
        new += write_rows(dataset, pa.concat_tables(fitting), path=path)
    updated, removed = delete_rows(dataset, remaining, path)
    if small is not None:
        removed = (*removed, *small.fragment_ids)
    return TableOperation(
        OperationKind.UPDATE if new else OperationKind.DELETE,
        fingerprint,
        new=fragment_bodies(new),
        updated=fragment_bodies(updated),
        removed=removed,
        fields=field_names(dataset) if new else None,
    )


def _by_identity(
    replace: tuple[np.ndarray, np.ndarray | None, pa.Table] | None,
    insert: pa.Table | None,
    path: str,
) -> tuple[list[pa.Table], tuple[np.ndarray, pa.Table] | None]:
    """Split rows into new ones and those that keep the row ids of others."""
    plain = [insert] if insert is not None and insert.num_rows else []
    if replace is None or not len(replace[0]):
        return plain, None
    addresses, row_ids, rows = replace
    if len(addresses) != rows.num_rows or (row_ids is not None and len(row_ids) != rows.num_rows):
        raise uneven_replacement(path)
    return ([rows, *plain], None) if row_ids is None else (plain, (row_ids, rows))


def stage_partition(
    dataset: Any,
    *,
    path: str,
    fingerprint: str,
    delete: np.ndarray | None,
    replace: tuple[np.ndarray, pa.Table] | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """Stage one partition of a change; ``combine`` joins partitions.

    Small fragments are not compacted: their total number is unknown here.
    """
    new: list[Any] = []
    if replace is not None and replace[1].num_rows:
        new += write_replacements(dataset, *replace, path)
    if insert is not None and insert.num_rows:
        new += write_rows(dataset, require_columns(insert, schema_of(dataset), path), path=path)
    updated, removed = delete_rows(dataset, np.unique(as_addresses(delete)), path)
    if not (new or updated or removed):
        return None
    return TableOperation(
        OperationKind.UPDATE if new else OperationKind.DELETE,
        fingerprint,
        new=fragment_bodies(new),
        updated=fragment_bodies(updated),
        removed=removed,
        fields=field_names(dataset) if new else None,
    )
