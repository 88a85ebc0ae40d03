"""Run a slice of maintenance after a write."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from omnigraph.api.graph import GraphAt

__all__ = ["run_background_maintenance"]


def run_background_maintenance(graph: GraphAt, branch: str) -> None:
    """Run a bounded slice of maintenance.

    The result is already printed: errors and interrupts do not affect it."""
    # The help of a verb must not import storage.
    from omnigraph.graph.facade import EmbeddedGraph  # noqa: PLC0415
    from omnigraph.maintenance.background import maintain_slice  # noqa: PLC0415

    if not isinstance(graph, EmbeddedGraph):
        # A server maintains its graphs itself.
        return
    if sys.stdout is not None:
        # The entry point handles a closed pipe.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
    with suppress(GraphError, KeyboardInterrupt):
        maintain_slice(graph.engine, branch)
