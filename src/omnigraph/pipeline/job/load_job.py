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
from omnigraph.api.writes import LoadResult, Mode, TypeCount
from omnigraph.catalog.model import EntityKind
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import Conflict
from omnigraph.frozen import frozen
from omnigraph.integrity.evaluate import IDS_NAMED_MAX, ids_exist
from omnigraph.pipeline.checks.completion import complete_chunks
from omnigraph.pipeline.checks.existence import check_existence
from omnigraph.pipeline.checks.findings import Findings, existing
from omnigraph.pipeline.checks.load_change import Incoming
from omnigraph.pipeline.checks.quarantine import (
    ROUNDS_MAX,
    find_bad,
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
    stage_hidden,
)
from omnigraph.pipeline.scratch.job_context import Stored
from omnigraph.pipeline.scratch.row_chunks import RECORD, unpack
from omnigraph.writer.plan import PreparedWrite, TableEffect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.commits import Commit
    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.pipeline.inputs.read_input import Material
    from omnigraph.pipeline.scratch.job_context import JobContext
    from omnigraph.pipeline.spark.progress import Stages
    from omnigraph.ports.tables import Staged
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import WriteSnapshot

__all__ = ["Handling", "Judged", "LoadJob"]

_FILES_NAMED_MAX = 16


@frozen
class Handling:
    """The handling of bad records: fail, or quarantine them and load the others.

    ``report`` is a directory for all violations, and for the quarantined records.
    """

    puts_aside: bool = False
    report: str | None = None


@dataclass(frozen=True)
class Judged:
    """A load that passed validation against one snapshot."""

    incoming: Incoming
    # Every type that was read, also where no row was found.
    reads: frozenset[TypeId]

    @property
    def commit(self) -> str:
        return self.incoming.snapshot.commit_id


