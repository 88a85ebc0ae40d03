"""Data files for rows, written through a handle that is opened at a pin.

A bare address would mean the newest version, whose columns may be another branch's: in a test that
silently wrote NULLs and swapped columns. Lance's in-place methods (delete, update, merge_insert,
...) are not used anywhere; tests/tidy verifies that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.adapters.lance.handles.failures import writing
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.reading.blobs import decode_schema, encode_rows
from omnigraph.adapters.lance.reading.membership import MEMBERSHIP
from omnigraph.adapters.lance.staging.operations import fragment_body
from omnigraph.adapters.lance.staging.small_files import is_small, write_small
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "fragment_bodies",
    "require_columns",
    "write_first_rows",
    "write_rows",
]


def write_rows(dataset: Any, rows: pa.Table, *, path: str, mode: str = "append") -> list[Any]:
    """Write data files with the schema of the handle; no files for no rows."""
    if not rows.num_rows:
        return []
    with writing(path):
        if is_small(dataset, rows):
            written = [write_small(dataset, rows, overwrite=mode == "overwrite")]
        else:
            written = list(load_lance().fragment.write_fragments(rows, dataset, mode=mode))
    MEMBERSHIP.learn(written, rows)
    return written


def write_first_rows(
    url: str, rows: pa.Table, *, path: str, storage_options: Mapping[str, str] | None
) -> list[Any]:
    """Write data files for a table that does not exist yet, the only case without a handle."""
    with writing(path):
        return list(
            load_lance().fragment.write_fragments(
                rows, url, mode="create", storage_options=storage_options
            )
        )


def require_columns(rows: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """Return rows in the order and with the types of a schema, or raise ``table.columns``."""
    if sorted(rows.column_names) != sorted(schema.names):
        raise InvalidInput(
            "table.columns",
            f"table {path}: rows have the columns {rows.column_names}, the table {schema.names}",
            details={"table": path},
        )
    try:
        return encode_rows(rows, schema)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            "table.columns",
            f"table {path}: rows do not fit {decode_schema(schema).names}: {error}",
            details={"table": path},
        ) from error


def fragment_bodies(fragments: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    """Return fragments as Lance's JSON."""
    return tuple(fragment_body(fragment) for fragment in fragments)
