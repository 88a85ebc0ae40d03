"""``omnigraph embed``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

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

__all__ = ["command"]


@verb(
    "embed",
    stored=False,
    examples=(
        "omnigraph embed --input raw.jsonl --output notes.jsonl --spec embed.json",
        "omnigraph embed --seed seed.yaml --select Note:slug=intro",
        "omnigraph embed --input raw.jsonl --output notes.jsonl --spec embed.json --reembed-all",
    ),
)
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
    seed: str | None,
    source: str | None,
    target: str | None,
    spec: str | None,
    clean: bool,
    reembed_all: bool,
    types: Sequence[str],
    selectors: Sequence[str],
) -> None:
    """Embed the texts of records from file to file, before they are loaded.

    By default, records without a vector get one. The provider is that of the environment. The
    output appears when it is complete; a repeated run takes vectors from the cache.
    """
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
