"""Lengths of texts, kept beside an index of words.

Relevance needs the average length of all texts of a column, and an index does not hold it. So the
lengths are counted when an index is built and kept with it, part by part: where rows were deleted
since, theirs can be left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.executor.search.corpus import Statistics
from omnigraph.executor.search.term_dictionary import TermDictionary
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

__all__ = ["FragmentTextLengths", "read_notes", "write_notes"]

_SCHEMA = pa.schema(
    [
        pa.field("part", pa.string(), nullable=False),
        pa.field("lengths", pa.large_list(pa.uint32()), nullable=False),
    ],
    metadata={"omnigraph.notes": "1"},
)
# The length of a NULL, and of a row that was gone when the index was built.
_NONE = np.uint32(0xFFFFFFFF)


@frozen
class FragmentTextLengths:
    """How many words each row of a part has, by its offset among the rows that were written."""

    lengths: npt.NDArray[np.uint32]

    @staticmethod
    def of(texts: pa.Array, offsets: Ints, written: int) -> FragmentTextLengths:
        """Count the words of the rows of a part that are there."""
        words = TermDictionary.of(texts)
        lengths = np.full(written, _NONE, np.uint32)
        counted = words.lengths.astype(np.uint32)
        lengths[offsets] = counted if words.nulls is None else np.where(words.nulls, _NONE, counted)
        return FragmentTextLengths(lengths)

    def statistics(self, offsets: Ints | None) -> Statistics:
        """Of the rows at offsets, or of all."""
        lengths = self.lengths if offsets is None else self.lengths[offsets]
        counted = lengths[lengths != _NONE]
        return Statistics(len(counted), int(counted.sum(dtype=np.int64)))


def write_notes(parts: Iterable[tuple[str, FragmentTextLengths]]) -> bytes:
    """The notes of a segment."""
    rows = list(parts)
    lengths = [part.lengths for _, part in rows]
    bounds = np.cumsum([0, *(len(each) for each in lengths)])
    table = pa.table(
        [
            pa.array([key for key, _ in rows], pa.string()),
            pa.LargeListArray.from_arrays(
                pa.array(bounds, pa.int64()), pa.array(np.concatenate([_EMPTY, *lengths]))
            ),
        ],
        schema=_SCHEMA,
    )
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_notes(notes: bytes) -> dict[str, FragmentTextLengths]:
    """The lengths by the keys of parts; nothing where the notes are not such."""
    try:
        with pa.ipc.open_stream(notes) as reader:
            table = reader.read_all()
    except pa.ArrowInvalid:
        return {}
    if table.schema.metadata != _SCHEMA.metadata:
        return {}
    lengths = table.column("lengths").combine_chunks()
    bounds, values = lengths.offsets.to_numpy(), lengths.values.to_numpy()
    keys = table.column("part").to_pylist()
    return {
        key: FragmentTextLengths(values[bounds[place] : bounds[place + 1]])
        for place, key in enumerate(keys)
    }


_EMPTY = np.empty(0, np.uint32)
