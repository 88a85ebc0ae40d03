"""Input files, and the section of them that each task reads.

Only JSON lines, Parquet and Lance datasets can be split. A split of JSON lies between a line that
ends with a closing brace and one that begins with an opening brace: inside a value the two never
meet, so both sides read exactly the records that a single reader would, whether records take one
line or many. One task reads each compressed file, CSV file, Arrow file or JSON array whole.
"""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.loading.byte_streams import open_stream
from omnigraph.loading.formats import FORMATS, format_of, is_lance
from omnigraph.pipeline.spark.batching import batched_by_weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    from omnigraph.ports.tables import TableStore

__all__ = [
    "SPLIT_BYTES",
    "Section",
    "Split",
    "expand",
    "is_frame",
    "list_files",
    "open_section",
    "plan_splits",
    "size_of",
]

SPLIT_BYTES = 32 * 2**20

_BOUNDARY = re.compile(rb"\}[ \t\r\n]*\n(?=\{)")
_WINDOW_BYTES = 2**20
# A boundary with more white space than this between two records is not found.
_OVERLAP_BYTES = 2**12
_MAGIC_LENGTH = 6
_SPACE = b" \t\r\n\xef\xbb\xbf"


@frozen
class Section:
    """A section of a file or of a dataset; without ``end`` and ``parts``, all of it."""

    file: str
    format: str
    size: int
    type: str | None = None
    start: int = 0
    end: int | None = None
    # Row groups of a Parquet file, fragments of a Lance dataset.
    parts: tuple[int, ...] | None = None


@frozen
class Split:
    """The sections that one task reads, in order; splits are numbered in the order of the input."""

    number: int
    sections: tuple[Section, ...]


def list_files(paths: Iterable[str | Path]) -> list[str]:
    """List the files of paths, patterns and directories, in a fixed order.

    Paths are absolute, because executors have another working directory.
    """
    found: list[str] = []
    for path in map(str, paths):
        matches = [path] if Path(path).exists() else _matches(path)
        files = [file for match in matches for file in _files_below(Path(match).absolute())]
        if not files:
            raise InvalidInput(
                "file.unreadable",
                f"there is no file {path}",
                remedy="check the path; omnigraph expands patterns, not Spark",
            )
        found += files
    return found


def is_frame(source: Any) -> bool:
    """Return whether a source is a Spark data frame, without importing PySpark."""
    return type(source).__module__.startswith("pyspark.")


def expand(source: Any) -> Any:
    """Replace patterns and directories by the files that they match, also in lists and by type.

    A pattern without a match stays: the reader raises the error.
    """
    if isinstance(source, Mapping):
        return {name: expand(part) for name, part in source.items()}
    if isinstance(source, list):
        return [file for part in source for file in _expand_part(part)]
    files = _expand_part(source)
    return files if len(files) > 1 else files[0]


def _expand_part(part: Any) -> list[Any]:
    try:
        if not isinstance(part, str | Path) or Path(part).is_file():
            return [part]
        return list(list_files([part]))
    except (InvalidInput, OSError):
        return [part]


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of a dataset."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")))


def plan_splits(
    files: Iterable[tuple[str, str | None]],
    *,
    format: str | None,  # noqa: A002 - the name of the option
    tables: TableStore,
    split_bytes: int = SPLIT_BYTES,
) -> list[Split]:
    """Split files, each with its type, into the sections of each task."""
    if format is not None and format not in FORMATS:
        raise InvalidInput(
            "load.bad_format",
            f"{format!r} is not a format",
            remedy=f"one of: {', '.join(FORMATS)}",
        )
    sections = (
        replace(section, type=type_name)
        for file, type_name in files
        for section in _cut(file, format, split_bytes, tables)
    )
    groups = batched_by_weight(sections, lambda section: section.size, split_bytes)
    return [Split(number, group) for number, group in enumerate(groups)]


def open_section(section: Section, tables: TableStore) -> Any:
    """Open a section for the loader: a path, a range of bytes, or a stream of batches."""
    if section.parts is not None:
        is_lance = section.format == "lance"
        return _open_fragments(section, tables) if is_lance else _open_row_groups(section)
    if section.end is not None:
        return _ByteRange(section)
    return section.file


