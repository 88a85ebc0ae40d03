"""Deletion vectors for rows by address."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnigraph.adapters.lance.handles.failures import writing
from omnigraph.errors import InvalidInput

__all__ = ["FRAGMENT_SHIFT", "as_addresses", "delete_rows"]

FRAGMENT_SHIFT = np.uint64(32)
_OFFSET_MASK = np.uint64(0xFFFFFFFF)


def as_addresses(addresses: np.ndarray | None) -> np.ndarray:
    """Return addresses as an array; an empty one for None."""
    return np.empty(0, np.uint64) if addresses is None else np.asarray(addresses, np.uint64)


def delete_rows(
    dataset: Any, addresses: np.ndarray, path: str
) -> tuple[list[Any], tuple[int, ...]]:
    """Write deletion vectors; returns updated fragments and the ids of fragments without rows."""
    updated, removed = [], []
    fragments = addresses >> FRAGMENT_SHIFT
    for fragment_id in np.unique(fragments):
        offsets = addresses[fragments == fragment_id] & _OFFSET_MASK
        fragment = dataset.get_fragment(int(fragment_id))
        if fragment is None:
            raise InvalidInput(
                "table.address", f"table {path} has no fragment {fragment_id}: not an address of it"
            )
        with writing(path):
            metadata = fragment.delete_rows(offsets.tolist())
        if metadata is None:
            removed.append(int(fragment_id))
        else:
            updated.append(metadata)
    return updated, tuple(removed)
