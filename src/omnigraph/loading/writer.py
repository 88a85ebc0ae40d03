"""The load as a writer: deduplicated input, validated against a snapshot, and staged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.commits import Counts, WriterKind
from omnigraph.api.writes import LoadResult, Mode
from omnigraph.catalog.model import ID
from omnigraph.changeset.cascade import cascade
from omnigraph.changeset.staging import count_changes, stage_changes
from omnigraph.datatypes.arrow import table_schema
from omnigraph.frozen import frozen
from omnigraph.integrity.changes import ChangeSet, TypeChange
from omnigraph.integrity.evaluate import evaluate_changes
from omnigraph.integrity.lookup import is_among, locate
from omnigraph.integrity.upsert import complete_rows
from omnigraph.integrity.violations import Report, redact_hidden
from omnigraph.loading.deduplicate import deduplicate
from omnigraph.loading.result import build_result, require_same_schema
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from omnigraph.api.commits import Commit
    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import Catalog, TypeId
    from omnigraph.integrity.evaluate import Evaluation
    from omnigraph.loading.batches import CollectedInput
    from omnigraph.ports.tables import Staged
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["LoadWriter"]


@frozen
class _ValidatedChange:
    """A change that passed validation against one snapshot."""

    commit: str
    changes: ChangeSet
    evaluation: Evaluation
    # Every type that was read, also where no row was found.
    reads: frozenset[TypeId]


class LoadWriter:
    """Prepares a load, read before, against the snapshot that a transaction captured."""

    kind = WriterKind.LOAD

    def __init__(
        self,
        request: LoadRequest,
        collected: CollectedInput,
        schema: str,
        seen: Catalog | None = None,
    ) -> None:
        self._request = request
        # The part of the schema visible to the author of the load; None: all of it.
        self._seen = seen
        self._collected = collected
        # The digest of the schema that typed the input.
        self._schema = schema
        self._report = Report()
        self._deduplicated = {
            key: deduplicate(entity, collected, request.mode, self._report)
            for key, entity in collected.entities.items()
        }
        self._report.extend(collected.report)
        self._validated: _ValidatedChange | None = None
        self._inserts: dict[TypeId, Staged] = {}

    @property
    def reprepares(self) -> bool:
        """Append and merge decide nothing by the rows they read; an overwrite replaces them."""
        return self._request.mode is not Mode.OVERWRITE

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        validated = self.validate(view.snapshot)
        return stage_changes(
            validated.changes,
            validated.evaluation,
            view.snapshot,
            reads=validated.reads,
            inserts=self._inserts,
        )

    def validate(self, snapshot: Snapshot) -> _ValidatedChange:
        """Validate the load against a snapshot and raise all violations. Writes nothing."""
        if self._validated is not None and self._validated.commit == snapshot.commit_id:
            return self._validated
        require_same_schema(snapshot, self._schema)
        deletes = self._deletes(snapshot)
        changes = self._changes(snapshot, deletes)
        report = Report()
        report.extend(self._report)
        evaluation = evaluate_changes(changes, snapshot, report)
        if self._seen is not None:
            redact_hidden(report, snapshot.catalog, self._seen)
        report.locate(self._collected.location_of)
        evaluation.raise_if_broken()
        reads = frozenset(deletes) | frozenset(self._deduplicated)
        self._validated = _ValidatedChange(snapshot.commit_id, changes, evaluation, reads)
        return self._validated

    def dry_run_result(self, snapshot: Snapshot) -> LoadResult:
        """Validate and count; write nothing, not even a data file."""
        validated = self.validate(snapshot)
        counts = count_changes(validated.changes, validated.evaluation, snapshot)
        return self._result(counts)

    def result(self, commit: Commit | None, *, created: bool = False) -> LoadResult:
        return self._result(commit.counts if commit else Counts(), commit, created=created)

    def _result(
        self,
        counts: Counts,
        commit: Commit | None = None,
        *,
        created: bool = False,
    ) -> LoadResult:
        deduplicated = self._deduplicated.values()
        return build_result(
            self._request,
            ((each.entity, each.rows.num_rows) for each in deduplicated),
            counts,
            commit,
            superseded=sum(each.superseded for each in deduplicated),
            created=created,
        )

    # --- the change ---

    def _deletes(self, snapshot: Snapshot) -> dict[TypeId, pa.Table]:
        """Return the existing entities to delete, with the edges of deleted nodes."""
        named = {
            key: locate(snapshot.table(key), deduplicated.deletes)
            for key, deduplicated in self._deduplicated.items()
            if len(deduplicated.deletes)
        }
        return cascade(named, snapshot)

    def _changes(self, snapshot: Snapshot, deletes: dict[TypeId, pa.Table]) -> ChangeSet:
        by_type: dict[TypeId, TypeChange] = {}
        for key, deduplicated in self._deduplicated.items():
            gone = deletes.get(key, _NOTHING)
            if gone.num_rows and deduplicated.rows.num_rows:
                # An edge that the load writes again is not deleted, wherever it ended before.
                again = is_among(gone.column(ID.column), deduplicated.rows.column(ID.column))
                gone = gone.filter(pc.invert(again))
            if self._request.mode is Mode.OVERWRITE or deduplicated.rows.num_rows or gone.num_rows:
                rows, located, kept = complete_rows(
                    snapshot.table(key), deduplicated.entity, deduplicated.rows
                )
                change = TypeChange(
                    deduplicated.entity,
                    self._request.mode,
                    rows,
                    records=deduplicated.records,
                    fresh_ids=deduplicated.generated,
                    located=located,
                    inherited=_either(deduplicated.inherited, kept),
                )
                by_type[key] = change.deleting(gone)
        for key, gone in deletes.items():
            if key not in self._deduplicated and gone.num_rows:
                entity = snapshot.catalog.types[key]
                nothing = TypeChange(entity, Mode.MERGE, table_schema(entity).empty_table())
                by_type[key] = nothing.deleting(gone)
        return ChangeSet(by_type, partial=bool(self._collected.report))


def _either(
    one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    found = {**one, **other}
    return {name: found[name] | one.get(name, found[name]) for name in found}


_NOTHING = pa.table({ID.column: pa.array([], pa.string()), ROW_ADDRESS: pa.array([], pa.uint64())})
