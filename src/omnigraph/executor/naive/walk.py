"""Looking into the IR; see ``omnigraph.ir.walk``."""

from __future__ import annotations

from omnigraph.ir.walk import nodes, slots_read

__all__ = ["nodes", "slots_read"]
