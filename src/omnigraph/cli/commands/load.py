"""``omnigraph load``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write, require_consent
from omnigraph.cli.engines import engine_options, find_spark, stage_lines, stage_meter
from omnigraph.cli.inputs import open_stdin
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.terminal import is_terminal
from omnigraph.cli.tidying import tidy_up
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.operations.load import LoadResult, Progress
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
    help="What to load, plain, gzip or zstd; - is stdin. A pattern or a directory for Spark. "
    "May be given again.",
)
@click.option(
    "--mapping",
    metavar="FILE",
    help="Instead of --data: a pipeline.yaml that says what becomes of which files.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "merge", "overwrite"]),
    required=True,
    help="Only new entities; replace existing ones; or replace whole types.",
)
@click.option("--branch", default="main", show_default=True, help="The branch to change.")
@click.option(
    "--from", "source", metavar="TARGET", help="Where the branch begins if it does not exist."
)
@click.option("--type", "type_name", metavar="TYPE", help="The one type of the data.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["ndjson", "csv", "parquet", "arrow", "lance"]),
    help="What the data is; by default told from its name.",
)
@click.option(
    "--if-commit", metavar="ID", help="Only while the branch is at this commit; else exit code 4."
)
@click.option("--message", metavar="TEXT", help="What the commit says of itself.")
@click.option(
    "--idempotency-key", metavar="KEY", help="Repeating the request has no second effect."
)
@click.option("--dry-run", is_flag=True, help="Check and count, and write nothing.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "quarantine"]),
    default="fail",
    show_default=True,
    help="Load nothing, or put bad records aside into --report (Spark).",
)
@click.option(
    "--report",
    "--rejects",
    "report",
    metavar="DIR",
    help="All violations, as Parquet, and records put aside (Spark).",
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
    branch: str,
    source: str | None,
    type_name: str | None,
    layout: str | None,
    if_commit: str | None,
    message: str | None,
    idempotency_key: str | None,
    dry_run: bool,
    on_error: str,
    report: str | None,
    engine: str,
    master: str | None,
    remote: str | None,
    conf: Sequence[str],
) -> None:
    """Load nodes and edges from files as one commit on a branch.

    JSON records say what they are: {"type": "Person", "data": {…}} or {"edge": "Knows",
    "from": …, "to": …, "data": {…}}. With --type they are plain objects of that type, and so are
    the rows of CSV, Parquet and Arrow. Nothing is written when anything is wrong.
    """
    from omnigraph import pipeline  # noqa: PLC0415 - Arrow, once the command line is known to be right

    _require_one(files, mapping)
    source_files = [open_stdin() if file == _STDIN else file for file in files]
    spark = find_spark(master, remote, conf)
    with open_to_read(call, uri) if dry_run else open_to_write(call, uri) as graph:
        if not dry_run:
            announce(call, "load", graph.uri)
            if mode == "overwrite":
                require_consent(call, graph.uri, action="overwriting types")
        result = pipeline.load(
            graph,
            source_files if mapping is None else pipeline.read_mapping(mapping),
            mode=mode,
            branch=branch,
            from_=source,
            type=type_name,
            format=layout,
            actor=call.actor,
            message=message,
            if_commit=if_commit.upper() if if_commit else None,
            idempotency_key=idempotency_key,
            dry_run=dry_run,
            progress=_meter(call),
            engine=engine,
            spark=spark,
            on_error=on_error,
            report=report,
            watch=stage_meter(call),
        )
        done = result.load if isinstance(result, pipeline.SparkLoadResult) else result
        lines = [*_lines(done), *_told_by_spark(result)]
        call.answer({"uri": graph.uri, **result.to_json()}, lines)
        if done.commit is not None:
            tidy_up(graph, branch)


def _meter(call: Invocation) -> Callable[[Progress], None] | None:
    """A line that counts along, for a person who waits."""
    if call.quiet or call.json or not is_terminal(sys.stderr):
        return None

    def tell(progress: Progress) -> None:
        read = f"read {progress.records:,} records, {progress.bytes / 1e6:,.1f} MB"
        print(f"\r{read}\033[K\r", end="", file=sys.stderr, flush=True)

    return tell


def _require_one(files: Sequence[str], mapping: str | None) -> None:
    if bool(files) is (mapping is not None):
        raise InvalidInput(
            "usage.what_to_load",
            "give --data or --mapping, one of the two",
            remedy="see `omnigraph load --help`",
        )


def _told_by_spark(result: LoadResult | SparkLoadResult) -> list[str]:
    from omnigraph.pipeline import SparkLoadResult  # noqa: PLC0415 - as above

    if not isinstance(result, SparkLoadResult):
        return []
    rows, wrong = plural(result.put_aside, "row"), plural(result.violations, "violation")
    aside = [f"{rows} put aside, {wrong}: see {result.report}"] if result.violations else []
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
