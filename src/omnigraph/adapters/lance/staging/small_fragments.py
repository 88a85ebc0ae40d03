"""Compaction of small fragments on write.

Every small write adds a fragment, which makes later scans and commits slower. Once enough small
fragments are at the end of a table, the next small write merges them with its own rows. The work is
bounded: a fragment of ``FRAGMENT_ROWS_MAX`` rows is left alone, so n single-row writes leave
n / 1024 fragments and a few. Row ids are not kept: Lance would look each of them up in the whole
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.adapters.lance.handles.metadata import fragments_of, schema_of
from omnigraph.adapters.lance.reading.blobs import has_blobs
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FRAGMENT_ROWS_MAX", "SmallFragments", "find_small_fragments"]

FRAGMENT_ROWS_MAX = 1_024
FRAGMENTS_MIN = 16
# A table with more small fragments needs an optimise.
FRAGMENTS_MAX = 64


@dataclass(frozen=True)
class SmallFragments:
    """The live rows of the small fragments, with their addresses."""

    fragment_ids: tuple[int, ...]
    rows: pa.Table
    addresses: np.ndarray

    def without(self, gone: np.ndarray) -> pa.Table:
        """Return the rows except those at some addresses."""
        return self.rows.filter(~np.isin(self.addresses, gone))


def find_small_fragments(dataset: Any, written_rows: int) -> SmallFragments | None:
    """Return the small fragments that a write of so many rows should compact."""
    if not 0 < written_rows <= FRAGMENT_ROWS_MAX or has_blobs(schema_of(dataset)):
        return None
    small = 0
    for fragment in reversed(fragments_of(dataset)[-FRAGMENTS_MAX:]):
        if fragment.rows >= FRAGMENT_ROWS_MAX:
            break
        small += 1
    if small < FRAGMENTS_MIN:
        return None
    fragments = dataset.get_fragments()[-small:]
    rows = dataset.scanner(
        fragments=fragments, with_row_address=True, scan_in_order=True
    ).to_table()
    return SmallFragments(
        tuple(fragment.fragment_id for fragment in fragments),
        rows.select(schema_of(dataset).names),
        rows.column(ROW_ADDRESS).to_numpy().astype(np.uint64),
    )
