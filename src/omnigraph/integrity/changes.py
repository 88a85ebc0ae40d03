"""What a writer wants to do to the entities of a graph."""

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
    """Where the evaluator looks: the one snapshot that the attempt captured."""

    @property
    def catalog(self) -> Catalog: ...

    def table(self, type_id: TypeId) -> Table: ...


@dataclass(frozen=True)
class TypeChange:
    """The change of one type. After it, the type holds ``rows``, and what existed before without
    the ids of ``rows`` and ``deletes`` (with ``OVERWRITE``, nothing of that)."""

    entity: EntityType
    mode: Mode
    # Whole rows in the columns of the type's table, ids unique.
    rows: pa.Table
    # Ids of entities that go.
    deletes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    # The record number of each row, where rows came from records.
    records: np.ndarray | None = None
    # Freshly minted ids cannot exist yet: nobody looks for them.
    fresh_ids: bool = False
    # Where the rows are that are replaced (``id`` and address), and the addresses of those that go,
    # where the writer has come across them: nobody looks for them again.
    located: pa.Table | None = None
    deleted_at: np.ndarray | None = None
    # Where a value comes from an earlier record or from the stored row, by column: the rules about
    # values were checked there.
    inherited: Mapping[str, np.ndarray] = field(default_factory=dict)
    # Ids of rows that must be new, whatever the mode: an existing one is a conflict.
    strict: pa.Array | None = None

    @property
    def ids(self) -> pa.ChunkedArray:
        return self.rows.column(ID.column)

    def deleting(self, gone: pa.Table) -> TypeChange:
        """The same, and these entities go: their ids and addresses."""
        ids = gone.column(ID.column).combine_chunks()
        return replace(self, deletes=ids, deleted_at=gone.column(ROW_ADDRESS).to_numpy())

    def record(self, row: int) -> int | None:
        return None if self.records is None else int(self.records[row])


@dataclass(frozen=True)
class ChangeSet:
    """The whole change of one commit, by type."""

    by_type: Mapping[TypeId, TypeChange]
    # Some records could not be read, so rows are missing here: what does not exist proves nothing.
    partial: bool = False

    def get(self, type_id: TypeId) -> TypeChange | None:
        return self.by_type.get(type_id)
