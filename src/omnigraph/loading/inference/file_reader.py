"""Reading of files without a schema, for inference."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.loading.byte_streams import CorruptStream, open_stream
from omnigraph.loading.formats import arrow_batches, format_of, parquet_batches
from omnigraph.loading.inference.column_types import ObservedType, read_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ROWS_MAX", "observe_file"]

# More rows only slow down the draft.
ROWS_MAX = 100_000
_FROM, _TO = ("from", "src"), ("to", "dst")
_PIECE_CHARS = 2**16
_JSON = json.JSONDecoder()
_OPENING = re.compile(r"\s*\[")
_BETWEEN = re.compile(r"[\s,]*")


def observe_file(path: str, type_name: str | None, seen: dict[str, ObservedType]) -> None:
    """Observe the rows of a file, by type, in ``seen``."""
    try:
        with open_stream(path) as (_, stream):
            first = stream.read(8)
        layout = format_of(path, first)
        if layout == "ndjson":
            _observe_records(path, type_name, seen)
        else:
            observed = _observed_type(type_name or type_name_of(path), seen)
            observed.textual = layout == "csv"
            for row in islice(_ROWS[layout](path), ROWS_MAX):
                _observe_row(observed, row)
    except (OSError, CorruptStream, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise InvalidInput("infer.unreadable", f"{path} cannot be read: {error}") from error


def type_name_of(path: str) -> str:
    """Derive a type name from a file name: ``data/blog-posts.csv`` becomes ``BlogPosts``."""
    stem = Path(path).name.partition(".")[0]
    words = [word for word in re.split(r"[^A-Za-z0-9]+", stem) if word]
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if name and name[0].isalpha() else f"T{name}"


def _observed_type(name: str, seen: dict[str, ObservedType]) -> ObservedType:
    return seen.setdefault(name, ObservedType(name))


def _observe_row(observed: ObservedType, row: dict[str, Any]) -> None:
    """Observe a flat row: ``id`` and the ends of an edge are not properties."""
    values = dict(row)
    identity = values.pop("id", None)
    begins = [values.pop(name) for name in _FROM if name in values]
    ends = [values.pop(name) for name in _TO if name in values]
    if begins and ends:
        _observe_ends(observed, begins[0], ends[0])
    if identity is not None:
        observed.ids.add(identity)
    observed.observe(values)


def _observe_ends(observed: ObservedType, begin: Any, end: Any) -> None:
    if observed.ends is None:
        observed.ends = (set(), set())
    for known, value in zip(observed.ends, (begin, end), strict=True):
        if isinstance(value, str | int):
            known.add(str(value))


def _observe_records(path: str, type_name: str | None, seen: dict[str, ObservedType]) -> None:
    for number, record in enumerate(islice(_records(path), ROWS_MAX), 1):
        if not isinstance(record, dict):
            raise InvalidInput("infer.not_object", f"{path}: record {number} is not an object")
        kind = next((head for head in ("type", "edge") if isinstance(record.get(head), str)), None)
        enveloped = kind is not None and set(record) <= {kind, "id", "data", "from", "to"}
        if kind is None or not enveloped or type_name is not None:
            _observe_row(_observed_type(type_name or type_name_of(path), seen), record)
            continue
        data = record.get("data") or {}
        ends = {name: record[name] for name in ("from", "to") if name in record}
        identity = {"id": record["id"]} if "id" in record else {}
        _observe_row(_observed_type(record[kind], seen), {**data, **identity, **ends})


def _records(path: str) -> Iterator[Any]:
    """Read JSON values, in sequence or in one array, lazily."""
    with _open_text(path) as stream:
        text = stream.read(_PIECE_CHARS)
        opening = _OPENING.match(text)
        at, lines, piece = opening.end() if opening else 0, 1, _PIECE_CHARS
        while True:
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr] # matches nothing, too
            try:
                value, end = _JSON.raw_decode(text, at)
            except ValueError as error:
                if opening and text[at : at + 1] == "]":
                    return
                more = stream.read(piece)
                if more:
                    # The record may continue in the next piece; doubling pieces keeps the retries
                    # of a long record linear.
                    lines += text.count("\n", 0, at)
                    text, at, piece = text[at:] + more, 0, piece * 2
                    continue
                if at >= len(text):
                    return
                line = lines + text.count("\n", 0, at)
                raise InvalidInput("infer.bad_json", f"{path}: line {line}: {error}") from error
            yield value
            at, piece = end, _PIECE_CHARS


def _csv_rows(path: str) -> Iterator[dict[str, Any]]:
    with _open_text(path) as stream:
        reader = csv.reader(stream)
        names = next(reader, [])
        for row in reader:
            if row:
                yield {name: read_cell(cell) for name, cell in zip(names, row, strict=False)}


@contextmanager
def _open_text(path: str) -> Iterator[io.TextIOWrapper]:
    with open_stream(path) as (_, stream):
        yield io.TextIOWrapper(io.BufferedReader(_Raw(stream)), "utf-8-sig", newline="")


class _Raw(io.RawIOBase):
    """Adapts an object with only ``read`` to the text streams of Python."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _table_rows(read: Callable[[Any], Iterator[pa.RecordBatch]]) -> Callable[[str], Any]:
    return lambda path: _rows_of(read(path))


_ROWS: dict[str, Callable[[str], Iterator[dict[str, Any]]]] = {
    "csv": _csv_rows,
    "parquet": _table_rows(parquet_batches),
    "arrow": _table_rows(arrow_batches),
}
