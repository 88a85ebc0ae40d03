"""The flags that say which engine works, and the line that tells how far it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.render import plural
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.cli.invocation import Invocation
    from omnigraph.pipeline.session import SparkOptions
    from omnigraph.pipeline.stages import Stage

__all__ = ["engine_options", "find_spark", "meter_line", "stage_lines", "stage_meter"]

_BAR = 24


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--engine``, and which Spark: ``--master``, ``--remote``, ``--conf``."""
    for option in (
        click.option(
            "--conf",
            "conf",
            metavar="KEY=VALUE",
            multiple=True,
            help="A setting of Spark. May be given again.",
        ),
        click.option("--remote", metavar="URL", help="A Spark Connect server, sc://… or local[*]."),
        click.option(
            "--master", metavar="URL", help="Where Spark runs: local[*], spark://…, yarn."
        ),
        click.option(
            "--engine",
            type=click.Choice(["auto", "local", "spark"]),
            default="auto",
            show_default=True,
            help="This process, Spark, or Spark for large work only.",
        ),
    ):
        command = option(command)
    return command


def find_spark(master: str | None, remote: str | None, conf: Sequence[str]) -> SparkOptions | None:
    """The Spark that the flags name; None when they name none."""
    from omnigraph.pipeline.session import SparkOptions  # noqa: PLC0415 - only where it is asked for

    settings = {}
    for setting in conf:
        key, equals, value = setting.partition("=")
        if not (key.strip() and equals):
            # What stands behind the sign may be a secret.
            raise InvalidInput(
                "usage.bad_conf",
                f"--conf {key!r} is not a setting",
                remedy="write --conf KEY=VALUE",
            )
        settings[key.strip()] = value
    if master is None and remote is None and not settings:
        return None
    return SparkOptions(master, remote, settings)


def stage_meter(call: Invocation) -> Callable[[Stage], None] | None:
    """A line with a bar, the stage, rows and rate, for a person who waits."""
    if call.quiet or call.json or sys.stderr is None or not sys.stderr.isatty():
        return None

    def tell(stage: Stage) -> None:
        end = "\n" if stage.done else "\r"
        print(f"\r{meter_line(stage)}\033[K", end=end, file=sys.stderr, flush=True)

    return tell


def meter_line(stage: Stage) -> str:
    """A bar, the stage, rows and rate; of a stage that is under way, as far as they are known."""
    filled = round(_BAR * stage.share)
    bar = "#" * filled + "-" * (_BAR - filled)
    rows = f", {stage.rows:,} rows, {stage.rate:,.0f} rows/s" if stage.rows else ""
    return f"[{bar}] {stage.share:4.0%} {stage.name} {stage.seconds:.1f} s{rows}"


def stage_lines(stages: Sequence[Stage]) -> list[str]:
    """What took how long."""
    told = []
    for stage in stages:
        rate = f" ({stage.rate:,.0f}/s)" if stage.rate >= 1 else ""
        rows = f", {plural(stage.rows, 'row')}{rate}" if stage.rows else ""
        told.append(f"  {stage.name:<8} {stage.seconds:6.1f} s{rows}")
    return told
