"""``omnigraph embed``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import announce, open_to_write
from omnigraph.cli.embedding import (
    EmbedJob,
    EmbedMode,
    EmbedProgress,
    EmbedSpec,
    parse_selector,
    read_seed,
    read_spec,
    run_job,
)
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.pipeline.graph_embedding import GraphEmbedProgress

__all__ = ["command"]


@verb(
    "embed",
    writes=True,
    examples=(
        "omnigraph embed people.omni --type Note --as ada",
        "omnigraph embed --input raw.jsonl --output notes.jsonl --spec embed.json",
        "omnigraph embed --seed seed.yaml --select Note:slug=intro",
        "omnigraph embed --input raw.jsonl --output notes.jsonl --spec embed.json --reembed-all",
    ),
)
@click.argument("uri", required=False)
@click.option("--branch", default="main", show_default=True, help="The branch of the graph.")
@click.option("--seed", metavar="FILE", help="A manifest with input, output and spec, as YAML.")
@click.option("--input", "source", metavar="FILE", help="JSON lines with records, as for `load`.")
@click.option("--output", "target", metavar="FILE", help="The file with the embedded records.")
@click.option("--spec", metavar="FILE", help="Dimension, and source and target fields per type.")
@click.option("--clean", is_flag=True, help="Remove the vectors instead.")
@click.option("--reembed-all", is_flag=True, help="Embed records that have a vector, too.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type; repeatable.")
@click.option(
    "--select",
    "selectors",
    metavar="[TYPE:]FIELD=VALUE",
    multiple=True,
    help="Embed only these records, again if they have a vector; repeatable.",
)
@click.pass_obj
def command(
    call: Invocation,
    *,
    uri: str | None,
    branch: str,
    seed: str | None,
    source: str | None,
    target: str | None,
    spec: str | None,
    clean: bool,
    reembed_all: bool,
    types: Sequence[str],
    selectors: Sequence[str],
) -> None:
    """Embed texts: of the nodes of a graph, or of records from file to file.

    In a graph, nodes with a text and without a vector get one, in one commit per chunk. In a file,
    records without a vector do, before they are loaded. The provider is that of the environment. A
    repeated run continues where an interrupted one stopped.
    """
    if (seed, source, target, spec) == (None, None, None, None):
        _embed_graph(call, uri, branch, types, files_only=bool(clean or reembed_all or selectors))
        return
    if uri is not None or call.stores or call.servers:
        raise InvalidInput(
            "usage.graph_and_files",
            "both a graph and files are given",
            remedy="give the graph, or --input, --output and --spec",
        )
    if clean and reembed_all:
        raise InvalidInput(
            "usage.two_modes", "both --clean and --reembed-all are given", remedy="give one"
        )
    paths = _paths(seed, source, target, spec)
    mode = EmbedMode.CLEAN if clean else EmbedMode.ALL if reembed_all else EmbedMode.MISSING
    job = EmbedJob(
        *paths, mode, frozenset(types), tuple(parse_selector(each) for each in selectors)
    )
    done = run_job(job, progress=_meter(call))
    changed = (
        f"removed {plural(done.cleaned, 'vector')}"
        if clean
        else f"embedded {plural(done.embedded, 'record')} with {done.model}"
    )
    call.print_result(
        done.to_json(), [f"{changed}, of {plural(done.records, 'record')}, into {job.target}"]
    )


def _embed_graph(
    call: Invocation, uri: str | None, branch: str, types: Sequence[str], *, files_only: bool
) -> None:
    from omnigraph import pipeline  # noqa: PLC0415 - Arrow, after the command line is validated

    if files_only:
        raise InvalidInput(
            "usage.files_only",
            "--clean, --reembed-all and --select apply to files",
            remedy="to embed a node of a graph again, set its vector to null first",
        )
    with open_to_write(call, uri) as graph:
        announce(call, "embed", graph.uri)
        done = pipeline.embed(
            graph, types=types, branch=branch, actor=call.actor, progress=_graph_meter(call)
        )
        each = [f"{place}: {count:,}" for place, count in done.embedded.items()]
        total = f"embedded {plural(done.total, 'text')} in {plural(len(done.commits), 'commit')}"
        call.print_result({"uri": graph.uri, **done.to_json()}, [*each, total])


def _graph_meter(call: Invocation) -> Callable[[GraphEmbedProgress], None] | None:
    if call.quiet or call.json or sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(progress: GraphEmbedProgress) -> None:
        end = "\n" if progress.embedded >= progress.total else "\r"
        print(f"\r{progress.line()}\033[K", end=end, file=sys.stderr, flush=True)

    return show


def _paths(
    seed: str | None, source: str | None, target: str | None, spec: str | None
) -> tuple[Path, Path, EmbedSpec]:
    if seed is not None:
        if source is not None or spec is not None:
            raise InvalidInput(
                "usage.two_inputs",
                "--seed already names the input and the spec",
                remedy="give --seed, or --input, --output and --spec",
            )
        found = read_seed(Path(seed))
        return found[0], Path(target) if target else found[1], found[2]
    if source is None or target is None or spec is None:
        raise InvalidInput(
            "usage.no_input",
            "nothing to embed",
            remedy="give --seed, or --input, --output and --spec",
        )
    return Path(source), Path(target), read_spec(Path(spec))


def _meter(call: Invocation) -> Callable[[EmbedProgress], None] | None:
    if call.quiet or call.json or sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(progress: EmbedProgress) -> None:
        line = progress.line()
        print(f"\r{line}\033[K", end="\n" if progress.done else "\r", file=sys.stderr, flush=True)

    return show
