"""What the fork server of ``crew`` loads once, so that no child has to."""

from __future__ import annotations

import warnings

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.testing.processes import ProcessGroup

# Loading it loads everything that a child needs.
__all__ = ["ProcessGroup"]

# Lance warns about every fork. Here it has been imported and never used: it has no threads yet.
warnings.filterwarnings("ignore", message="lance is not fork-safe")
load_lance()
