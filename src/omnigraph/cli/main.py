"""Entry point of ``omnigraph``.

This module imports only ``gc``, ``os`` and ``sys``, which are already loaded: version and help must
not wait for click, and click must not wait for Lance.
"""

from __future__ import annotations

import gc
import os
import sys

from omnigraph import __version__
from omnigraph.cli.verbs import HELP, version_text

# Not imported from typing: that alone would double the time of `omnigraph --version`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

__all__ = ["main"]

# Net allocations before the garbage collector runs.
_GC_THRESHOLD = 100_000
_VERSION_ARGUMENTS = (["--version"], ["-v"], ["version"])
_HELP_ARGUMENTS: tuple[list[str], ...] = ([], ["--help"], ["-h"], ["help"])


def main() -> int:
    """Run the command line of this process and return its exit code."""
    code = _run_step(_dispatch)
    # Flush now: at exit only the interpreter could report a failure.
    code = _run_step(_flush) or code
    _write_stderr()
    # The final collections over all loaded modules would take a seventh of the time of a query.
    gc.freeze()
    return code


def _dispatch() -> int:
    arguments = sys.argv[1:]
    if "_OMNIGRAPH_COMPLETE" not in os.environ:
        if arguments in _VERSION_ARGUMENTS:
            print(version_text(__version__))
            return 0
        if arguments in _HELP_ARGUMENTS:
            print(HELP)
            return 0
    # A command loads hundreds of modules without garbage: the default threshold costs a tenth of
    # the time.
    gc.set_threshold(_GC_THRESHOLD)
    from omnigraph.cli.program import handle_sigterm, run  # noqa: PLC0415 - imports click

    handle_sigterm()
    return run(arguments)


def _flush() -> int:
    if sys.stdout is not None:
        sys.stdout.flush()
    return 0


def _run_step(step: Callable[[], int]) -> int:
    """Run a step and return its exit code, also when a stream fails."""
    try:
        return step()
    except KeyboardInterrupt:
        _write_stderr("interrupted")
        return 130
    except BrokenPipeError:
        # The reader closed the pipe.
        _discard(sys.stdout)
        return 0
    except OSError as error:
        _write_stderr(f"error [output.failed] cannot write the output: {error.strerror or error}")
        _discard(sys.stdout)
        return 1


def _write_stderr(*lines: str) -> None:
    """Write lines to stderr and flush it."""
    if sys.stderr is None:
        # Here print would write to stdout.
        return
    try:
        for line in lines:
            print(line, file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that the flush at exit succeeds."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, AttributeError, ValueError):
        return
