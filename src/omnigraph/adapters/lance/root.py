"""The place that all tables of a graph lie in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["Root"]


@frozen
class Root:
    """A directory or a prefix in a bucket, and its files as objects."""

    uri: str
    local: bool
    objects: ObjectStore

    def require_present(self) -> None:
        """Before every write: Lance would re-create a directory that was moved away."""
        if self.local and not Path(self.uri).is_dir():
            raise StorageFault(
                "storage.root_missing",
                f"{self.uri} is not there any more; nothing was written",
                details={"uri": self.uri},
                remedy="Open the graph where it is now.",
            )
