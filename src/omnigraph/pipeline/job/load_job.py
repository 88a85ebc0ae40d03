"""A load as a Spark job: a write whose work runs on executors.

The input is read once, into row chunks. Validation looks at keys only, against the snapshot that
the transaction captured; staging writes the records that passed. When the head has moved meanwhile,
the transaction prepares again: nothing is read a second time, and staged files that still fit are
reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.api.commits import Counts, WriterKind
from omnigraph.api.writes import LoadResult, Mode
from omnigraph.catalog.model import EntityKind
from omnigraph.datatypes.arrow import table_schema
from omnigraph.frozen import frozen
from omnigraph.integrity.evaluate import IDS_NAMED_MAX, ids_exist
from omnigraph.loading.result import build_result, require_same_schema
from omnigraph.pipeline.checks.completion import complete_chunks
from omnigraph.pipeline.checks.existence import check_existence
from omnigraph.pipeline.checks.findings import Findings, existing_id_findings
from omnigraph.pipeline.checks.load_change import LoadChange
from omnigraph.pipeline.checks.quarantine import (
    ROUNDS_MAX,
    find_bad_records,
    write_bad_records,
    write_violations,
)
from omnigraph.pipeline.checks.uniqueness import check_uniqueness
from omnigraph.pipeline.checks.violation_formatter import ViolationFormatter, report_on
from omnigraph.pipeline.job.rebase import rebase
from omnigraph.pipeline.job.staging import (
    StagedBundle,
    StagingSource,
    bundle,
    stage_bundles,
    stage_deletion_vectors,
)
from omnigraph.pipeline.scratch.job_context import StoredRows
from omnigraph.pipeline.scratch.row_chunks import RECORD, read_scratch
from omnigraph.writer.plan import PreparedWrite, TableEffect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.commits import Commit
    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.pipeline.inputs.read_input import ReadInput
    from omnigraph.pipeline.scratch.job_context import JobContext
    from omnigraph.pipeline.spark.progress import Stages
    from omnigraph.ports.tables import Staged
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import WriteSnapshot

__all__ = ["ErrorHandling", "LoadJob", "ValidatedLoad"]

_FILES_NAMED_MAX = 16


@frozen
class ErrorHandling:
    """The handling of bad records: fail, or quarantine them and load the others.

    ``report`` is a directory for all violations, and for the quarantined records.
    """

    quarantines: bool = False
    report: str | None = None


@dataclass(frozen=True)
class ValidatedLoad:
    """A load that passed validation against one snapshot."""

    change: LoadChange
    # Every type that was read, also where no row was found.
    reads: frozenset[TypeId]

    @property
    def commit(self) -> str:
        return self.change.snapshot.commit_id


class LoadJob:
    """Prepares a load against the snapshot that a transaction captured."""

    kind = WriterKind.LOAD

    def __init__(
        self,
        context: JobContext,
        request: LoadRequest,
        read_input: ReadInput,
        base: Snapshot,
        stages: Stages,
        error_handling: ErrorHandling,
    ) -> None:
        self._context = context
        self._request = request
        self._read_input = read_input
        # The digest of the schema that typed the input.
        self._schema = base.manifest.commit.schema
        self._error_handling = error_handling
        # The number of quarantined records, and of all violations.
        self.put_aside = 0
        self.violations = 0
        self._stages = stages
        self._validated: ValidatedLoad | None = None
        # Staged files by their sources: files of new rows alone fit every later version.
        self._staged: dict[tuple[StagingSource, ...], Staged | None] = {}

    @property
    def reprepares(self) -> bool:
        """Append and merge decide nothing by the rows they read; an overwrite replaces those
        rows."""
        return self._request.mode is not Mode.OVERWRITE

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        validated = self.validate(view.snapshot)
        change = validated.change
        changed = [
            entity
            for key, entity in change.snapshot.catalog.types.items()
            if change.is_changed(key)
        ]
        with self._stages.running("stage", sum(change.count(entity.id) for entity in changed)):
            effects = self._stage(change, changed)
        if not effects:
            return None
        return PreparedWrite(
            effects=effects, reads=validated.reads, counts=self._counts(change, changed)
        )

    def validate(self, snapshot: Snapshot) -> ValidatedLoad:
        """Validate the load against a snapshot and raise all violations. Publishes nothing."""
        if self._validated is not None and self._validated.commit == snapshot.commit_id:
            return self._validated
        require_same_schema(snapshot, self._schema)
        if self._validated is not None:
            with self._stages.running("rebase"):
                rebased = rebase(self._validated.change, snapshot, self._validated.reads)
            if rebased is not None:
                self._validated = ValidatedLoad(rebased, self._validated.reads)
                return self._validated
        with self._stages.running("check", self._read_input.records):
            change = LoadChange(self._context, self._read_input, snapshot, self._request.mode)
            if self._error_handling.quarantines:
                change, reads = self._quarantine(change)
            else:
                reads = self._require_valid(change)
        self._validated = ValidatedLoad(change, reads | frozenset(self._read_input.entities))
        return self._validated

    def dry_run_result(self, snapshot: Snapshot) -> LoadResult:
        """Validate and count; write no data file."""
        change = self.validate(snapshot).change
        types = [snapshot.catalog.types[key] for key in snapshot.catalog.types]
        changed = [entity for entity in types if change.is_changed(entity.id)]
        return self._result(self._counts(change, changed))

    def result(self, commit: Commit | None, *, created: bool = False) -> LoadResult:
        return self._result(commit.counts if commit else Counts(), commit, created=created)

    # --- validation ---

    def _find(self, change: LoadChange) -> tuple[Findings, frozenset[TypeId]]:
        """Find violations between records; return them and the types read."""
        reads = change.resolve()
        completion = complete_chunks(change)
        change.complete(completion.chunks)
        findings = completion.findings + change.repeated_facts() + check_uniqueness(change)
        # With unreadable records an absent entity proves nothing, unless those are quarantined.
        if self._error_handling.quarantines or not self._read_input.is_partial:
            found, looked_at = check_existence(change)
            findings, reads = findings + found, reads | looked_at
        return findings, reads

    def _require_valid(self, change: LoadChange) -> frozenset[TypeId]:
        findings, reads = self._find(change)
        formatter = ViolationFormatter(
            self._context.location, change.read_input, change.snapshot.catalog
        )
        report = report_on(formatter, findings)
        if report and self._error_handling.report is not None:
            write_violations(self._error_handling.report, formatter, [findings])
        report.raise_if_any()
        self._require_new(change)
        return reads

    def _quarantine(self, change: LoadChange) -> tuple[LoadChange, frozenset[TypeId]]:
        """Quarantine bad records until no violation is left."""
        catalog = change.snapshot.catalog
        formatter = ViolationFormatter(self._context.location, self._read_input, catalog)
        if self._read_input.file_errors:
            report_on(formatter, Findings()).raise_if_any()
        all_found: list[Findings] = []
        reads: frozenset[TypeId] = frozenset()
        for turn in range(ROUNDS_MAX):
            findings, reads = self._find(change)
            if turn == 0:
                # Later rounds leave records out, which are then not completed any more.
                formatter = ViolationFormatter(self._context.location, change.read_input, catalog)
            if self._request.mode is Mode.APPEND:
                findings += existing_id_findings(self._context, change.located)
            first = turn == 0 and bool(self._read_input.violation_files)
            if not (findings.counts or first):
                break
            all_found.append(findings)
            bad = find_bad_records(change, findings, typed=turn == 0)
            if findings.counts and not bad.rows:
                # A violation without a record to blame: quarantine cannot resolve it.
                report_on(formatter, findings, typed=False).raise_if_any()
            change = change.without(bad)
        else:
            report_on(formatter, all_found[-1], typed=False).raise_if_any()
        self._write_quarantine(change, formatter, all_found)
        return change, reads

    def _write_quarantine(
        self, change: LoadChange, formatter: ViolationFormatter, found: list[Findings]
    ) -> None:
        """Write the quarantine before the commit is published, so that no record is lost."""
        typed = sum(count for chunk in self._read_input.chunks for _, count in chunk.counts)
        self.put_aside = change.rejected.rows
        self.violations = typed + sum(each.counts.total() for each in found)
        if self.violations and self._error_handling.report is not None:
            write_violations(self._error_handling.report, formatter, found)
            write_bad_records(self._error_handling.report, change)

    def _require_new(self, change: LoadChange) -> None:
        """Reject a strict insert of ids that exist."""
        if self._request.mode is not Mode.APPEND or not change.located.rows:
            return
        for entity in change.entities:
            met = change.located.of(change.number(entity))
            if met.rows:
                files = [
                    read_scratch(self._context.location, file.key)
                    for file in met.files[:_FILES_NAMED_MAX]
                ]
                rows = pa.concat_tables(files).sort_by(RECORD).slice(0, IDS_NAMED_MAX)
                raise ids_exist(entity, rows.column("id").to_pylist())

    # --- staging ---

    def _stage(self, change: LoadChange, changed: list[EntityType]) -> tuple[TableEffect, ...]:
        bundles = {entity.id: self._bundles(change, entity) for entity in changed}
        self._write([item for found in bundles.values() for item in found])
        hidden = self._stage_deletions(change, changed)
        effects = []
        for entity in changed:
            table = change.snapshot.table(entity.id)
            parts = [self._staged[item.sources] for item in bundles[entity.id]]
            parts += hidden.get(entity.id, [])
            staged = table.combine(part for part in parts if part is not None)
            if staged is None and change.is_overwritten(entity.id) and table.pin.rows:
                staged = table.stage_overwrite(table_schema(entity).empty_table())
            if staged is not None:
                effects.append(TableEffect(entity.id, table.pin, staged))
        return tuple(effects)

    def _bundles(self, change: LoadChange, entity: EntityType) -> list[StagedBundle]:
        if not change.count(entity.id):
            return []
        number, overwrite = change.number(entity), change.is_overwritten(entity.id)
        sources = [
            StagingSource(part, change.excluded(number, chunk))
            for chunk, part in change.read_input.rows(entity.id)
        ]
        pin = change.snapshot.manifest.pins[entity.id]
        return bundle(pin, sources, overwrite=overwrite)

    def _write(self, bundles: list[StagedBundle]) -> None:
        fresh = [item for item in bundles if item.sources not in self._staged]
        staged = stage_bundles(self._context.spark, self._context.location, fresh)
        self._staged |= {item.sources: part for item, part in staged.items()}

    def _stage_deletions(
        self, change: LoadChange, changed: list[EntityType]
    ) -> Mapping[TypeId, list[Staged]]:
        """Stage deletion vectors for deleted and replaced rows."""
        going = change.deletions.files
        if self._request.mode is Mode.MERGE:
            going += change.located.files
        if not going:
            return {}
        types = {change.number(entity): entity.id for entity in changed}
        pins = {number: change.snapshot.manifest.pins[key] for number, key in types.items()}
        staged = stage_deletion_vectors(
            self._context.spark, self._context.location, pins, StoredRows(going)
        )
        return {types[number]: parts for number, parts in staged.items()}

    # --- counting ---

    def _counts(self, change: LoadChange, changed: list[EntityType]) -> Counts:
        """Count inserted, updated and deleted entities."""
        totals = {kind: np.zeros(3, np.int64) for kind in EntityKind}
        for entity in changed:
            number, rows = change.number(entity), change.count(entity.id)
            updated = change.located.of(number).rows
            deleted = change.deletions_of(entity.id).rows
            if change.is_overwritten(entity.id):
                deleted = change.branch_rows(entity.id) - updated
            totals[entity.kind] += np.array((rows - updated, updated, deleted))
        return Counts(*totals[EntityKind.NODE].tolist(), *totals[EntityKind.EDGE].tolist())

    def _result(
        self,
        counts: Counts,
        commit: Commit | None = None,
        *,
        created: bool = False,
    ) -> LoadResult:
        change = self._validated.change if self._validated is not None else None
        return build_result(
            self._request,
            (
                (entity, change.count(entity.id) if change is not None else 0)
                for entity in self._read_input.entities.values()
            ),
            counts,
            commit,
            superseded=change.superseded if change is not None else 0,
            created=created,
        )
