"""The JSON reader: a stream cut into blocks, each parsed columnar if possible, else exactly.

Threads parse blocks while the next ones are read. The results are collected in order, because
record numbers depend on all blocks before.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.loading.batches import RecordPosition, record_too_large
from omnigraph.loading.byte_streams import CorruptStream
from omnigraph.loading.columnar_parser import read_block
from omnigraph.loading.json_decoder import Decoder
from omnigraph.loading.record_parser import type_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.errors import LimitExceeded
    from omnigraph.loading.batches import CollectedInput, Parsed
    from omnigraph.loading.byte_streams import Stream
    from omnigraph.loading.json_schemas import JsonSchemas
    from omnigraph.runtime.limits import Limits

__all__ = ["JsonBlock", "JsonReader", "cut_blocks"]

_THREADS_MAX = 4
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


@frozen
class JsonBlock:
    """A block of a stream: whole lines, or an arbitrary range if the stream is one array."""

    data: bytes
    lines: bool = True


class _RecordTooLong(Exception):
    """A line exceeds the size limit of a record."""


def cut_blocks(stream: Stream, *, size: int, record_max: int) -> Iterator[JsonBlock]:
    """Cut a stream into blocks."""
    chunk = stream.read(size).removeprefix(_BOM)
    in_lines = not chunk.lstrip(_SPACE).startswith(b"[")
    held = b""
    while chunk:
        end = chunk.rfind(b"\n") + 1 if in_lines else len(chunk)
        if end:
            yield JsonBlock(b"".join((held, memoryview(chunk)[:end])), in_lines)
            held = chunk[end:]
        else:
            held += chunk
        if len(held) > record_max:
            raise _RecordTooLong
        chunk = stream.read(size)
    if held:
        yield JsonBlock(held + b"\n", in_lines)


class JsonReader:
    """Reads streams of JSON records into the collected input, one after the other."""

    def __init__(
        self, json_schemas: JsonSchemas, collected: CollectedInput, limits: Limits
    ) -> None:
        self._json_schemas = json_schemas
        self._collected = collected
        self._limits = limits
        self._decoder = Decoder()
        # The line on which the next block begins.
        self._line = 1

    def read(self, stream: Stream, name: str | None, progress: Callable[[], None]) -> None:
        """Read a whole stream; call ``progress`` after every block."""
        self._decoder, self._line = Decoder(), 1
        blocks = cut_blocks(
            stream,
            size=self._limits.load_block_bytes,
            record_max=self._limits.load_record_bytes_max,
        )
        try:
            for block, parsed in _parse_ahead(blocks, self._json_schemas):
                self._take(block, parsed, name)
                progress()
        except CorruptStream as broken:
            raise self._corrupt(broken, name) from broken
        except _RecordTooLong as long:
            raise self._too_long(self._line, name) from long
        self._take(JsonBlock(b""), None, name, last=True)
        progress()

    def _take(
        self, block: JsonBlock, parsed: Parsed | None, name: str | None, *, last: bool = False
    ) -> None:
        """Collect a block. Its independent parse is discarded if a record reaches into it."""
        decoder = self._decoder
        begins = self._line
        if parsed is None or not decoder.between_lines:
            found = decoder.feed(block.data, line=begins, last=last)
            records = ((item.value, item.line) for item in found)
            parsed = type_records(records, self._json_schemas)
            self._line += block.data.count(b"\n")
        else:
            # The columnar parser accepts one record per line only.
            self._line += parsed.count
        self._collected.add(parsed, RecordPosition(name, begins))
        if decoder.pending > self._limits.load_record_bytes_max:
            raise self._too_long(decoder.line, name)

    def _corrupt(self, broken: CorruptStream, name: str | None) -> InvalidInput:
        return InvalidInput(
            "load.corrupt",
            f"{name or 'the input'} is damaged after record {self._collected.count}: {broken}",
            remedy="get the input again; nothing was written",
            details={"record": self._collected.count + 1, "file": name},
        )

    def _too_long(self, line: int, name: str | None) -> LimitExceeded:
        limit = self._limits.load_record_bytes_max
        return record_too_large(limit, self._collected.count + 1, name, line)


def _parse_ahead(
    blocks: Iterator[JsonBlock], json_schemas: JsonSchemas
) -> Iterator[tuple[JsonBlock, Parsed | None]]:
    """Yield blocks in order with the result of the columnar parser.

    An error of reading ahead is raised in order, after the blocks before it.
    """
    workers = min(_THREADS_MAX, os.cpu_count() or 1)
    waiting: deque[tuple[JsonBlock, Future[Parsed | None]]] = deque()
    error_ahead: Exception | None = None
    with ThreadPoolExecutor(workers, thread_name_prefix="omnigraph-load") as pool:
        try:
            for block in blocks:
                waiting.append((block, pool.submit(_parse, block, json_schemas)))
                if len(waiting) > 2 * workers:
                    done, future = waiting.popleft()
                    yield done, future.result()
        except (CorruptStream, _RecordTooLong) as error:
            error_ahead = error
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()
    if error_ahead is not None:
        raise error_ahead


def _parse(block: JsonBlock, json_schemas: JsonSchemas) -> Parsed | None:
    return read_block(block.data, json_schemas) if block.lines else None
