"""Define the flags that select an engine, and the progress line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.render import plural
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.cli.invocation import Invocation
    from omnigraph.pipeline.spark.progress import Stage
    from omnigraph.pipeline.spark.session import SparkOptions

__all__ = ["engine_options", "find_spark", "meter_line", "stage_lines", "stage_meter"]

_BAR = 24


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--engine``, and for Spark ``--master``, ``--remote`` and ``--conf``."""
    for option in (
        click.option(
            "--conf",
            "conf",
            metavar="KEY=VALUE",
            multiple=True,
            help="A Spark setting; repeatable.",
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
    """Return the Spark options of the flags, or None without any."""
    from omnigraph.pipeline.spark.session import SparkOptions  # noqa: PLC0415 - imported only for Spark

    settings = {}
    for setting in conf:
        key, equals, value = setting.partition("=")
        if not (key.strip() and equals):
            # The value may be a secret.
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
    """Return a callback that prints a progress line, if stderr is a terminal."""
    if call.quiet or call.json or sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(stage: Stage) -> None:
        end = "\n" if stage.done else "\r"
        print(f"\r{meter_line(stage)}\033[K", end=end, file=sys.stderr, flush=True)

    return show


def meter_line(stage: Stage) -> str:
    """Format a progress bar with stage, rows and rate, as far as known."""
    filled = round(_BAR * stage.share)
    bar = "#" * filled + "-" * (_BAR - filled)
    rows = f", {stage.rows:,} rows, {stage.rate:,.0f} rows/s" if stage.rows else ""
    return f"[{bar}] {stage.share:4.0%} {stage.name} {stage.seconds:.1f} s{rows}"


def stage_lines(stages: Sequence[Stage]) -> list[str]:
    """Format the duration of each stage."""
    lines = []
    for stage in stages:
        rate = f" ({stage.rate:,.0f}/s)" if stage.rate >= 1 else ""
        rows = f", {plural(stage.rows, 'row')}{rate}" if stage.rows else ""
        lines.append(f"  {stage.name:<8} {stage.seconds:6.1f} s{rows}")
    return lines
