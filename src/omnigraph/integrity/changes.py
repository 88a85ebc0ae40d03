"""The changes of a writer to the entities of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from omnigraph.catalog.model import ID, EntityType, TypeId
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from omnigraph.api.writes import Mode
    from omnigraph.catalog.model import Catalog
    from omnigraph.ports.tables import Table

__all__ = ["ChangeSet", "SnapshotReader", "TypeChange"]


class SnapshotReader(Protocol):
    """Access to the one snapshot that a transaction captured."""

    @property
    def catalog(self) -> Catalog: ...

    def table(self, type_id: TypeId) -> Table: ...


@dataclass(frozen=True)
class TypeChange:
    """The change of one type.

    After it, the type has ``rows`` and the previous entities except the ids of ``rows`` and
    ``deletes``; with ``OVERWRITE``, none of the previous ones."""

    entity: EntityType
    mode: Mode
    # Whole rows in the columns of the type's table, ids unique.
    rows: pa.Table
    # Ids of deleted entities.
    deletes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    # The record number of each row, if rows come from records.
    records: np.ndarray | None = None
    # Generated ids cannot exist yet and need no lookup.
    fresh_ids: bool = False
    # Known locations, which need no lookup: of replaced rows (``id`` and address), and the
    # addresses of deleted rows.
    located: pa.Table | None = None
    deleted_at: np.ndarray | None = None
    # By column, the rows whose value comes from an earlier record or from the stored row, where it
    # was validated already.
    inherited: Mapping[str, np.ndarray] = field(default_factory=dict)
    # Ids of rows that must be new in any mode: an existing one is a conflict.
    strict: pa.Array | None = None

    @property
    def ids(self) -> pa.ChunkedArray:
        return self.rows.column(ID.column)

    def deleting(self, gone: pa.Table) -> TypeChange:
        """Return the same change that also deletes these entities (ids and addresses)."""
        ids = gone.column(ID.column).combine_chunks()
        return replace(self, deletes=ids, deleted_at=gone.column(ROW_ADDRESS).to_numpy())

    def record(self, row: int) -> int | None:
        return None if self.records is None else int(self.records[row])


@dataclass(frozen=True)
class ChangeSet:
    """The changes of one commit, by type."""

    by_type: Mapping[TypeId, TypeChange]
    # Some records were unreadable and their rows are missing, so an absent entity proves nothing.
    partial: bool = False

    def get(self, type_id: TypeId) -> TypeChange | None:
        return self.by_type.get(type_id)
