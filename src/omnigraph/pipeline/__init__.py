"""The data pipeline on Spark (PySpark): executors stage data files, the driver publishes one
commit.

``load`` and ``export`` run in process or on Spark; ``register`` adds the data source ``omnigraph``
to a session. This is the only package that imports PySpark, and importing it does not import
PySpark: the first use of a session does.

Packages and modules in reading order:

* ``graph_embedding``: fills missing vectors of a graph, without Spark.
* ``engine_choice``: chooses between this process and Spark.
* ``spark_load``: loads on Spark.
* ``inputs``: reads the input into row chunks.
* ``checks``: validates the load.
* ``job``: stages the load within a transaction.
* ``spark_export``: exports on Spark.
* ``datasource``: the Spark data source.
* ``scratch``: intermediate rows of a job.
* ``spark``: sessions and tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.entities import ExportRequest
from omnigraph.api.names import MAIN
from omnigraph.api.writes import LoadRequest, parse_mode
from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.graph.at import EmbeddedGraphAt
from omnigraph.pipeline.engine_choice import EngineName, choose_for_export, choose_for_load
from omnigraph.pipeline.graph_embedding import GraphEmbedResult, embed
from omnigraph.pipeline.inputs.mapping import read_mapping
from omnigraph.pipeline.inputs.splits import expand
from omnigraph.pipeline.job.load_job import ErrorHandling
from omnigraph.pipeline.spark.session import SparkOptions, open_session
from omnigraph.pipeline.spark_export import SparkExportResult, export_on_spark
from omnigraph.pipeline.spark_load import SparkLoadOptions, SparkLoadResult, load_on_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from omnigraph.api.entities import ExportResult
    from omnigraph.api.graph import Graph, GraphAt
    from omnigraph.api.writes import LoadResult, Progress
    from omnigraph.pipeline.spark.progress import Stage

__all__ = [
    "GraphEmbedResult",
    "SparkExportResult",
    "SparkLoadResult",
    "SparkOptions",
    "embed",
    "export",
    "load",
    "open_session",
    "read_mapping",
    "register",
]


def register(spark: SparkSession, *, storage_options: Mapping[str, str] | None = None) -> None:
    """Register the data source ``omnigraph`` with a session. Call it once."""
    from omnigraph.pipeline.datasource.source import register as into  # noqa: PLC0415 - loads PySpark

    into(spark, storage_options=storage_options)


def load(
    graph: Graph,
    source: Any,
    *,
    mode: str,
    branch: str = MAIN,
    from_: str | None = None,
    type: str | None = None,  # noqa: A002 - the term of the API
    format: str | None = None,  # noqa: A002
    actor: str | None = None,
    message: str | None = None,
    if_commit: str | None = None,
    idempotency_key: str | None = None,
    dry_run: bool = False,
    engine: str = "auto",
    spark: SparkSession | SparkOptions | None = None,
    on_error: str = "fail",
    report: str | None = None,
    watch: Callable[[Stage], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LoadResult | SparkLoadResult:
    """Load many entities as one commit, in process or on Spark.

    ``source`` is anything that ``graph.load`` accepts, Spark data frames by type (``{"Person":
    people, "Knows": edges}``), or a mapping (``read_mapping``); paths may be patterns and
    directories. ``engine`` is ``local``, ``spark`` or ``auto``: Spark for data frames, mappings,
    large files, and if ``spark`` is given. ``watch`` receives the stages of a Spark job,
    ``progress`` the progress in this process. ``on_error`` is ``fail`` or, on Spark,
    ``quarantine``: valid records are loaded, invalid ones go to the directory ``report``.
    """
    errors = _error_handling(on_error, report)
    wanted = _is_named(spark, engine) or report is not None
    if choose_for_load(engine, source, named=wanted) is EngineName.LOCAL:
        _require_none(report)
        return graph.load(
            expand(source),
            mode=mode,
            branch=branch,
            from_=from_,
            type=type,
            format=format,
            actor=actor,
            message=message,
            if_commit=if_commit,
            idempotency_key=idempotency_key,
            dry_run=dry_run,
            progress=progress,
        )
    embedded = _require_embedded(graph)
    authorizer = embedded.authorizer.acting_as(actor)
    authorizer.load(branch, from_, mode, whole=True)
    request = LoadRequest(
        source,
        parse_mode(mode),
        branch,
        from_,
        type,
        format,
        actor or embedded.actor,
        message,
        if_commit,
        idempotency_key,
        dry_run,
    )
    options = SparkLoadOptions(
        watch=watch,
        error_handling=errors,
        allow=lambda types: authorizer.change(branch, types=types),
    )
    return load_on_spark(lambda: _session(spark), embedded.engine, request, options)


def export(
    graph: GraphAt,
    out: Any,
    *,
    format: str = "ndjson",  # noqa: A002
    types: Sequence[str] = (),
    engine: str = "auto",
    spark: SparkSession | SparkOptions | None = None,
    watch: Callable[[Stage], None] | None = None,
) -> ExportResult | SparkExportResult:
    """Export a target, in process or on Spark.

    Spark writes a directory of part files per type, ``out/Person.parquet/part-00000.parquet``; this
    process writes one file, as ``graph.export`` does. ``auto`` chooses Spark for many millions of
    rows.
    """
    rows = _rows_at(graph)
    if choose_for_export(engine, out, rows, named=_is_named(spark, engine)) is EngineName.LOCAL:
        return graph.export(out, format=format, types=types)
    embedded = _require_embedded(graph)
    seen = embedded.authorizer.export(embedded.target)
    request = ExportRequest(out, embedded.target, types, format)
    with embedded.engine.running.during("export", embedded.target, embedded.actor):
        return export_on_spark(lambda: _session(spark), seen, request, watch)


def _is_named(spark: object, engine: str) -> bool:
    """Return whether the caller gave a Spark; reject one together with the engine local."""
    if engine == EngineName.LOCAL and spark is not None:
        raise InvalidInput(
            "spark.two_engines",
            "the engine is local, but spark was given as well",
            remedy="leave out one of the two",
        )
    return spark is not None


def _rows_at(graph: object) -> int:
    """Count the entities of a target; 0 for a remote graph, whose server does the export."""
    if not isinstance(graph, EmbeddedGraphAt):
        return 0
    pins = graph.engine.snapshot(graph.target).manifest.pins
    return sum(pin.rows for pin in pins.values())


def _require_embedded(graph: object) -> EmbeddedGraphAt:
    """Return the embedded graph; a remote one gives no access to its storage."""
    if isinstance(graph, EmbeddedGraphAt):
        return graph
    raise Unsupported(
        "spark.remote_graph",
        "Spark works on the storage of a graph, not through a server",
        remedy="address the storage, or use the engine local",
    )


def _require_none(report: str | None) -> None:
    if report is not None:
        raise InvalidInput(
            "spark.needed",
            "reports and quarantine need Spark",
            remedy="leave the engine out",
        )


def _error_handling(on_error: str, report: str | None) -> ErrorHandling:
    if on_error not in ("fail", "quarantine"):
        raise InvalidInput(
            "load.bad_on_error",
            f"{on_error!r} is not a way to handle errors",
            remedy="one of: fail, quarantine",
        )
    if on_error == "quarantine" and report is None:
        raise InvalidInput(
            "load.no_report",
            "quarantine needs a directory for the bad records",
            remedy="name a directory: --report on the command line, report= in Python",
        )
    return ErrorHandling(on_error == "quarantine", report)


def _session(spark: SparkSession | SparkOptions | None) -> SparkSession:
    return open_session(spark) if spark is None or isinstance(spark, SparkOptions) else spark
