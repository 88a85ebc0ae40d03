"""Every rule, over one change, against one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID, TypeId
from omnigraph.errors import KeyConflict
from omnigraph.integrity.cardinality import check_cardinality
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.endpoints import check_endpoints, check_losses
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
    """What was found: where existing ids are, which tables were looked at, and what is wrong."""

    report: Report
    located: Mapping[TypeId, pa.Table]
    reads: frozenset[TypeId]
    # Types with the ids of them that a strict insert met.
    conflicts: Sequence[tuple[EntityType, list[str]]]

    def raise_if_broken(self) -> None:
        """Violations first: they would remain when the conflict is gone."""
        self.report.raise_if_any()
        if self.conflicts:
            raise ids_exist(*self.conflicts[0])


def ids_exist(entity: EntityType, ids: list[str]) -> KeyConflict:
    """What a strict insert is told that met entities of a type."""
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
    """Check a change. Nothing is written, and nothing outside the change's reach is read.

    Of a partial change only what more rows could not mend is told: an edge whose node is missing
    may be nothing but the consequence of a node that could not be read.
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
    """The ids that exist and must not, in the order of the change."""
    strict = change.ids if change.mode is Mode.APPEND else change.strict
    if strict is None or not located.num_rows:
        return []
    met = is_among(strict, located.column(ID.column))
    return strict.filter(met).to_pylist()  # type: ignore[no-any-return]  # a list of texts


def _check_existence(changes: ChangeSet, reader: SnapshotReader, report: Report) -> set[TypeId]:
    """The rules about what must be there; the tables that were looked at."""
    reads: set[TypeId] = set()
    for change in changes.by_type.values():
        reads |= check_endpoints(change, changes, reader, report)
        reads |= check_losses(change, changes, reader, report)
    for edge in reader.catalog.edges:
        reads |= check_cardinality(edge, changes, reader, report)
    return reads


def _locate(change: TypeChange, reader: SnapshotReader) -> pa.Table:
    """Where the rows are that this change replaces."""
    if change.located is not None:
        return change.located
    table = reader.table(change.entity.id)
    fresh = change.fresh_ids or change.mode is Mode.OVERWRITE
    return locate(table, change.ids.slice(0, 0) if fresh else change.ids)