class LoadJob:
    """Prepares a load against the snapshot that a transaction captured."""

    kind = WriterKind.LOAD

    def __init__(
        self,
        desk: JobContext,
        request: LoadRequest,
        material: Material,
        base: Snapshot,
        stages: Stages,
        handling: Handling,
    ) -> None:
        self._desk = desk
        self._request = request
        self._material = material
        # The digest of the schema that typed the input.
        self._schema = base.manifest.commit.schema
        self._handling = handling
        # The number of quarantined records, and of all violations.
        self.put_aside = 0
        self.violations = 0
        self._stages = stages
        self._judged: Judged | None = None
        # Staged files by their sources: files of new rows alone fit every later version.
        self._staged: dict[tuple[StagingSource, ...], Staged | None] = {}

    @property
    def reprepares(self) -> bool:
        """Append and merge decide nothing by the rows they read; an overwrite replaces those
        rows."""
        return self._request.mode is not Mode.OVERWRITE

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        judged = self.judge(view.snapshot)
        incoming = judged.incoming
        changed = [
            entity
            for key, entity in incoming.snapshot.catalog.types.items()
            if incoming.is_changed(key)
        ]
        with self._stages.running("stage", sum(incoming.count(entity.id) for entity in changed)):
            effects = self._stage(incoming, changed)
        if not effects:
            return None
        return PreparedWrite(
            effects=effects, reads=judged.reads, counts=self._counts(incoming, changed)
        )

    def judge(self, snapshot: Snapshot) -> Judged:
        """Validate the load against a snapshot and raise all violations. Publishes nothing."""
        if self._judged is not None and self._judged.commit == snapshot.commit_id:
            return self._judged
        self._require_schema(snapshot)
        if self._judged is not None:
            with self._stages.running("rebase"):
                rebased = rebase(self._judged.incoming, snapshot, self._judged.reads)
            if rebased is not None:
                self._judged = Judged(rebased, self._judged.reads)
                return self._judged
        with self._stages.running("check", self._material.records):
            incoming = Incoming(self._desk, self._material, snapshot, self._request.mode)
            if self._handling.puts_aside:
                incoming, reads = self._sort_out(incoming)
            else:
                reads = self._require_right(incoming)
        self._judged = Judged(incoming, reads | frozenset(self._material.entities))
        return self._judged

    def rehearse(self, snapshot: Snapshot) -> LoadResult:
        """Validate and count; write no data file."""
        incoming = self.judge(snapshot).incoming
        types = [snapshot.catalog.types[key] for key in snapshot.catalog.types]
        changed = [entity for entity in types if incoming.is_changed(entity.id)]
        return self._result(self._counts(incoming, changed), dry_run=True)

    def result(self, commit: Commit | None, *, created: bool = False) -> LoadResult:
        return self._result(commit.counts if commit else Counts(), commit, created=created)

    # --- judging ---

    def _find(self, incoming: Incoming) -> tuple[Findings, frozenset[TypeId]]:
        """Find violations between records; return them and the types read."""
        reads = incoming.resolve()
        completion = complete_chunks(incoming)
        incoming.complete(completion.chunks)
        findings = completion.findings + incoming.repeated_facts() + check_uniqueness(incoming)
        # With unreadable records an absent entity proves nothing, unless those are quarantined.
        if self._handling.puts_aside or not self._material.is_partial:
            found, looked_at = check_existence(incoming)
            findings, reads = findings + found, reads | looked_at
        return findings, reads

    def _require_right(self, incoming: Incoming) -> frozenset[TypeId]:
        findings, reads = self._find(incoming)
        words = ViolationFormatter(self._desk.site, incoming.material, incoming.snapshot.catalog)
        report = report_on(words, findings)
        if report and self._handling.report is not None:
            write_violations(self._handling.report, words, [findings])
        report.raise_if_any()
        self._require_new(incoming)
        return reads

    def _sort_out(self, incoming: Incoming) -> tuple[Incoming, frozenset[TypeId]]:
        """Quarantine bad records until no violation is left."""
        catalog = incoming.snapshot.catalog
        words = ViolationFormatter(self._desk.site, self._material, catalog)
        if self._material.headers:
            report_on(words, Findings()).raise_if_any()
        all_found: list[Findings] = []
        reads: frozenset[TypeId] = frozenset()
        for turn in range(ROUNDS_MAX):
            findings, reads = self._find(incoming)
            if turn == 0:
                # Later rounds leave records out, which are then not completed any more.
                words = ViolationFormatter(self._desk.site, incoming.material, catalog)
            if self._request.mode is Mode.APPEND:
                findings += existing(self._desk, incoming.located)
            first = turn == 0 and bool(self._material.violation_files)
            if not (findings.counts or first):
                break
            all_found.append(findings)
            bad = find_bad(incoming, findings, typed=turn == 0)
            if findings.counts and not bad.rows:
                # A violation without a record to blame: quarantine cannot resolve it.
                report_on(words, findings, typed=False).raise_if_any()
            incoming = incoming.without(bad)
        else:
            report_on(words, all_found[-1], typed=False).raise_if_any()
        self._put_aside(incoming, words, all_found)
        return incoming, reads

    def _put_aside(
        self, incoming: Incoming, words: ViolationFormatter, found: list[Findings]
    ) -> None:
        """Write the quarantine before the commit is published, so that no record is lost."""
        typed = sum(count for piece in self._material.pieces for _, count in piece.counts)
        self.put_aside = incoming.rejected.rows
        self.violations = typed + sum(each.counts.total() for each in found)
        if self.violations and self._handling.report is not None:
            write_violations(self._handling.report, words, found)
            write_bad_records(self._handling.report, incoming)

    def _require_new(self, incoming: Incoming) -> None:
        """Reject a strict insert of ids that exist."""
        if self._request.mode is not Mode.APPEND or not incoming.located.rows:
            return
        for entity in incoming.entities:
            met = incoming.located.of(incoming.number(entity))
            if met.rows:
                files = [unpack(self._desk.site, file.key) for file in met.files[:_FILES_NAMED_MAX]]
                rows = pa.concat_tables(files).sort_by(RECORD).slice(0, IDS_NAMED_MAX)
                raise ids_exist(entity, rows.column("id").to_pylist())

    def _require_schema(self, snapshot: Snapshot) -> None:
        if snapshot.manifest.commit.schema != self._schema:
            raise Conflict(
                "load.schema_moved",
                "the schema of the branch changed while the input was read",
                remedy="load again",
            )

    # --- staging ---

    def _stage(self, incoming: Incoming, changed: list[EntityType]) -> tuple[TableEffect, ...]:
        bundles = {entity.id: self._bundles(incoming, entity) for entity in changed}
        self._write([item for found in bundles.values() for item in found])
        hidden = self._hide(incoming, changed)
        effects = []
        for entity in changed:
            table = incoming.snapshot.table(entity.id)
            parts = [self._staged[item.sources] for item in bundles[entity.id]]
            parts += hidden.get(entity.id, [])
            staged = table.combine(part for part in parts if part is not None)
            if staged is None and incoming.is_overwritten(entity.id) and table.pin.rows:
                staged = table.stage_overwrite(table_schema(entity).empty_table())
            if staged is not None:
                effects.append(TableEffect(entity.id, table.pin, staged))
        return tuple(effects)

    def _bundles(self, incoming: Incoming, entity: EntityType) -> list[StagedBundle]:
        if not incoming.count(entity.id):
            return []
        number, overwrite = incoming.number(entity), incoming.is_overwritten(entity.id)
        located = Stored() if overwrite else incoming.located
        sources = [
            StagingSource(
                part,
                located.keys_of(number, piece),
                incoming.left_out(number, piece),
            )
            for piece, part in incoming.material.rows(entity.id)
        ]
        pin = incoming.snapshot.manifest.pins[entity.id]
        return bundle(pin, sources, overwrite=overwrite)

    def _write(self, bundles: list[StagedBundle]) -> None:
        fresh = [item for item in bundles if item.sources not in self._staged]
        staged = stage_bundles(self._desk.spark, self._desk.site, fresh)
        self._staged |= {item.sources: part for item, part in staged.items()}

    def _hide(self, incoming: Incoming, changed: list[EntityType]) -> Mapping[TypeId, list[Staged]]:
        """Stage deletion vectors for deleted and replaced rows."""
        going = incoming.gone.files
        if self._request.mode is Mode.MERGE:
            going += incoming.located.files
        if not going:
            return {}
        types = {incoming.number(entity): entity.id for entity in changed}
        pins = {number: incoming.snapshot.manifest.pins[key] for number, key in types.items()}
        staged = stage_hidden(self._desk.spark, self._desk.site, pins, Stored(going))
        return {types[number]: parts for number, parts in staged.items()}

    # --- counting ---

    def _counts(self, incoming: Incoming, changed: list[EntityType]) -> Counts:
        """Count inserted, updated and deleted entities."""
        totals = {kind: np.zeros(3, np.int64) for kind in EntityKind}
        for entity in changed:
            number, rows = incoming.number(entity), incoming.count(entity.id)
            updated = incoming.located.of(number).rows
            deleted = incoming.gone_of(entity.id).rows
            if incoming.is_overwritten(entity.id):
                deleted = incoming.branch_rows(entity.id) - updated
            totals[entity.kind] += np.array((rows - updated, updated, deleted))
        return Counts(*totals[EntityKind.NODE].tolist(), *totals[EntityKind.EDGE].tolist())

    def _result(
        self,
        counts: Counts,
        commit: Commit | None = None,
        *,
        created: bool = False,
        dry_run: bool = False,
    ) -> LoadResult:
        loaded: dict[EntityKind, list[TypeCount]] = {kind: [] for kind in EntityKind}
        incoming = self._judged.incoming if self._judged is not None else None
        for entity in self._material.entities.values():
            count = incoming.count(entity.id) if incoming is not None else 0
            loaded[entity.kind].append(TypeCount(entity.name, count))
        request = self._request
        return LoadResult(
            branch=request.branch,
            mode=request.mode,
            base_branch=request.from_,
            branch_created=created,
            nodes=tuple(loaded[EntityKind.NODE]),
            edges=tuple(loaded[EntityKind.EDGE]),
            superseded=incoming.superseded if incoming is not None else 0,
            deleted=counts.nodes_deleted + counts.edges_deleted,
            actor=request.actor,
            commit=commit,
            dry_run=dry_run,
        )
