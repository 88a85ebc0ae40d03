"""Finish: the intent of a published commit is removed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["LANDED_NOTE", "finish"]

LANDED_NOTE = "commit {} had landed"

_log = logging.getLogger("omnigraph.writer")


def finish(transaction: WriteTransaction) -> None:
    """Remove the intent. The commit is safe, so a failure is not reported as one of the write."""
    operation = transaction.operation
    try:
        transaction.context.recovery.intents.remove(operation, ("json",))
        reach("attempt.settled")
    except BaseException as failure:
        # Recovery removes the rest.
        _log.warning("commit %s is safe, but its intent could not be removed", operation)
        if not isinstance(failure, Exception):
            failure.add_note(LANDED_NOTE.format(operation))
            raise
