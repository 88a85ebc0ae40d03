"""The entry of ``omnigraph``.

This module imports nothing but ``gc``, ``os`` and ``sys``, which the interpreter has anyway: asking
for the version or for help must not wait for click, and click must not wait for Lance.
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

# Objects made and not freed until the collector looks for circles among them.
_COLLECT_AFTER = 100_000
_VERSION_ASKED = (["--version"], ["-v"], ["version"])
_HELP_ASKED: tuple[list[str], ...] = ([], ["--help"], ["-h"], ["help"])


def main() -> int:
    """Run the command line of this process; its exit code."""
    code = _guarded(_answer)
    # Flushed now rather than at exit, where a failure could only be shown by the interpreter.
    code = _guarded(_flush) or code
    _say()
    # Nothing comes after this but the end of the process. It would look for circles among all that
    # was ever loaded, several times, for a seventh of the time of a query: the system takes it all.
    gc.freeze()
    return code


def _answer() -> int:
    arguments = sys.argv[1:]
    if "_OMNIGRAPH_COMPLETE" not in os.environ:
        if arguments in _VERSION_ASKED:
            print(version_text(__version__))
            return 0
        if arguments in _HELP_ASKED:
            print(HELP)
            return 0
    # A command loads hundreds of modules, and nothing of them is garbage: at its usual pace the
    # collector would look through all of them again and again, for a tenth of the time.
    gc.set_threshold(_COLLECT_AFTER)
    from omnigraph.cli.program import heed_termination, run  # noqa: PLC0415 - the door to click

    heed_termination()
    return run(arguments)


def _flush() -> int:
    if sys.stdout is not None:
        sys.stdout.flush()
    return 0


def _guarded(step: Callable[[], int]) -> int:
    """Do a step; its exit code, whatever becomes of the streams meanwhile."""
    try:
        return step()
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _forget(sys.stdout)
        return 0
    except OSError as error:
        _say(f"error [output.failed] the output cannot be written: {error.strerror or error}")
        _forget(sys.stdout)
        return 1


def _say(*lines: str) -> None:
    """Lines for stderr, and whatever is still waiting to be written there."""
    if sys.stderr is None:
        # Here print would fall back to stdout.
        return
    try:
        for line in lines:
            print(line, file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        _forget(sys.stderr)


def _forget(stream: TextIO) -> None:
    """Point a stream nowhere, so that the interpreter does not fail to flush it when it exits."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, AttributeError, ValueError):
        return
