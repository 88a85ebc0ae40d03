"""A baseline: one full snapshot, and the cursor at which the feed continues after it.

A consumer that lost the thread of a feed takes a baseline, makes it durable, and only then keeps
the cursor. The cursor is given with the last record: a baseline that broke off has none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.changes.tokens import FeedCursor, filter_digest
from omnigraph.export.json_lines import json_lines
from omnigraph.history.filters import parse_filter
from omnigraph.versioning.snapshot import open_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.change_pages import BaselineRequest
    from omnigraph.changes.model import ChangeFilter
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["SnapshotBaseline", "take_baseline"]


@dataclass(frozen=True)
class SnapshotBaseline:
    """The snapshot of one commit, as JSON lines that can be loaded again."""

    snapshot: Snapshot
    wanted: ChangeFilter
    cursor: str

    def __repr__(self) -> str:
        return f"<Baseline of {self.snapshot_commit_id}>"

    @property
    def snapshot_commit_id(self) -> str:
        return self.snapshot.commit_id

    def records(self) -> Iterator[bytes]:
        """Yield the entities, many lines at a time, nodes before edges."""
        for entity in self.snapshot.catalog.types.values():
            if self.wanted.wants(entity):
                for batch in self.snapshot.table(entity.id).batches():
                    yield json_lines(entity, batch)

    def lines(self) -> Iterator[bytes]:
        """Yield the entities, then the one record with the cursor."""
        yield from self.records()
        yield json.dumps({"baseline": self.to_json()}).encode() + b"\n"

    def to_json(self) -> dict[str, Any]:
        return {"snapshot_commit_id": self.snapshot_commit_id, "resume_cursor": self.cursor}


def take_baseline(engine: Engine, request: BaselineRequest) -> SnapshotBaseline:
    """Capture the head of a branch; rows are read lazily."""
    ref, head = engine.heads.of_branch(request.branch)
    snapshot = open_snapshot(engine.root, head)
    wanted = parse_filter(request.kinds, request.types, request.ops, [snapshot.catalog])
    cursor = FeedCursor(
        engine.root.stamp.graph_id, ref.incarnation, filter_digest(wanted), head.commit.id
    )
    return SnapshotBaseline(snapshot, wanted, cursor.encode())
