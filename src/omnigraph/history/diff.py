"""The difference between two arbitrary targets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.api.change_json import change_to_json
from omnigraph.changes.comparison import SnapshotComparison
from omnigraph.history.filters import parse_filter
from omnigraph.notebook.row_table import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.change_pages import DiffRequest
    from omnigraph.api.changes import EntityChange, TypeSummary
    from omnigraph.session.engine import Engine

__all__ = ["SnapshotDiff", "diff"]

# The number of changes per chunk of a streamed result.
_CHANGES_PER_CHUNK = 256


@dataclass(frozen=True)
class SnapshotDiff:
    """The changes that turn the first target into the second one.

    Reading is lazy. Iteration yields the changes in order: nodes before edges, by identity of the
    type, by id.
    """

    request: DiffRequest
    comparison: SnapshotComparison

    def __repr__(self) -> str:
        return f"<Diff from {self.request.before} to {self.request.after}>"

    def _repr_html_(self) -> str:
        found = self.summary()
        rows = [
            [each.entity.kind.value, each.entity.name, each.inserted, each.updated, each.deleted]
            for each in found
        ]
        names = ("kind", "type", "inserted", "updated", "deleted")
        return html_table(names, rows, note=f"from {self.request.before} to {self.request.after}")

    def __iter__(self) -> Iterator[EntityChange]:
        return self.comparison.changes()

    def summary(self) -> list[TypeSummary]:
        """Count the differing entities of each type."""
        return self.comparison.summary()

    def head_json(self) -> dict[str, Any]:
        """The requested comparison."""
        before, after = self.comparison.before, self.comparison.after
        assert before is not None  # noqa: S101 - a diff always has two targets
        return {
            "from": {"target": self.request.before, "graph_commit_id": before.commit_id},
            "to": {"target": self.request.after, "graph_commit_id": after.commit_id},
        }

    def summary_json(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": found.entity.kind.value,
                "type": {"id": found.entity.id, "name": found.entity.name},
                "inserted": found.inserted,
                "updated": found.updated,
                "deleted": found.deleted,
            }
            for found in self.summary()
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the whole difference; for small ones."""
        changes = [change_to_json(change) for change in self]
        return {**self.head_json(), "summary": self.summary_json(), "changes": changes}

    def json_chunks(self) -> Iterator[bytes]:
        """Yield the same JSON in chunks; for differences of any size."""
        head = _json({**self.head_json(), "summary": self.summary_json()})
        yield head[:-1] + b',"changes":['
        changes, separator = iter(self), b""
        while some := [*islice(changes, _CHANGES_PER_CHUNK)]:
            yield separator + _json([*map(change_to_json, some)])[1:-1]
            separator = b","
        yield b"]}"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def diff(engine: Engine, request: DiffRequest) -> SnapshotDiff:
    """Compare two targets."""
    before, after = engine.snapshot(request.before), engine.snapshot(request.after)
    catalogs = (after.catalog, before.catalog)
    wanted = parse_filter(request.kinds, request.types, request.ops, catalogs)
    return SnapshotDiff(request, SnapshotComparison(before, after, wanted, engine.compared))
