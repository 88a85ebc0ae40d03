"""The sources of a mapping as data frames of entities, with every value as text.

Spark reads, filters and selects; typing is that of CSV in process, so that an error about a value
names its source. A failed cast keeps the original text, for the same reason.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as f

from omnigraph.errors import InvalidInput
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.pipeline.inputs.located_yaml import location_prefix
from omnigraph.pipeline.inputs.mapping import AT, BROKEN, CASTS, DELETE
from omnigraph.pipeline.inputs.reader_options import format_of_source
from omnigraph.pipeline.inputs.splits import list_files
from omnigraph.pipeline.spark.columns import find_entity
from omnigraph.pipeline.spark.tasks import translated_failures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.inputs.mapping import MappedSource, Mapping, MappingTarget, Value

__all__ = ["MappedFrame", "RecordLocator", "map_frames"]

_FILE, _START, _RANK = "_omnigraph_file", "_omnigraph_start", "_omnigraph_rank"
# The column list of a source without columns: mostly JSON records that span several lines.
_NONE = "none at all; an array of JSON over several lines needs options: {multiLine: true}"


@dataclass(frozen=True)
class RecordLocator:
    """Resolves rows of a source to files and records. Lazy: it reads the source once more."""

    rows: DataFrame

    def find(self, at: int) -> tuple[str | None, int | None]:
        """Return the file of a row and its record number in that file, from 1."""
        place = bisect_right(self._firsts, at) - 1
        if place < 0:
            return None, None
        first, file, before = self._sections[place]
        return file, before + (at - first) + 1

    @cached_property
    def _firsts(self) -> list[int]:
        return [first for first, _, _ in self._sections]

    @cached_property
    def _sections(self) -> list[tuple[int, str, int]]:
        """List the first row of each file section, and the records of the file before it."""
        blocks = self.rows.groupBy(_FILE, _START).agg(
            f.min(AT).alias("first"), f.count("*").alias("count")
        )
        found, before = [], dict[str, int]()
        for block in sorted(blocks.collect(), key=lambda row: (row[_FILE], row[_START])):
            file = _path_of(block[_FILE])
            found.append((block["first"], file, before.get(file, 0)))
            before[file] = before.get(file, 0) + block["count"]
        return sorted(found)


@dataclass(frozen=True)
class MappedFrame:
    """Entities of one type, as texts, with ``AT``, ``DELETE`` and ``BROKEN``."""

    entity: EntityType
    frame: DataFrame
    locator: RecordLocator


def map_frames(spark: SparkSession, mapping: Mapping, catalog: Catalog) -> list[MappedFrame]:
    """Build the frames of a mapping that fits the schema; a missing column fails before reading."""
    found = []
    for source in mapping.sources:
        rows = _read(spark, source)
        locator = RecordLocator(rows.select(_FILE, _START, AT))
        wanted = _filter_source(rows, source)
        for target in source.into:
            entity = find_entity(catalog, target.type)
            found.append(MappedFrame(entity, _project(wanted, target), locator))
    return found


def _read(spark: SparkSession, source: MappedSource) -> DataFrame:
    with translated_failures():
        return _rows(spark, source, list_files(source.paths))


def _rows(spark: SparkSession, source: MappedSource, files: list[str]) -> DataFrame:
    kind = format_of_source(source, files)
    # Match the columns of several files by name: a differing header is an error.
    reader = spark.read.option("enforceSchema", "false").options(**source.options)
    match kind:
        case "csv":
            # With this column Spark reports a row with too few or too many cells instead of padding
            # it.
            names = reader.option("header", "true").csv(files).columns
            schema = ", ".join(f"{_quoted(name)} string" for name in (*names, BROKEN))
            # With column pruning Spark would not check the cells of columns that no target needs.
            reader = reader.option("columnPruning", "false").schema(schema)
            rows = reader.option("header", "true").csv(files)
        case "parquet":
            rows = reader.parquet(*files)
        case _:
            rows = reader.option("primitivesAsString", "true").json(files)
    if BROKEN not in rows.columns:
        rows = rows.withColumn(BROKEN, f.lit(None).cast("string"))
    return rows.select(
        "*",
        f.monotonically_increasing_id().alias(AT),
        f.col("_metadata.file_path").alias(_FILE),
        f.col("_metadata.file_block_start").alias(_START),
    )


def _filter_source(rows: DataFrame, source: MappedSource) -> DataFrame:
    """Apply the filters of a source. Unreadable rows always stay, because they are violations."""
    broken = f.col(BROKEN).isNotNull()
    if source.where is not None:
        rows = _filtered(rows, source.where)
    never = f.lit(False)  # noqa: FBT003 - a column
    going = never if source.delete is None else f.coalesce(_sql(rows, source.delete), never)
    rows = rows.withColumn(DELETE, going)
    if source.latest is None:
        return rows
    _require_columns(rows, source.latest.by)
    keys = [f.col(_quoted(name)) for name in source.latest.by]
    newest_first = (*_ordering(rows, source.latest.order), f.col(AT))
    # An unreadable row never displaces another one.
    window = Window.partitionBy(*keys, broken).orderBy(
        *(key.desc_nulls_last() for key in newest_first)
    )
    rows = rows.withColumn(_RANK, f.row_number().over(window))
    # Rows with a NULL in their key are distinct.
    apart = reduce(or_, (key.isNull() for key in keys), broken)
    return rows.where(apart | (f.col(_RANK) == 1)).drop(_RANK)


def _ordering(rows: DataFrame, order: Value) -> tuple[Column, ...]:
    """Return the columns to order by. Numbers that arrive as text sort as numbers: 9 before 10."""
    column = _column(rows, order)
    if order.cast is not None:
        return (_cast(rows, order, column),)
    if _kind(rows, column) == "string":
        return column.try_cast("double"), column
    return (column,)


def _project(rows: DataFrame, target: MappingTarget) -> DataFrame:
    if target.where is not None:
        rows = _filtered(rows, target.where)
    values = [_text(rows, value).alias(name) for name, value in target.values.items()]
    picked = rows.select(*values, AT, DELETE, BROKEN)
    # Analyse the plan here, where an error still refers to the mapping.
    _ = picked.schema
    return picked


def _text(rows: DataFrame, value: Value) -> Column:
    """Return a value as text; NULL stays NULL."""
    column = _column(rows, value)
    plain = _as_text(column, rows)
    if value.cast is None:
        return plain
    return f.coalesce(_as_text(_cast(rows, value, column), rows), plain)


def _column(rows: DataFrame, value: Value) -> Column:
    if value.sql is not None:
        return _sql(rows, value.sql)
    if value.column is None:
        return f.lit(value.constant)
    _require_columns(rows, [value.column])
    return f.col(_quoted(value.column))


def _cast(rows: DataFrame, value: Value, column: Column) -> Column:
    """Cast a value; NULL where the cast fails."""
    match value.cast, value.format:
        case "date", str(form):
            return f.try_to_date(_as_text(column, rows), form)
        case "datetime", str(form):
            return f.try_to_timestamp(_as_text(column, rows), f.lit(form))
        case _:
            return column.try_cast(CASTS[value.cast or "string"])


def _kind(rows: DataFrame, column: Column) -> str:
    return rows.select(column.alias("it")).schema["it"].dataType.typeName()


def _as_text(column: Column, rows: DataFrame) -> Column:
    kind = _kind(rows, column)
    if kind == "timestamp":
        # Computed from the epoch: a formatter alters hours that the time zone of the session skips,
        # and an old one misreads fractions of a second.
        epoch = f.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        utc = f.timestamp_add("MICROSECOND", f.unix_micros(column), epoch)
        return f.concat(utc.cast("string"), f.lit("Z"))
    if kind in ("array", "struct", "map"):
        return f.to_json(column)
    if kind == "binary":
        return f.concat(f.lit("base64:"), f.base64(column))
    return column.cast("string")


def _filtered(rows: DataFrame, text: str) -> DataFrame:
    with _reporting_sql(rows, text):
        found = rows.where(f.col(BROKEN).isNotNull() | f.expr(str(text)))
        _ = found.schema
    return found


def _sql(rows: DataFrame, text: str) -> Column:
    with _reporting_sql(rows, text):
        column = f.expr(str(text))
        # Selecting all columns beside it rejects an aggregate, which would collapse the rows.
        _ = rows.select("*", column.alias("it")).schema
    return column


@contextmanager
def _reporting_sql(rows: DataFrame, text: str) -> Iterator[None]:
    """Report an error of Spark about SQL of the mapping with the place in the mapping."""
    try:
        yield
    except PySparkException as error:
        said = next((line for line in str(error).splitlines() if line.strip()), "it is no SQL")
        raise InvalidInput(
            "mapping.bad_sql",
            f"{location_prefix(text)}{str(text)!r} is not valid: {said}",
            remedy=f"use SQL of Spark on the columns {', '.join(_visible(rows))}",
        ) from error


def _require_columns(rows: DataFrame, names: Sequence[str]) -> None:
    known = list(_visible(rows))
    for name in names:
        if name not in known:
            raise InvalidInput(
                "mapping.unknown_column",
                f"{location_prefix(name)}the source has no column {str(name)!r}",
                remedy=did_you_mean(name, known) or f"it has {', '.join(known) or _NONE}",
            )


def _visible(rows: DataFrame) -> Iterator[str]:
    yield from (name for name in rows.columns if name not in (AT, DELETE, BROKEN, _FILE, _START))


def _path_of(uri: str) -> str:
    """Return a path as users write it; Spark quotes local ones as URIs with one slash or three."""
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else uri


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
