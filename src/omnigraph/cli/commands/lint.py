"""``omnigraph lint``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.catalog.build import build_catalog
from omnigraph.cli.address import is_addressed, open_to_read
from omnigraph.cli.exits import FAILED
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.compiler.lint import lint
from omnigraph.errors import InvalidInput
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

__all__ = ["command"]

# Below this size, a full scan is fast enough without an index.
LARGE_TYPE_ENTITIES = 10_000


@verb(
    "lint",
    served=False,
    examples=(
        "omnigraph lint --query people.gq --schema people.pg",
        "omnigraph lint people.omni --query people.gq",
    ),
)
@click.argument("uri", required=False)
@click.option("--query", "query_file", required=True, metavar="FILE", help="The .gq file.")
@click.option("--schema", "schema_file", metavar="FILE", help="The .pg file; else the graph's own.")
@click.pass_obj
def command(call: Invocation, uri: str | None, query_file: str, schema_file: str | None) -> None:
    """Check the queries of a file against a schema.

    With --schema no graph is needed. With a graph, filters on large types without an index are
    reported as well. The exit code is 1 on errors, and 0 with warnings only.
    """
    if schema_file is not None and is_addressed(call, uri):
        raise InvalidInput(
            "usage.two_schemas", "both a graph and --schema are given", remedy="give one"
        )
    source = Source(read_text(query_file), query_file)
    if schema_file is not None:
        report = lint(_read_catalog(schema_file), source)
    else:
        catalog, large = _open_catalog(call, uri)
        report = lint(catalog, source, large_types=large)
    call.print_result(report.to_json(), [report.to_text()])
    if report.status == "error":
        raise click.exceptions.Exit(FAILED)


def _read_catalog(path: str) -> Catalog:
    source = Source(read_text(path), path)
    return build_catalog(parse_schema(source), source)


def _open_catalog(call: Invocation, uri: str | None) -> tuple[Catalog, dict[str, int]]:
    """Return the schema of main and the sizes of its large types."""
    with open_to_read(call, uri) as graph:
        sizes = {each["type_name"]: each["entity_count"] for each in graph.snapshot()["datasets"]}
        large = {name: count for name, count in sizes.items() if count >= LARGE_TYPE_ENTITIES}
        return graph.catalog, large
