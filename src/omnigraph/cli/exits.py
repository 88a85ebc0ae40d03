"""Define the exit codes."""

from __future__ import annotations

from omnigraph.errors import GraphError, PreconditionFailed

__all__ = ["FAILED", "INTERRUPTED", "OK", "PRECONDITION_LOST", "USAGE", "exit_code_of"]

OK = 0
FAILED = 1
# The command line is invalid; nothing was opened.
USAGE = 2
# ``--if-commit`` named a commit that is no longer the head.
PRECONDITION_LOST = 4
# 128 + SIGINT, the convention of shells.
INTERRUPTED = 130


def exit_code_of(error: GraphError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, PreconditionFailed):
        return PRECONDITION_LOST
    return USAGE if error.code.startswith("usage.") else FAILED
