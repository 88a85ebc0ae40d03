"""Requests and results of schema changes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit, landed_to_json
from omnigraph.api.names import MAIN
from omnigraph.catalog.build import build_catalog
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.refs import BranchHead
    from omnigraph.catalog.model import (
        Catalog,
    )
    from omnigraph.catalog.steps import MigrationPlan

__all__ = [
    "DesiredSchema",
    "SchemaRequest",
    "SchemaResult",
]


@frozen
class DesiredSchema:
    """The desired schema, as its author wrote it."""

    text: str
    source_name: str = "<schema>"
    allow_data_loss: bool = False
    # ``Type.property`` → the source of its value in existing rows; see ``backfill``.
    backfill: Mapping[str, Any] = field(default_factory=dict)

    def build(self, accepted: Catalog) -> Catalog:
        """Build the catalog; definitions of the accepted catalog keep their stable ids."""
        source = Source(self.text, self.source_name)
        return build_catalog(parse_schema(source), source, previous=accepted)


@frozen
class SchemaRequest:
    """A schema change: schema, branch, actor and preconditions."""

    wanted: DesiredSchema
    branch: str = MAIN
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    dry_run: bool = False


@frozen
class SchemaResult:
    """The result of a schema change, or its plan with ``dry_run``; no commit if nothing changed."""

    uri: str
    branch: str
    plan: MigrationPlan
    # The head of the branch after the change.
    head: BranchHead
    commit: Commit | None
    dry_run: bool = False

    def __repr__(self) -> str:
        what = f"{len(self.plan.steps)} steps on {self.branch}"
        landed = f" as {self.commit.id}" if self.commit else ", nothing applied"
        return f"<SchemaResult {what}{landed}>"

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def to_json(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "branch": self.branch,
            **self.plan.to_json(),
            "applied": self.applied,
            "graph_manifest_version": self.head.version,
            "commit": landed_to_json(self.commit),
            **({"dry_run": True} if self.dry_run else {}),
        }
