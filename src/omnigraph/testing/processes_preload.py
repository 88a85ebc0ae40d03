"""Modules that the fork server of ``processes`` imports once for all children."""

from __future__ import annotations

import warnings

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.testing.processes import ProcessGroup

# Imports everything that a child needs.
__all__ = ["ProcessGroup"]

# Lance warns about every fork. Here it is imported and unused, so it has no threads yet.
warnings.filterwarnings("ignore", message="lance is not fork-safe")
load_lance()
