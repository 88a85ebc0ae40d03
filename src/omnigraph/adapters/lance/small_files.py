"""Small data files, written without the machinery for large ones.

Most writes of most graphs are a few rows. Lance's writer of tables sets up streams, a progress and
a split into files before it writes the first of them; its writer of single files does not, and
takes two thirds of the time. What it writes is the same (tests/substrate looks).
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handle_metadata import plain_fields, schema_of
from omnigraph.adapters.lance.imports import load_file_module, load_lance

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_small", "write_small"]

_ROWS_MAX = 1_024
_BYTES_MAX = 2**20


def is_small(dataset: Any, rows: pa.Table) -> bool:
    """Whether rows are few and plain, and belong into a table on a disk: in a bucket the requests
    are what takes time."""
    return (
        rows.num_rows <= _ROWS_MAX
        and dataset.uri.startswith("/")
        and plain_fields(dataset) is not None
        and rows.nbytes <= _BYTES_MAX
        and rows.schema.equals(schema_of(dataset))
    )


def write_small(dataset: Any, rows: pa.Table, *, overwrite: bool = False) -> Any:
    """One data file with the columns of the handle, as a fragment that nothing refers to. An
    overwrite numbers its columns anew."""
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
