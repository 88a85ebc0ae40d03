"""A snapshot: one graph commit, opened for reading. Immutable; a query lives on exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.errors import InvariantBroken, NotFound
from omnigraph.versioning.damage import missing_table

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, TypeId
    from omnigraph.ports.tables import Table
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Snapshot", "open_snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """The schema and the tables of one commit. Tables are opened when they are asked for."""

    root: GraphRoot
    manifest: Manifest
    catalog: Catalog

    @property
    def commit_id(self) -> CommitId:
        return self.manifest.commit.id

    def table(self, type_id: TypeId) -> Table:
        """A table at its pin; refuses loudly when the version is not the one that was pinned."""
        pin = self.manifest.pins.get(type_id)
        if pin is None:
            # Every accepted type has a table from the commit that accepted it.
            raise InvariantBroken(3, f"type {type_id} has no pin in commit {self.commit_id}")
        try:
            return self.root.tables.open(pin)
        except NotFound as missing:
            raise missing_table(self.root, self.manifest, type_id, missing) from missing


def open_snapshot(root: GraphRoot, manifest: Manifest) -> Snapshot:
    """The snapshot of a manifest; touches no table."""
    return Snapshot(root, manifest, root.catalog(manifest.commit.schema))
