"""``omnigraph load``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write, require_consent
from omnigraph.cli.background_maintenance import run_background_maintenance
from omnigraph.cli.engines import engine_options, find_spark, stage_lines, stage_meter
from omnigraph.cli.inputs import open_stdin
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.request_options import WriteArguments, write_arguments
from omnigraph.cli.terminal import is_terminal
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.api.writes import LoadResult, Progress
    from omnigraph.pipeline import SparkLoadResult

__all__ = ["command"]

_STDIN = "-"


@verb(
    "load",
    writes=True,
    destroys=True,
    examples=(
        "omnigraph load people.omni --data people.jsonl --mode append",
        "omnigraph load people.omni --data people.csv --type Person --mode merge",
        "omnigraph load people.omni --data new.jsonl.gz --mode merge \\",
        "    --branch review --from main --message 'week 46'",
        "cat people.jsonl | omnigraph load people.omni --data - --mode merge --dry-run",
        "omnigraph load people.omni --data 'raw/*.ndjson.gz' --mode append --engine spark",
    ),
)
@click.argument("uri", required=False)
@click.option(
    "--data",
    "files",
    metavar="FILE",
    multiple=True,
    help="The input: plain, gzip or zstd; - is stdin. A pattern or a directory for Spark. "
    "Repeatable.",
)
@click.option(
    "--mapping",
    metavar="FILE",
    help="A pipeline.yaml that maps files to types, instead of --data.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "merge", "overwrite"]),
    required=True,
    help="Insert only; insert or replace; or replace whole types.",
)
@click.option("--branch", default="main", show_default=True, help="The branch to change.")
@click.option(
    "--from", "source", metavar="TARGET", help="Create the branch from TARGET if it does not exist."
)
@click.option("--type", "type_name", metavar="TYPE", help="The type of all records.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["ndjson", "csv", "parquet", "arrow", "lance"]),
    help="Format of the data; the default follows its name.",
)
@write_arguments
@click.option(
    "--on-error",
    type=click.Choice(["fail", "quarantine"]),
    default="fail",
    show_default=True,
    help="Load nothing, or quarantine invalid records in --report (Spark).",
)
@click.option(
    "--report",
    "--rejects",
    "report",
    metavar="DIR",
    help="All violations and quarantined records, as Parquet (Spark).",
)
@engine_options
@click.pass_obj
def command(
    call: Invocation,
    *,
    uri: str | None,
    files: Sequence[str],
    mapping: str | None,
    mode: str,
    write: WriteArguments,
    source: str | None,
    type_name: str | None,
    layout: str | None,
    on_error: str,
    report: str | None,
    engine: str,
    master: str | None,
    remote: str | None,
    conf: Sequence[str],
) -> None:
    """Load nodes and edges from files as one commit on a branch.

    JSON records name their type: {"type": "Person", "data": {…}} or {"edge": "Knows",
    "from": …, "to": …, "data": {…}}. With --type they are plain objects of that type, like the
    rows of CSV, Parquet and Arrow. Any error aborts the load, and nothing is written.
    """
    from omnigraph import pipeline  # noqa: PLC0415 - Arrow, after the command line is validated

    _require_one_input(files, mapping)
    source_files = [open_stdin() if file == _STDIN else file for file in files]
    spark = find_spark(master, remote, conf)
    with open_to_read(call, uri) if write.dry_run else open_to_write(call, uri) as graph:
        if not write.dry_run:
            announce(call, "load", graph.uri)
            if mode == "overwrite":
                require_consent(call, graph.uri, action="overwriting types")
        result = pipeline.load(
            graph,
            source_files if mapping is None else pipeline.read_mapping(mapping),
            mode=mode,
            branch=write.branch,
            from_=source,
            type=type_name,
            format=layout,
            actor=call.actor,
            message=write.message,
            if_commit=write.if_commit,
            idempotency_key=write.idempotency_key,
            dry_run=write.dry_run,
            progress=_meter(call),
            engine=engine,
            spark=spark,
            on_error=on_error,
            report=report,
            watch=stage_meter(call),
        )
        done = result.load if isinstance(result, pipeline.SparkLoadResult) else result
        lines = [*_lines(done), *_spark_lines(result)]
        call.print_result({"uri": graph.uri, **result.to_json()}, lines)
        if done.commit is not None:
            run_background_maintenance(graph, write.branch)


def _meter(call: Invocation) -> Callable[[Progress], None] | None:
    """Return a callback that prints a progress line, if stderr is a terminal."""
    if call.quiet or call.json or not is_terminal(sys.stderr):
        return None

    def show(progress: Progress) -> None:
        read = f"read {progress.records:,} records, {progress.bytes / 1e6:,.1f} MB"
        print(f"\r{read}\033[K\r", end="", file=sys.stderr, flush=True)

    return show


def _require_one_input(files: Sequence[str], mapping: str | None) -> None:
    if bool(files) is (mapping is not None):
        raise InvalidInput(
            "usage.what_to_load",
            "exactly one of --data and --mapping is required",
            remedy="see `omnigraph load --help`",
        )


def _spark_lines(result: LoadResult | SparkLoadResult) -> list[str]:
    from omnigraph.pipeline import SparkLoadResult  # noqa: PLC0415 - as above

    if not isinstance(result, SparkLoadResult):
        return []
    rows, wrong = plural(result.put_aside, "row"), plural(result.violations, "violation")
    aside = [f"{rows} quarantined, {wrong}: see {result.report}"] if result.violations else []
    return [*aside, *stage_lines(result.stages)]


def _lines(result: LoadResult) -> list[str]:
    counts = [f"{count.entities_loaded} {count.name}" for count in (*result.nodes, *result.edges)]
    more = [
        *([f"{result.superseded} superseded"] if result.superseded else []),
        *([f"{result.deleted} deleted"] if result.deleted else []),
    ]
    what = "would load" if result.dry_run else "loaded"
    details = f" ({', '.join([*counts, *more])})" if counts or more else ""
    commit = f": {result.commit.id}" if result.commit else ""
    created = [f"created branch {result.branch}"] if result.branch_created else []
    total = f"{plural(result.total_nodes, 'node')}, {plural(result.total_edges, 'edge')}"
    return [*created, f"{what} {total}{details} on {result.branch}{commit}"]
