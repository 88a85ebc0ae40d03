"""Building and extending of indexes, as one commit that changes no row.

No write waits for an index and no result depends on one: this is maintenance for idle time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.api.indexes import EnsureResult, IndexAction, IndexOutcome, IndexStatus
from omnigraph.api.names import MAIN
from omnigraph.errors import NotFound
from omnigraph.executor.search.segments import offsets_of
from omnigraph.executor.search.text_lengths import FragmentTextLengths, read_notes, write_notes
from omnigraph.executor.search.vector_column import count_indexable
from omnigraph.language.diagnostics import suggest
from omnigraph.maintenance.index_plan import DeclaredIndex, IndexStep, declared_indexes, plan_step
from omnigraph.ports.indexes import IndexKind, NewSegment
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.semantics.columns.column import joined_array
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from omnigraph.catalog.model import EntityType
    from omnigraph.ports.indexes import IndexInfo
    from omnigraph.ports.tables import Pin, Staged, Table
    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import WriteSnapshot

__all__ = [
    "MAINTENANCE",
    "ensure_indices",
    "list_indexes",
    "plan_table",
    "stage_steps",
]

MAINTENANCE = "omnigraph:maintenance"


def list_indexes(engine: Engine, target: str = MAIN) -> tuple[IndexStatus, ...]:
    """List every declared index of a target, built or not."""
    snapshot = engine.snapshot(target)
    found = []
    for entity in snapshot.catalog.types.values():
        table = snapshot.table(entity.id)
        present = {index.spec: index for index in table.indexes()}
        found += [
            _status(entity, each, present.get(each.spec), table.pin.rows)
            for each in declared_indexes(entity)
        ]
    return tuple(found)


def _status(
    entity: EntityType, declared: DeclaredIndex, index: IndexInfo | None, rows: int
) -> IndexStatus:
    return IndexStatus(
        entity.name,
        declared.prop.name,
        declared.spec.kind,
        index.type if index else None,
        len(index.segments) if index else 0,
        index.covered_rows if index else 0,
        index.uncovered_rows if index else rows,
    )


def ensure_indices(
    engine: Engine,
    branch: str = MAIN,
    *,
    types: Iterable[str] | None = None,
    kinds: Collection[IndexKind] = frozenset(IndexKind),
    force: bool = False,
    actor: str | None = None,
) -> EnsureResult:
    """Build the indexes that a branch lacks, and extend those that do not cover its rows.

    ``types`` selects types and ``kinds`` the kinds of indexes, all by default. ``force`` also
    builds indexes that do not pay.
    """
    chosen = None if types is None else frozenset(types)
    writer = _IndexWriter(engine, chosen, kinds, force=force)
    with engine.running.during("ensure_indices", branch, actor or MAINTENANCE):
        manifest = engine.transactions.run(WriteRequest(branch, actor or MAINTENANCE), writer)
    return EnsureResult(branch, manifest.commit if manifest else None, tuple(writer.outcomes))


class _IndexWriter:
    """Plans and stages indexes against the snapshot that a transaction captured."""

    kind = WriterKind.MAINTENANCE
    # Decides by the present indexes, so it plans again when they have moved.
    reprepares = True

    def __init__(
        self,
        engine: Engine,
        types: frozenset[str] | None,
        kinds: Collection[IndexKind],
        *,
        force: bool,
    ) -> None:
        self._engine = engine
        self._types = types
        self._kinds = kinds
        self._force = force
        self._staged: dict[Pin, Staged | None] = {}
        self.outcomes: list[IndexOutcome] = []

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        self.outcomes.clear()
        effects = []
        for entity in _chosen(view, self._types):
            check_cancelled()
            table = view.snapshot.table(entity.id)
            steps = plan_table(entity, table, kinds=self._kinds, force=self._force)
            self.outcomes += [_outcome(entity, table, *each) for each in steps]
            staged = self._stage(table, steps)
            if staged is not None:
                effects.append(TableEffect(entity.id, table.pin, staged))
        return PreparedWrite(tuple(effects)) if effects else None

    def _stage(self, table: Table, steps: list[tuple[DeclaredIndex, IndexStep]]) -> Staged | None:
        # Do not index a table again that has not moved since the last prepare.
        if table.pin not in self._staged:
            self._staged[table.pin] = stage_steps(table, steps)
        return self._staged[table.pin]


def plan_table(
    entity: EntityType,
    table: Table,
    *,
    kinds: Collection[IndexKind] = frozenset(IndexKind),
    force: bool,
) -> list[tuple[DeclaredIndex, IndexStep]]:
    """Plan the step of each declared index of a type."""
    present = {index.spec: index for index in table.indexes()}
    parts = table.fragments()
    steps = []
    for declared in declared_indexes(entity):
        if declared.spec.kind not in kinds:
            continue
        index = present.get(declared.spec)
        step = plan_step(declared, index, parts, force=force)
        steps.append((declared, _checked(table, declared, index, step)))
    return steps


def stage_steps(table: Table, steps: Iterable[tuple[DeclaredIndex, IndexStep]]) -> Staged | None:
    """Build new index segments; None if there are none."""
    return table.stage_indexes(
        [
            _segment(table, declared, step)
            for declared, step in steps
            if step.action is not IndexAction.SKIP
        ]
    )


def _chosen(view: WriteSnapshot, names: frozenset[str] | None) -> list[EntityType]:
    everything = list(view.snapshot.catalog.types.values())
    known = {entity.name for entity in everything}
    for name in sorted(names or ()):
        if name not in known:
            raise NotFound(
                "index.unknown_type",
                f"the schema has no type {name!r}",
                remedy=suggest(name, sorted(known)),
            )
    return [entity for entity in everything if names is None or entity.name in names]


def _outcome(
    entity: EntityType, table: Table, declared: DeclaredIndex, step: IndexStep
) -> IndexOutcome:
    parts = table.fragments()
    return IndexOutcome(
        entity.name,
        declared.prop.name,
        declared.spec.kind,
        step.action,
        step.reason,
        sum(parts[place].rows for place in step.parts),
    )


def _checked(
    table: Table, declared: DeclaredIndex, index: IndexInfo | None, step: IndexStep
) -> IndexStep:
    """Adjust a step to the contents of the rows."""
    works = step.action is not IndexAction.SKIP
    match declared.spec.kind:
        case IndexKind.IVF if works and not _count_vectors(table, declared.spec.column, step.parts):
            return IndexStep(IndexAction.SKIP, "there is no vector with a direction")
        case IndexKind.INVERTED if index is not None and not works and _lacks_notes(table, index):
            everything = tuple(place for place, part in enumerate(table.fragments()) if part.rows)
            return IndexStep(IndexAction.REBUILD, "rows have moved since it was built", everything)
        case _:
            return step


def _lacks_notes(table: Table, index: IndexInfo) -> bool:
    """Return whether relevance needs text lengths that the index lacks: compaction moves parts."""
    parts = table.fragments()
    noted: set[str] = set()
    for segment in index.segments:
        noted |= read_notes(table.index_notes(segment) or b"").keys()
    covered = {place for segment in index.segments for place in segment.fragments}
    return any(parts[place].rows and parts[place].key not in noted for place in covered)


def _segment(table: Table, declared: DeclaredIndex, step: IndexStep) -> NewSegment:
    column, kind = declared.spec.column, declared.spec.kind
    return NewSegment(
        declared.spec,
        step.parts,
        replaces=step.action is IndexAction.REBUILD,
        values=_count_vectors(table, column, step.parts) if kind is IndexKind.IVF else None,
        notes=_count_words(table, column, step.parts) if kind is IndexKind.INVERTED else None,
    )


def _count_vectors(table: Table, column: str, parts: Sequence[int]) -> int:
    batches = table.batches([column], fragments=parts)
    return sum(count_indexable(batch.column(column)) for batch in batches)


def _count_words(table: Table, column: str, parts: Sequence[int]) -> bytes:
    """Collect the lengths of the texts, to be stored with the index."""
    every = table.fragments()
    lengths = []
    for place in parts:
        rows = table.scan([column], row_addresses=True, fragments=[place])
        texts, offsets = joined_array(rows.column(column)), offsets_of(rows)
        lengths.append(
            (every[place].key, FragmentTextLengths.of(texts, offsets, every[place].written))
        )
    return write_notes(lengths)
