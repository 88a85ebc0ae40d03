"""The state of one write transaction, which its phases fill."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.recovery.sweep import Recovery
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.publish import Publication
    from omnigraph.versioning.root import GraphRoot
    from omnigraph.writer.plan import PreparedWrite, Writer, WriteRequest, WriteSnapshot

__all__ = ["Pace", "WriteContext", "WriteTransaction"]

# A preparation of this length may hold locks: others would lose more by preparing in vain.
_QUICK_SECONDS = 0.25


@frozen
class WriteContext:
    """The open graph that transactions work on."""

    root: GraphRoot
    heads: Heads
    lineage: Lineage
    recovery: Recovery


@dataclass(slots=True)
class Pace:
    """The head and the duration of the last preparation."""

    seconds: float = math.inf
    captured: Manifest | None = None

    @property
    def is_quick(self) -> bool:
        """Whether other writers can wait for a preparation."""
        return self.seconds < _QUICK_SECONDS


@dataclass(slots=True)
class WriteTransaction:
    """One attempt to commit a write. Each phase sets what later ones need."""

    context: WriteContext
    request: WriteRequest
    writer: Writer
    # Background work of phases ends with it.
    stack: ExitStack
    pace: Pace
    # The announced job of a long write.
    announced: CommitId | None = None
    started: float = 0.0

    # Set by ``capture``.
    view: WriteSnapshot = field(init=False)
    # Set by ``prepare``. ``staged_synced`` waits for the syncs of staged files.
    prepared: PreparedWrite = field(init=False)
    publication: Publication = field(init=False)
    staged_synced: Callable[[], None] = field(init=False)
    # Whether recovery may find it complete, so that giving up needs a confirmation.
    may_be_complete: bool = False
    # Whether a swap was begun, so that giving up needs a look at the branch.
    may_be_published: bool = False
    # Set by ``commit_tables``.
    pins: Mapping[TypeId, Pin] = field(init=False)
    # Set by ``publish``.
    manifest: Manifest = field(init=False)

    @property
    def operation(self) -> CommitId:
        """The id of the operation, and of the commit that it publishes."""
        return self.publication.draft.id
