"""The Spark data source ``omnigraph``: nodes, edges, or the rows of a query, at any target.

::

    register(spark)
    people = spark.read.format("omnigraph").option("type", "Person").load("graph.omni")

Options: ``type``, or ``query`` with ``name`` and ``params`` (JSON); ``at`` (a branch, a commit, a
tag, ``BRANCH@TIME``); ``columns`` (the columns to read; a ``.schema(…)`` with fewer does the same);
``where`` (conditions of the query language on ``$it``, evaluated by the table and its indexes).
A partition is some of the fragments of a table; a query is one partition.

Plans show options, so secrets must not be among them: ``register`` takes them, or the
environment of the executors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from omnigraph.api.names import MAIN
from omnigraph.api.queries import QueryRequest
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.executor.output import Output
from omnigraph.graph.open import open_graph
from omnigraph.language.diagnostics import suggest
from omnigraph.pipeline.datasource.conditions import parse_where
from omnigraph.pipeline.datasource.partitions import plan_partitions
from omnigraph.pipeline.datasource.sink import GraphWriter
from omnigraph.pipeline.spark.columns import (
    cast_for_spark,
    entity_columns,
    entity_schema,
    find_entity,
    spark_arrow_type,
)
from omnigraph.pipeline.spark.graph_location import GraphLocation
from omnigraph.runtime.json_text import parse_json
from omnigraph.session.query import prepare, stream_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceWriter
    from pyspark.sql.types import StructType

    from omnigraph.catalog.model import EntityType
    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.ports.tables import Pin

__all__ = ["GraphSource", "register"]

# Options for reads and for writes.
_OPTIONS = (
    *("graph", "path", "type", "at", "branch", "columns", "where", "query", "name", "params"),
    *("mode", "message", "actor", "if_commit"),
)
_LIKENESS = 0.8
_ROWS_PER_BATCH = 65_536
_BYTES_PER_BATCH = 4 * 2**20


def register(
    spark: SparkSession,
    *,
    storage_options: Mapping[str, str] | None = None,
    policy: str | None = None,
    actor: str | None = None,
) -> None:
    """Register the data source with a session. Call it once.

    With a ``policy`` (the path of a bundle that executors can read, or a preset), every access is
    authorised for ``actor``."""
    asked, asking = policy, actor

    class Registered(GraphSource):
        # Pickled to executors with the class, not among the options of a plan.
        secrets = dict(storage_options) if storage_options else None
        policy = asked
        actor = asking

    spark.dataSource.register(Registered)


class GraphSource(DataSource):
    """The data source; ``register`` provides storage options, policy and actor."""

    secrets: Mapping[str, str] | None = None
    policy: str | None = None
    actor: str | None = None

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        _require_spelled(options)
        self._uri = _plain(options.get("path") or options.get("graph") or "")
        if not self._uri:
            raise InvalidInput(
                "source.no_graph",
                "no graph is given",
                remedy='pass its address: .load("graph.omni"), or .option("graph", …). Of a '
                "table in its catalog Spark forgets the options: use CREATE TEMPORARY VIEW … USING",
            )

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        graph = self._open()
        query = self.options.get("query")
        if query is None:
            shown = entity_schema(self._entity(graph))
        else:
            shown = _schema_of(graph, self._request(query))
        return from_arrow_schema(shown.empty_table().select(self._chosen(shown.names)).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        graph = self._open()
        query = self.options.get("query")
        if query is None:
            return ScanReader(self._location, self._table(graph, schema))
        # Every attempt reads the commit that the target resolves to now.
        commit = graph.authorizer.read(self._target).snapshot(self._target).commit_id
        request = self._request(query, commit)
        return QueryReader(self._location, request, self._target, _expected(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        return GraphWriter(self._location, dict(self.options), schema.names, overwrite=overwrite)

    @property
    def _location(self) -> GraphLocation:
        return GraphLocation(self._uri, self.secrets, self.policy, self.actor)

    @property
    def _target(self) -> str:
        return self.options.get("at") or self.options.get("branch") or MAIN

    def _open(self) -> EmbeddedGraph:
        return _open(self._location)

    def _request(self, query: str, target: str | None = None) -> QueryRequest:
        return QueryRequest(
            query,
            _parse_params(self.options.get("params")),
            self.options.get("name"),
            target or self._target,
        )

    def _entity(self, graph: EmbeddedGraph) -> EntityType:
        catalog = graph.authorizer.export(self._target).snapshot(self._target).catalog
        return find_entity(catalog, self.options.get("type"))

    def _chosen(self, names: Sequence[str]) -> list[str]:
        wanted = self.options.get("columns")
        if wanted is None:
            return list(names)
        chosen = [name.strip() for name in wanted.split(",")]
        for name in chosen:
            if name not in names:
                raise NotFound(
                    "source.unknown_column",
                    f"there is no column {name!r}",
                    remedy=suggest(name, names),
                )
        return chosen

    def _table(self, graph: EmbeddedGraph, schema: StructType) -> TableScan:
        entity = self._entity(graph)
        columns = entity_columns(entity)
        unknown = [name for name in schema.names if name not in columns]
        if unknown:
            raise NotFound(
                "source.unknown_column",
                f"{entity.name} has no column {unknown[0]!r}",
                remedy=suggest(unknown[0], columns),
            )
        engine, where = graph.authorizer.export(self._target), self.options.get("where")
        snapshot = engine.snapshot(self._target)
        table = snapshot.table(entity.id)
        condition = None if where is None else parse_where(engine, snapshot, entity, where)
        chosen = tuple(columns[name].column for name in schema.names)
        return TableScan(
            table.pin,
            chosen,
            _expected(schema),
            None if condition is None else condition.filter,
            tuple(plan_partitions(table, chosen, condition)),
        )


def _require_spelled(options: Mapping[str, str]) -> None:
    """Reject misspelled options, which would silently have no effect.

    An option that resembles none of ours may be one that Spark adds itself."""
    for name in options:
        meant = get_close_matches(name.lower(), _OPTIONS, n=1, cutoff=_LIKENESS)
        if meant and name.lower() not in _OPTIONS:
            raise InvalidInput(
                "source.unknown_option",
                f"there is no option {name!r}",
                remedy=f"did you mean `{meant[0]}`?",
            )


def _plain(uri: str) -> str:
    """Restore an address; Spark writes a local path as ``file:/…``, with one slash."""
    return uri.removeprefix("file:") if re.match("file:/[^/]", uri) else uri


def _expected(schema: StructType) -> pa.Schema:
    """Return exactly the schema that Spark requires of a reader: it compares before it reads."""
    return to_arrow_schema(schema, timezone="UTC")


def _open(location: GraphLocation) -> EmbeddedGraph:
    return open_graph(
        location.uri,
        read_only=True,
        storage_options=location.storage_options,
        policy=location.policy,
        actor=location.actor,
    )


def _schema_of(graph: EmbeddedGraph, request: QueryRequest) -> pa.Schema:
    """Return the columns of a query as Spark reads them, without running it."""
    engine = graph.authorizer.read(request.target)
    snapshot = engine.snapshot(request.target)
    prepared = prepare(engine, snapshot, request)
    # Fail on a missing or wrong parameter here, before a task does.
    prepared.bind(request.params)
    fields = Output(prepared.ir, snapshot.catalog).schema
    return pa.schema([field.with_type(spark_arrow_type(field.type)) for field in fields])


def _parse_params(text: str | None) -> Mapping[str, Any]:
    try:
        params = parse_json(text or "{}")
    except ValueError as error:
        params = error
    if not isinstance(params, dict):
        raise InvalidInput(
            "source.bad_params",
            f"the option params is not a JSON object: {params}",
            remedy='write {"name": value, …}',
        )
    return params


@dataclass(frozen=True)
class TableScan:
    """A table scan: the pin, the columns, their types in Spark, and the parts of each partition."""

    pin: Pin
    columns: tuple[str, ...]
    schema: pa.Schema
    where: Any
    parts: tuple[tuple[int, ...], ...]


def _merge_small_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Concatenate small batches: Spark has a fixed cost per batch."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS_PER_BATCH or size >= _BYTES_PER_BATCH:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_batches(waiting)


class ScanReader(DataSourceReader):
    """Reads nodes or edges, one partition per task."""

    def __init__(self, location: GraphLocation, scan: TableScan) -> None:
        self._location = location
        self._scan = scan

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(parts) for parts in self._scan.parts] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            return
        scan = self._scan
        table = self._location.tables.open(scan.pin)
        found = table.batches(scan.columns, filter=scan.where, fragments=partition.value)
        for batch in _merge_small_batches(found):
            yield cast_for_spark(batch.select(scan.columns), scan.schema)


class QueryReader(DataSourceReader):
    """Reads the rows of a query in one task."""

    def __init__(
        self, location: GraphLocation, request: QueryRequest, target: str, schema: pa.Schema
    ) -> None:
        self._location = location
        self._request = request
        # The target as the user wrote it, for authorisation; the request has the resolved commit.
        self._target = target
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        engine = _open(self._location).authorizer.read(self._target)
        for batch in stream_query(engine, self._request):
            yield cast_for_spark(batch.select(self._schema.names), self._schema)
