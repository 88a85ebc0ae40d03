"""``omnigraph export``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.engines import engine_options, find_spark, stage_lines, stage_meter
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.targets import find_target, target_options
from omnigraph.cli.terminal import BytesOutput
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command"]


@verb(
    "export",
    examples=(
        "omnigraph export people.omni > people.jsonl",
        "omnigraph export people.omni --type Person --format csv > people.csv",
        "omnigraph export people.omni --format parquet --out tables/",
        "omnigraph export people.omni --format parquet --out lake/ --engine spark",
        "omnigraph export people.omni --at main@2026-11-01T12:00:00Z --out old.jsonl",
    ),
)
@click.argument("uri", required=False)
@target_options
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type; repeatable.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["ndjson", "csv", "parquet", "arrow"]),
    default="ndjson",
    show_default=True,
    help="JSON lines of all types, or one table per type.",
)
@click.option("--out", metavar="PATH", help="A file, or a directory for several tables.")
@engine_options
@click.pass_obj
def command(
    call: Invocation,
    *,
    uri: str | None,
    branch: str | None,
    at: str | None,
    types: Sequence[str],
    layout: str,
    out: str | None,
    engine: str,
    master: str | None,
    remote: str | None,
    conf: Sequence[str],
) -> None:
    """Export the nodes and edges of a target in the formats of `load`.

    Spark writes a directory with one directory of part files per type.
    """
    from omnigraph import pipeline  # noqa: PLC0415 - Arrow, after the command line is validated

    if out is None and call.json:
        raise InvalidInput(
            "usage.export_twice",
            "--json and the data cannot both go to stdout",
            remedy="pass --out PATH",
        )
    spark = find_spark(master, remote, conf)
    with open_to_read(call, uri) as graph:
        result = pipeline.export(
            graph.at(find_target(branch, at)),
            out or BytesOutput(),
            format=layout,
            types=types,
            engine=engine,
            spark=spark,
            watch=stage_meter(call),
        )
    if out is None:
        return
    done = result.export if isinstance(result, pipeline.SparkExportResult) else result
    total = f"{plural(done.total_nodes, 'node')}, {plural(done.total_edges, 'edge')}"
    lines = [f"exported {total} of {done.target} to {out}"]
    lines += stage_lines(getattr(result, "stages", ()))
    call.print_result({"out": out, **result.to_json()}, lines)
