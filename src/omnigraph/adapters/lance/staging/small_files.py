"""Small data files, written by Lance's file writer instead of its dataset writer.

Most writes have few rows. The dataset writer sets up streams and splits before it writes the first
file; the file writer takes two thirds of the time and writes identical files, as tests/substrate
verifies.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.imports import load_file_module, load_lance
from omnigraph.adapters.lance.handles.metadata import plain_fields, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_small", "write_small"]

_ROWS_MAX = 1_024
_BYTES_MAX = 2**20


def is_small(dataset: Any, rows: pa.Table) -> bool:
    """Return whether rows are few, plain and for a local table; in buckets requests dominate."""
    return (
        rows.num_rows <= _ROWS_MAX
        and dataset.uri.startswith("/")
        and plain_fields(dataset) is not None
        and rows.nbytes <= _BYTES_MAX
        and rows.schema.equals(schema_of(dataset))
    )


def write_small(dataset: Any, rows: pa.Table, *, overwrite: bool = False) -> Any:
    """Write one data file with the columns of the handle; an overwrite renumbers its columns."""
    name, version = f"{secrets.token_hex(16)}.lance", dataset.data_storage_version
    writer = _files(f"{dataset.uri}/data").open_writer(name, schema=rows.schema, version=version)
    for batch in rows.to_batches():
        writer.write_batch(batch)
    writer.close()
    fields = range(rows.num_columns) if overwrite else plain_fields(dataset) or ()
    major, minor = (int(number) for number in version.split("."))
    fragment = load_lance().fragment
    file = fragment.DataFile(
        name, list(fields), list(range(len(fields))), major, minor, writer.size_bytes
    )
    return fragment.FragmentMetadata(0, [file], rows.num_rows)


@lru_cache(256)
def _files(directory: str) -> Any:
    return load_file_module().LanceFileSession(directory)
