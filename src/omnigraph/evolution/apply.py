"""Application of a schema to a branch: checks, rewrites and the new catalog in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import Counts, WriterKind
from omnigraph.api.schemas import DesiredSchema, SchemaRequest, SchemaResult
from omnigraph.catalog.model import Catalog, EdgeType, EntityKind, NodeType
from omnigraph.catalog.steps import DropMode, DropProperty, DropType, MigrationPlan
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import Conflict
from omnigraph.evolution.checks import check_data
from omnigraph.evolution.plan import SchemaTransition, plan_change, require_supported
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.table_creation import create_tables
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.commits import Commit
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import WriteSnapshot

__all__ = ["apply_schema"]


def apply_schema(engine: Engine, request: SchemaRequest) -> SchemaResult:
    """Make a schema that of a branch, or raise and change nothing.

    A refused step raises ``schema.refused``; rows that violate the new schema raise a
    ``ValidationFailure`` that names them. Applying the same schema again has no effect.
    """
    writer = _SchemaWriter(engine, request.wanted)
    if request.dry_run:
        head = engine.resolver.resolve(request.branch)
        require_commit(engine.root, request.branch, head, request.if_commit)
        plan = writer.dry_run_result(engine.snapshot(request.branch))
        return _result(engine, request, plan, head, None)
    with engine.running.during("schema", request.branch, request.actor):
        manifest = engine.transactions.run(
            WriteRequest(request.branch, request.actor, request.message, request.if_commit), writer
        )
    head = manifest or engine.heads.of_branch(request.branch)[1]
    return _result(engine, request, writer.plan, head, manifest.commit if manifest else None)


class _SchemaWriter:
    """Plans, checks and stages against the snapshot that a transaction captured."""

    kind = WriterKind.SCHEMA
    # Moved data is checked again. A moved schema is a conflict: see ``_plan``.
    reprepares = True

    def __init__(self, engine: Engine, wanted: DesiredSchema) -> None:
        self._root = engine.root
        self._wanted = wanted
        self._accepted: str | None = None
        self._desired: Catalog | None = None
        self._created: dict[TypeId, Pin] = {}
        self.plan = MigrationPlan(())

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        snapshot = view.snapshot
        change = self._plan(snapshot)
        if not change.plan.steps:
            return None
        reads = check_data(change, snapshot)
        effects = tuple(_stage(change, snapshot))
        reach("evolve.staged")
        created = self._create(change)
        reach("evolve.created")
        return PreparedWrite(
            effects=effects,
            reads=reads,
            counts=_count(change, snapshot),
            created=created,
            dropped=frozenset(entity.id for entity in change.dropped),
            new_schema=self._root.put_catalog(change.desired),
            hard_drops=_hard_drops(change.plan),
        )

    def dry_run_result(self, snapshot: Snapshot) -> MigrationPlan:
        """Plan and check; write nothing, not even a data file."""
        change = self._plan(snapshot)
        check_data(change, snapshot)
        return change.plan

    def _plan(self, snapshot: Snapshot) -> SchemaTransition:
        accepted = snapshot.manifest.commit.schema
        if self._desired is None or self._accepted is None:
            self._accepted, self._desired = accepted, self._wanted.build(snapshot.catalog)
        elif accepted != self._accepted:
            # The author has not seen the new schema: continuing would revert the change of another
            # writer.
            raise Conflict(
                "schema.changed",
                "another schema was applied to the branch meanwhile; nothing was changed",
                remedy="plan the change again, on the schema that is accepted now",
                details={"expected": self._accepted, "actual": accepted},
            )
        change = plan_change(snapshot, self._wanted, self._desired)
        self.plan = change.plan
        require_supported(change.plan)
        return change

    def _create(self, change: SchemaTransition) -> dict[TypeId, Pin]:
        """Create tables of new types, once for all attempts to prepare."""
        missing = [entity for entity in change.added if entity.id not in self._created]
        nodes = tuple(entity for entity in missing if isinstance(entity, NodeType))
        edges = tuple(entity for entity in missing if isinstance(entity, EdgeType))
        self._created |= create_tables(
            self._root, Catalog((), nodes, edges), operation_id=new_ulid(self._root.clock)
        )
        return dict(self._created)


def _stage(change: SchemaTransition, snapshot: Snapshot) -> Iterator[TableEffect]:
    for migration in change.row_migrations():
        check_cancelled()
        if not migration.moves_columns:
            continue
        table = snapshot.table(migration.before.id)
        staged = table.stage_reshape(table_schema(migration.after), migration.filling())
        if staged is not None:
            yield TableEffect(migration.before.id, table.pin, staged)


def _count(change: SchemaTransition, snapshot: Snapshot) -> Counts:
    """Count entities that get a value, and entities deleted with their type."""
    pins = snapshot.manifest.pins
    updated = dict.fromkeys(EntityKind, 0)
    deleted = dict.fromkeys(EntityKind, 0)
    for migration in change.row_migrations():
        if migration.gives_values:
            updated[migration.after.kind] += pins[migration.after.id].rows
    for entity in change.dropped:
        deleted[entity.kind] += pins[entity.id].rows
    return Counts(
        nodes_updated=updated[EntityKind.NODE],
        nodes_deleted=deleted[EntityKind.NODE],
        edges_updated=updated[EntityKind.EDGE],
        edges_deleted=deleted[EntityKind.EDGE],
    )


def _hard_drops(plan: MigrationPlan) -> tuple[str, ...]:
    found = []
    for step in plan.steps:
        match step:
            case DropType(mode=DropMode.HARD, element=element):
                found.append(str(element.id))
            case DropProperty(mode=DropMode.HARD, element=element, prop=prop):
                found.append(f"{element.id}/{prop.id}")
            case _:
                pass
    return tuple(found)


def _result(
    engine: Engine,
    request: SchemaRequest,
    plan: MigrationPlan,
    head: Manifest,
    commit: Commit | None,
) -> SchemaResult:
    return SchemaResult(
        engine.root.objects.uri, request.branch, plan, head, commit, dry_run=request.dry_run
    )
