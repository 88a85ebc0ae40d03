"""The root of all tables of a graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["LanceRoot"]


@frozen
class LanceRoot:
    """A directory or a prefix in a bucket, and its files as objects."""

    uri: str
    local: bool
    objects: ObjectStore

    def require_present(self) -> None:
        """Check before every write: Lance would recreate a directory that was moved away."""
        if self.local and not os.path.isdir(self.uri):  # noqa: PTH112 - several times per write
            raise StorageFault(
                "storage.root_missing",
                f"{self.uri} does not exist any more; nothing was written",
                details={"uri": self.uri},
                remedy="Open the graph where it is now.",
            )
