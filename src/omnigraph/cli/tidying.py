"""What a command does after its answer, so that the next ones stay as fast."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from omnigraph.graph.at import GraphAt

__all__ = ["tidy_up"]


def tidy_up(graph: GraphAt, branch: str) -> None:
    """A bounded slice of maintenance. The answer was given: nothing here is a failure of it, and
    whoever does not want to wait may interrupt."""
    # Help of a verb must not wait for storage.
    from omnigraph.graph.facade import Graph  # noqa: PLC0415
    from omnigraph.operations.upkeep import upkeep  # noqa: PLC0415

    if not isinstance(graph, Graph):
        # A server looks after its graphs by itself.
        return
    if sys.stdout is not None:
        # Who has stopped listening is dealt with at the end.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
    with suppress(GraphError, KeyboardInterrupt):
        upkeep(graph.engine, branch)