def _matches(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - it may be absolute


def _files_below(path: Path) -> Iterator[str]:
    # A Lance dataset is one input, though it is a directory.
    if not path.is_dir() or path.suffix.lower() == ".lance":
        yield str(path)
        return
    for entry in sorted(path.iterdir()):
        if not entry.name.startswith(("_", ".")):
            yield from _files_below(entry)


def _cut(
    file: str,
    format: str | None,  # noqa: A002
    split_bytes: int,
    tables: TableStore,
) -> Iterator[Section]:
    if is_lance(file, format):
        yield from _cut_fragments(file, split_bytes, tables)
        return
    with open_stream(file) as (tap, stream):
        kind = format or format_of(file, tap.peek(_MAGIC_LENGTH))
        is_plain = stream is tap
        starts_array = tap.peek(_WINDOW_BYTES).lstrip(_SPACE).startswith(b"[")
    size = Path(file).stat().st_size
    whole = Section(file, kind, size)
    if size <= split_bytes or not is_plain:
        yield whole
    elif kind == "ndjson" and not starts_array:
        yield from _cut_records(whole, split_bytes)
    elif kind == "parquet":
        yield from _cut_row_groups(whole, split_bytes)
    else:
        yield whole


def _cut_records(whole: Section, split_bytes: int) -> Iterator[Section]:
    start = 0
    with Path(whole.file).open("rb") as file:
        while start < whole.size:
            end = _boundary(file, start + split_bytes, whole.size)
            yield replace(whole, start=start, end=end, size=end - start)
            start = end


def _boundary(file: BinaryIO, position: int, size: int) -> int:
    """Find the first position at or after ``position`` where a record begins; else the end."""
    at = position
    while at < size:
        file.seek(at)
        window = file.read(_WINDOW_BYTES)
        found = _BOUNDARY.search(window)
        if found is not None:
            return at + found.end()
        at += max(len(window) - _OVERLAP_BYTES, _OVERLAP_BYTES)
    return size


def _cut_row_groups(whole: Section, split_bytes: int) -> Iterator[Section]:
    try:
        with pq.ParquetFile(whole.file) as file:
            sizes = [
                file.metadata.row_group(number).total_byte_size
                for number in range(file.metadata.num_row_groups)
            ]
    except (pa.ArrowException, OSError):
        # The task that reads the file raises the error.
        yield whole
        return
    yield from _cut_parts(whole, sizes, split_bytes)


def _cut_fragments(file: str, split_bytes: int, tables: TableStore) -> Iterator[Section]:
    sizes = tables.open_external(file).sizes
    total = size_of(Path(file))
    per_row = total / max(sum(sizes), 1)
    whole = Section(file, "lance", total)
    yield from _cut_parts(whole, [int(rows * per_row) for rows in sizes], split_bytes)


def _cut_parts(whole: Section, sizes: Sequence[int], split_bytes: int) -> Iterator[Section]:
    for parts in batched_by_weight(range(len(sizes)), lambda part: sizes[part], split_bytes):
        yield replace(whole, parts=parts, size=sum(sizes[part] for part in parts))


def _open_row_groups(section: Section) -> pa.RecordBatchReader:
    file = pq.ParquetFile(section.file)
    return pa.RecordBatchReader.from_batches(
        file.schema_arrow, file.iter_batches(row_groups=list(section.parts or ()))
    )


def _open_fragments(section: Section, tables: TableStore) -> pa.RecordBatchReader:
    batches = tables.open_external(section.file).batches(section.parts)
    first = next(batches, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(pa.schema([]), [])
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


class _ByteRange(io.RawIOBase):
    """A range of bytes of a file, as a file object."""

    def __init__(self, section: Section) -> None:
        super().__init__()
        # Messages name the file by this attribute.
        self.name = section.file
        try:
            self._file = Path(section.file).open("rb", buffering=0)  # noqa: SIM115 - closed with us
        except OSError as error:
            raise InvalidInput(
                "file.unreadable", f"{section.file} cannot be read: {error.strerror or error}"
            ) from error
        self._file.seek(section.start)
        self._left = (section.end or section.size) - section.start
        # The number of lines read; the next section starts after them.
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        found = self._file.read(wanted) if wanted else b""
        if wanted and not found:
            raise InvalidInput(
                "file.changed",
                f"{self.name} became shorter while it was read; nothing was written",
                remedy="load it again once no other process writes to it",
            )
        found = found or b""
        self._left -= len(found)
        self.lines += found.count(b"\n")
        return found

    def close(self) -> None:
        self._file.close()
        super().close()
