"""Lookups through Lance's indexes; results are positions in a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

__all__ = ["find", "search_vector", "search_words"]

_ADDRESS = "_rowaddr"
_FRAGMENT_SHIFT = np.uint64(32)
_OFFSET_MASK = np.uint64(0xFFFFFFFF)


def find(dataset: Any, condition: Any) -> Ints:
    """Return the rows that satisfy a condition, ascending."""
    scanner = dataset.scanner(columns=[], with_row_address=True, filter=condition)
    return np.sort(_positions(dataset, scanner.to_table().column(_ADDRESS).to_numpy()))


def search_words(dataset: Any, column: str, words: Sequence[str], *, every: bool) -> Ints:
    """Return covered rows with one of the words, or every one, ascending."""
    query = load_lance().query
    operator = query.FullTextOperator.AND if every else query.FullTextOperator.OR
    found = dataset.scanner(
        columns=[],
        with_row_address=True,
        full_text_query=query.MatchQuery(" ".join(words), column, operator=operator),
        fast_search=True,
    ).to_table()
    return np.sort(_positions(dataset, found.column(_ADDRESS).to_numpy()))


def search_vector(dataset: Any, column: str, query: np.ndarray, count: int, *, probes: int) -> Ints:
    """Return approximately the nearest rows, nearest first."""
    nearest = {
        "column": column,
        "q": np.asarray(query, np.float32),
        "k": count,
        "metric": "cosine",
        "minimum_nprobes": probes,
    }
    scanner = dataset.scanner(columns=["_distance"], with_row_address=True, nearest=nearest)
    found = scanner.to_table()
    return _positions(dataset, found.column(_ADDRESS).to_numpy())


def _positions(dataset: Any, addresses: npt.NDArray[np.uint64]) -> Ints:
    """Return the positions of rows in a scan: by fragment, without deleted rows."""
    positions = np.empty(len(addresses), np.int64)
    owners = addresses >> _FRAGMENT_SHIFT
    wanted = set(np.unique(owners).tolist())
    start = 0
    for fragment in dataset.get_fragments():
        if fragment.fragment_id in wanted:
            here = owners == fragment.fragment_id
            positions[here] = start + _places(fragment, addresses[here] & _OFFSET_MASK)
        start += fragment.metadata.num_rows
    return positions


def _places(fragment: Any, offsets: npt.NDArray[np.uint64]) -> Ints:
    """Return the positions of rows among the live rows of a fragment."""
    if not fragment.metadata.num_deletions:
        return offsets.astype(np.int64)
    left = fragment.scanner(columns=[], with_row_address=True).to_table().column(_ADDRESS)
    return np.searchsorted(left.to_numpy() & _OFFSET_MASK, offsets)
