"""The Spark data source ``omnigraph``: nodes, edges, or the rows of a query, at any target.

::

    register(spark)
    people = spark.read.format("omnigraph").option("type", "Person").load("graph.omni")

Options: ``type``, or ``query`` with ``name`` and ``params`` (JSON); ``at`` (a branch, a commit, a
tag, ``BRANCH@TIME``); ``columns`` (only these are read; a ``.schema(…)`` with fewer does the same).
Filters are pushed down where the table can answer them. A partition is some of the fragments of a
table; a query is one partition.

Options are shown in plans, so secrets are none: they are given to ``register``, or stand in the
environment of the executors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.errors import InvalidInput, NotFound
from omnigraph.graph.open import open_graph
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.pipeline.columns import (
    entity_columns,
    entity_schema,
    find_entity,
    for_spark,
    spark_arrow_type,
)
from omnigraph.pipeline.filters import to_expression
from omnigraph.pipeline.sink import GraphWriter
from omnigraph.pipeline.site import Site
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceWriter, Filter
    from pyspark.sql.types import StructType

    from omnigraph.catalog.model import EntityType
    from omnigraph.graph.facade import GraphAt
    from omnigraph.ports.tables import Pin

__all__ = ["GraphSource", "register"]

_ROWS_PER_PARTITION = 500_000


def register(spark: SparkSession, *, storage_options: Mapping[str, str] | None = None) -> None:
    """Make the data source known to a session. Call it once."""

    class Registered(GraphSource):
        # Goes to executors with the class itself, not with the options of a plan.
        secrets = dict(storage_options) if storage_options else None

    spark.dataSource.register(Registered)


class GraphSource(DataSource):
    """The data source; ``register`` gives it what it needs to reach the storage."""

    secrets: Mapping[str, str] | None = None

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._uri = options.get("path") or options.get("graph") or ""
        if not self._uri:
            raise InvalidInput(
                "source.no_graph",
                "no graph is named",
                remedy='give its place: .load("graph.omni"), or .option("graph", …)',
            )

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        graph = self._open()
        query = self.options.get("query")
        if query is not None:
            answer = self._ask(graph, query).to_arrow()
            shown = answer.schema
            for at, field in enumerate(shown):
                shown = shown.set(at, field.with_type(spark_arrow_type(field.type)))
            return from_arrow_schema(shown)
        schema = entity_schema(self._entity(graph))
        chosen = self._chosen(schema.names)
        return from_arrow_schema(schema.empty_table().select(chosen).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        graph = self._open()
        query = self.options.get("query")
        # Everything is read from the commit that the target means now.
        commit = graph.engine.snapshot(self._target).commit_id
        if query is not None:
            return QueryReader(self, query, commit, schema.names)
        return TableReader(self._site, self._table(graph, schema.names))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        return GraphWriter(self._site, dict(self.options), schema.names, overwrite=overwrite)

    def answer(self, query: str, commit: str) -> pa.Table:
        """The rows of a query at a commit."""
        return self._ask(self._open(), query, commit).to_arrow()

    @property
    def _site(self) -> Site:
        return Site(self._uri, self.secrets)

    @property
    def _target(self) -> str:
        return self.options.get("at") or self.options.get("branch") or MAIN

    def _open(self) -> GraphAt:
        return open_graph(self._uri, read_only=True, storage_options=self.secrets)

    def _ask(self, graph: GraphAt, query: str, target: str | None = None) -> Any:
        params = json.loads(self.options.get("params") or "{}")
        at = graph.at(target or self._target)  # type: ignore[attr-defined]
        return at.query(query, params, name=self.options.get("name"))

    def _entity(self, graph: GraphAt) -> EntityType:
        catalog = graph.engine.snapshot(self._target).catalog
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
                    remedy=did_you_mean(name, names) or f"there are {', '.join(names)}",
                )
        return chosen

    def _table(self, graph: GraphAt, names: Sequence[str]) -> TableRead:
        entity = self._entity(graph)
        columns = entity_columns(entity)
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise NotFound(
                "source.unknown_column",
                f"{entity.name} has no column {unknown[0]!r}",
                remedy=did_you_mean(unknown[0], columns) or f"there are {', '.join(columns)}",
            )
        table = graph.engine.snapshot(self._target).table(entity.id)
        parts, weight = [[0]] if table.parts() else [], 0
        for place, part in enumerate(table.parts()):
            if place and weight + part.rows > _ROWS_PER_PARTITION:
                parts.append([])
                weight = 0
            if place:
                parts[-1].append(place)
            weight += part.rows
        return TableRead(
            table.pin,
            {name: columns[name].column for name in names},
            entity,
            tuple(map(tuple, parts)),
        )


@dataclass(frozen=True)
class TableRead:
    """What to read: a table at its pin, columns by their outer names, and which parts together."""

    pin: Pin
    columns: Mapping[str, str]
    entity: EntityType
    parts: tuple[tuple[int, ...], ...]


class TableReader(DataSourceReader):
    """Reads nodes or edges."""

    def __init__(self, site: Site, order: TableRead) -> None:
        self._site = site
        self._order = order
        self._filter: Any = None

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that the table answers; Spark keeps the others."""
        columns = entity_columns(self._order.entity)
        for one in filters:
            expression = to_expression(one, columns)
            if expression is None:
                yield one
            else:
                self._filter = expression if self._filter is None else self._filter & expression

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(parts) for parts in self._order.parts] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            return
        order = self._order
        names, columns = list(order.columns), list(order.columns.values())
        batches = self._site.tables.open(order.pin).batches(
            columns or None, filter=self._filter, parts=partition.value
        )
        for batch in batches:
            yield for_spark(batch.select(columns), names)


class QueryReader(DataSourceReader):
    """Reads the rows of a query; one task runs it."""

    def __init__(self, source: GraphSource, query: str, commit: str, names: list[str]) -> None:
        self._source = source
        self._query = query
        self._commit = commit
        self._names = names

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = self._source.answer(self._query, self._commit).select(self._names)
        for batch in rows.to_batches():
            yield for_spark(batch, self._names)
