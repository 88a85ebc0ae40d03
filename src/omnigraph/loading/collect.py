"""Collection of any input: parsed, typed and in memory."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.writes import Progress
from omnigraph.errors import InvalidInput
from omnigraph.language.diagnostics import suggest
from omnigraph.loading import formats
from omnigraph.loading.batches import CollectedInput, RecordPosition, find_large, record_too_large
from omnigraph.loading.byte_streams import CorruptStream, open_stream, stream_name
from omnigraph.loading.csv_lines import CsvLines
from omnigraph.loading.json_reader import JsonReader
from omnigraph.loading.json_schemas import JsonSchemas
from omnigraph.loading.record_parser import type_records
from omnigraph.loading.tables import check_columns, type_rows
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.session.idempotency import encode_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.loading.batches import Parsed
    from omnigraph.loading.byte_streams import CountingStream, Stream
    from omnigraph.ports.tables import TableStore
    from omnigraph.runtime.limits import Limits

__all__ = ["collect"]

_RECORDS_AT_ONCE = 10_000
_MAGIC_LENGTH = 6
_READ_BYTES = 2**22
_FILES = (str, Path, bytes, bytearray, memoryview)


def collect(
    request: LoadRequest,
    catalog: Catalog,
    limits: Limits,
    *,
    tables: TableStore,
    into: CollectedInput | None = None,
) -> tuple[CollectedInput, str | None]:
    """Read the input; also return its digest, if the request has an idempotency key.

    ``tables`` opens inputs that are not read as bytes; ``into`` collects the input where it should
    not all stay in memory.
    """
    collected = into or CollectedInput(bytes_max=limits.load_bytes_max)
    collector = _Collector(request, catalog, limits, tables, collected)
    collector.read()
    digest = collector.digest
    return collector.collected, digest.hexdigest() if digest is not None else None


class _Collector:
    def __init__(
        self,
        request: LoadRequest,
        catalog: Catalog,
        limits: Limits,
        tables: TableStore,
        collected: CollectedInput,
    ) -> None:
        self._request = request
        self._catalog = catalog
        self._limits = limits
        self._tables = tables
        self._bytes = 0
        self.collected = collected
        self.digest = hashlib.sha256() if request.idempotency_key is not None else None
        if request.format is not None and request.format not in formats.FORMATS:
            raise InvalidInput(
                "load.bad_format",
                f"{request.format!r} is not a format",
                remedy=f"one of: {', '.join(formats.FORMATS)}",
            )

    def read(self) -> None:
        """Read the whole input."""
        source, name = self._request.source, self._request.type
        if isinstance(source, Mapping):
            for type_name, part in source.items():
                entity = self._named(type_name)
                # The same rows under another type are a different request.
                self._note(entity.name)
                self._read(part, entity)
        else:
            self._read(source, None if name is None else self._named(name))

    def _read(self, source: Any, entity: EntityType | None) -> None:
        if formats.is_pandas(source):
            self._read_pandas(source, _require_type(entity, "a frame"))
        elif formats.is_frame(source):
            self._read_tables(formats.frame_batches(source), _require_type(entity, "a frame"))
        elif _is_file(source):
            self._read_file(source, entity)
        elif isinstance(source, Iterable):
            self._read_items(iter(source), entity)
        else:
            raise InvalidInput(
                "load.bad_source",
                f"a {type(source).__name__} cannot be loaded",
                remedy="give a path, an open file, records, a table or a data frame",
            )

    def _named(self, name: object) -> EntityType:
        """Return a type that the request names, and register it."""
        entity = self._catalog.entity(name) if isinstance(name, str) else None
        if entity is None:
            known = [found.name for found in self._catalog.types.values()]
            raise InvalidInput(
                "load.unknown_type",
                f"the schema has no type {name!r}",
                remedy=suggest(str(name), known),
            )
        self.collected.name(entity)
        return entity

    # --- records ---

    def _read_items(self, items: Iterator[Any], entity: EntityType | None) -> None:
        """Read Python records, or a list of files."""
        json_schemas = JsonSchemas(self._catalog, self._request.mode, entity)
        while chunk := list(islice(items, _RECORDS_AT_ONCE)):
            records: list[tuple[Any, None]] = []
            for item in chunk:
                if _is_file(item):
                    # Records before the file precede it in order.
                    self._take_records(records, json_schemas)
                    self._read_file(item, entity)
                    records = []
                else:
                    records.append((item, None))
                    self._note(item)
            self._take_records(records, json_schemas)

    def _take_records(self, records: list[tuple[Any, None]], json_schemas: JsonSchemas) -> None:
        if records:
            parsed = type_records(records, json_schemas)
            self._require_small(parsed)
            self.collected.add(parsed)
        self._report_progress(0)

    def _read_file(self, source: Any, entity: EntityType | None) -> None:
        name = stream_name(source)
        if formats.is_lance(source, self._request.format):
            rows = self._tables.open_external(str(source)).batches()
            self._read_tables(rows, _require_type(entity, f"{name} is lance: it"), name)
            return
        with open_stream(source, self.digest) as (tap, stream):
            kind = self._request.format or formats.format_of(name, tap.peek(_MAGIC_LENGTH))
            what = f"{name or 'the input'} is {kind}: it"
            match kind:
                case "ndjson":
                    json_schemas = JsonSchemas(self._catalog, self._request.mode, entity)
                    reader = JsonReader(json_schemas, self.collected, self._limits)
                    reader.read(stream, name, lambda: self._report_progress(tap.count))
                case "csv":
                    lines = CsvLines(source)
                    self._read_csv(stream, _require_type(entity, what), name, lines)
                case "parquet":
                    rows = formats.parquet_batches(_seekable(source, tap, stream))
                    self._read_tables(rows, _require_type(entity, what), name)
                case _:
                    rows = formats.arrow_batches(_seekable(source, tap, stream))
                    self._read_tables(rows, _require_type(entity, what), name)
            self._bytes += tap.count

    # --- tables ---

    def _read_tables(
        self, rows: Iterator[pa.RecordBatch], entity: EntityType, name: str | None = None
    ) -> None:
        names: list[str] | None = None
        with _reporting_corruption(name, self.collected):
            for batch in rows:
                if batch.schema.names != names:
                    names = batch.schema.names
                    if self._has_wrong_columns(entity, names, name):
                        return
                if self.digest is not None:
                    self.digest.update(batch.serialize())
                parsed = type_rows(entity, batch)
                self._require_small(parsed, name)
                self.collected.add(parsed, RecordPosition(name))
                self._bytes += batch.nbytes
                self._report_progress(0)

    def _read_pandas(self, source: Any, entity: EntityType) -> None:
        """Read a pandas frame; value by value if Arrow rejects a column, to find the bad values."""
        if self._has_wrong_columns(entity, [str(name) for name in source.columns]):
            return
        table = formats.pandas_table(source)
        if table is None:
            self._read_items(formats.pandas_records(source), entity)
        else:
            self._read_tables(formats.frame_batches(table), entity)

    def _read_csv(
        self, stream: Stream, entity: EntityType, name: str | None, lines: CsvLines
    ) -> None:
        before = self.collected.count
        with (
            _reporting_corruption(name, self.collected),
            self._reporting_long_rows(name, lines, before),
        ):
            file = formats.CsvFile(stream, entity, block_bytes=self._limits.load_record_bytes_max)
            if self._has_wrong_columns(entity, file.names, name):
                return
            for part in file.chunks():
                done = self.collected.count - before
                self._require_short_rows(part, name, lines, done)
                parsed = type_rows(entity, part.rows, text=True)
                place = RecordPosition(name, find=partial(_line_behind, lines, done))
                self.collected.add(_renumbered(parsed, part), place)
                self._report_progress(0)

    def _has_wrong_columns(
        self, entity: EntityType, names: list[str], file: str | None = None
    ) -> bool:
        wrong = check_columns(entity, names)
        for violation in wrong:
            self.collected.report.add(replace(violation, file=file))
        return bool(wrong)

    def _require_small(self, parsed: Parsed, name: str | None = None) -> None:
        """Reject a record above the size limit of records in text."""
        limit = self._limits.load_record_bytes_max
        for batch in parsed.batches:
            at = find_large(batch.rows, limit)
            if at is not None:
                record = self.collected.count + 1 + int(batch.records[at])
                raise record_too_large(limit, record, name)

    def _require_short_rows(
        self, part: formats.CsvPart, name: str | None, lines: CsvLines, done: int
    ) -> None:
        """Reject a long row: the parser lets a row extend into the next block."""
        limit = self._limits.load_record_bytes_max
        at = find_large(part.rows, limit)
        if at is not None:
            row = int(part.records[at])
            record = self.collected.count + 1 + row
            raise record_too_large(limit, record, name, lines.line(done + row))

    @contextmanager
    def _reporting_long_rows(
        self, name: str | None, lines: CsvLines, before: int
    ) -> Iterator[None]:
        try:
            yield
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
            done = self.collected.count
            limit = self._limits.load_record_bytes_max
            raise record_too_large(limit, done + 1, name, lines.line(done - before)) from error

    # --- remarks ---

    def _note(self, record: Any) -> None:
        if self.digest is not None:
            self.digest.update(encode_value(record))

    def _report_progress(self, of_this_file: int) -> None:
        check_cancelled()
        if self._request.progress is not None:
            self._request.progress(Progress(self.collected.count, self._bytes + of_this_file))


def _line_behind(lines: CsvLines, done: int, row: int) -> int | None:
    """Return the line of a row in a part after ``done`` other rows."""
    return lines.line(done + row)


def _renumbered(parsed: Parsed, part: formats.CsvPart) -> Parsed:
    """Number rows by their records, counting skipped ones."""
    told = (
        replace(found, record=int(part.records[found.record or 0])) for found in parsed.violations
    )
    return replace(
        parsed,
        count=part.count,
        batches=tuple(
            replace(batch, records=part.records[batch.records]) for batch in parsed.batches
        ),
        violations=(*told, *part.violations),
    )


def _is_file(source: Any) -> bool:
    return isinstance(source, _FILES) or hasattr(source, "read")


def _require_type(entity: EntityType | None, what: str) -> EntityType:
    if entity is None:
        raise InvalidInput(
            "load.type_missing",
            f"{what} needs a type for its rows",
            remedy="name the type: --type on the command line, type= in Python",
        )
    return entity


def _seekable(source: Any, tap: CountingStream, stream: Stream) -> Any:
    """Return a seekable file: Parquet and Arrow are read from the end, so a stream is buffered."""
    if isinstance(source, str | Path) and stream is tap:
        return str(source)
    return io.BytesIO(b"".join(iter(lambda: stream.read(_READ_BYTES), b"")))


@contextmanager
def _reporting_corruption(name: str | None, collected: CollectedInput) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, CorruptStream, UnicodeDecodeError, OSError) as error:
        # Only column names are decoded here, so a decoding error concerns the header.
        why = "its header is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise InvalidInput(
            "load.corrupt",
            f"{name or 'the input'} cannot be read behind record {collected.count}: {why}",
            remedy="get the input again; nothing was written",
            details={"record": collected.count + 1, "file": name},
        ) from error
