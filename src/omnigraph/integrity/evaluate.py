"""Evaluation of all rules on one change against one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, TypeId
from omnigraph.errors import KeyConflict
from omnigraph.integrity.cardinality import check_cardinality
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.endpoints import check_endpoints, check_lost_endpoints
from omnigraph.integrity.lookup import is_among, locate
from omnigraph.integrity.uniqueness import check_uniqueness
from omnigraph.integrity.violations import Report
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from omnigraph.catalog.model import EntityType
    from omnigraph.integrity.changes import ChangeSet, SnapshotReader, TypeChange

__all__ = ["IDS_NAMED_MAX", "Evaluation", "evaluate_changes", "ids_exist"]

IDS_NAMED_MAX = 100


@dataclass(frozen=True)
class Evaluation:
    """The result: locations of existing ids, tables read, violations and conflicts."""

    report: Report
    located: Mapping[TypeId, pa.Table]
    reads: frozenset[TypeId]
    # By type, the ids of a strict insert that exist.
    conflicts: Sequence[tuple[EntityType, list[str]]]

    def raise_if_broken(self) -> None:
        """Raise violations before conflicts: they would remain when the conflict is gone."""
        self.report.raise_if_any()
        if self.conflicts:
            raise ids_exist(*self.conflicts[0])


def ids_exist(entity: EntityType, ids: list[str]) -> KeyConflict:
    """Build the error for a strict insert of existing ids."""
    return KeyConflict(
        "key.exists",
        f"{entity.name} {', '.join(repr(i) for i in ids[:5])} exists already",
        remedy="`insert`, or a load with mode merge, updates an existing entity",
        details={
            "entity_kind": entity.kind.value,
            "type_name": entity.name,
            "ids": ids[:IDS_NAMED_MAX],
        },
    )


def evaluate_changes(
    changes: ChangeSet, reader: SnapshotReader, report: Report | None = None
) -> Evaluation:
    """Validate a change. Writes nothing, and reads only what the change affects.

    For a partial change, violations that more rows could repair are not reported: a missing node
    may be one whose record was unreadable.
    """
    report = Report() if report is None else report
    reads: set[TypeId] = set()
    located: dict[TypeId, pa.Table] = {}
    conflicts: list[tuple[EntityType, list[str]]] = []
    for type_id, change in changes.by_type.items():
        check_cancelled()
        check_columns(change, report)
        located[type_id] = _locate(change, reader)
        if ids := _existing(change, located[type_id]):
            conflicts.append((change.entity, ids))
        check_uniqueness(change, reader, report)
    if not changes.partial:
        reads |= _check_existence(changes, reader, report)
    return Evaluation(report, located, frozenset(reads), conflicts)


def _existing(change: TypeChange, located: pa.Table) -> list[str]:
    """Return existing ids that must be new, in the order of the change."""
    strict = change.ids if change.mode is Mode.APPEND else change.strict
    if strict is None or not located.num_rows:
        return []
    met = is_among(strict, located.column(ID.column))
    return strict.filter(met).to_pylist()  # type: ignore[no-any-return]  # a list of texts


def _check_existence(changes: ChangeSet, reader: SnapshotReader, report: Report) -> set[TypeId]:
    """Check the existence rules; return the tables read."""
    reads: set[TypeId] = set()
    for change in changes.by_type.values():
        reads |= check_endpoints(change, changes, reader, report)
        reads |= check_lost_endpoints(change, changes, reader, report)
    for edge in reader.catalog.edges:
        reads |= check_cardinality(edge, changes, reader, report)
    return reads


def _locate(change: TypeChange, reader: SnapshotReader) -> pa.Table:
    """Return the locations of the rows that this change replaces."""
    if change.located is not None:
        return change.located
    table = reader.table(change.entity.id)
    fresh = change.fresh_ids or change.mode is Mode.OVERWRITE
    return locate(table, change.ids.slice(0, 0) if fresh else change.ids)
