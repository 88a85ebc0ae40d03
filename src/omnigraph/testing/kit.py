"""Small graphs for tests: created, opened, written and read without a query language.

The writers run the same transactions as a mutation or a load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.earlier_formats import EarlierLanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.api.commits import Counts, WriterKind
from omnigraph.api.names import MAIN
from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.changeset.rows import fill_defaults, to_arrow
from omnigraph.errors import NotFound
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.lifecycle.create import create_graph
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.limits import Limits
from omnigraph.session.engine import Engine
from omnigraph.versioning.migrations import migrate, upgraded_view
from omnigraph.versioning.root import GraphRoot
from omnigraph.versioning.stamp import FORMAT, Settings, Stamp, read_stamp
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.changeset.rows import Row
    from omnigraph.ports.objects import ObjectStore
    from omnigraph.ports.tables import Table, TableStore
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.snapshot import Snapshot
    from omnigraph.writer.plan import WriteSnapshot

__all__ = [
    "FAST",
    "SCHEMA",
    "Add",
    "AddUnless",
    "Remove",
    "add",
    "catalog_of",
    "history",
    "ids_of",
    "new_engine",
    "open_engine",
    "remove",
    "table_of",
    "wide_schema",
]

# Two node types, so that one can be read while the other is written, and edges between them.
SCHEMA = """
node Person {
    name: String @key
    age: I64?
}

node Place {
    name: String @key
}

edge Knows: Person -> Person {
    since: I64?
}
"""

# Tests do not wait a minute for an abandoned intent.
FAST = Limits(
    lease_wait_seconds=2.0,
    lease_term_seconds=0.5,
    intent_term_seconds=0.3,
    heartbeat_seconds=0.1,
)


def wide_schema(types: int) -> str:
    """Return a schema with many types."""
    return "\n".join(f"node T{number} {{\n    name: String @key\n}}" for number in range(types))


def catalog_of(schema: str) -> Catalog:
    source = Source(schema, "<kit>")
    return build_catalog(parse_schema(source), source)


def new_engine(
    uri: str | Path,
    *,
    schema: str = SCHEMA,
    durability: str = "process",
    limits: Limits = FAST,
    force: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Engine:
    """Create a graph and open it."""
    stamp = Stamp(new_ulid(), FORMAT, SYSTEM_CLOCK.now_micros(), Settings(durability=durability))
    root = GraphRoot(
        open_objects(str(uri), storage_options, durable=durability == "power"),
        LanceTables(str(uri), storage_options, durable=durability == "power"),
        stamp,
        limits=limits,
        volatile=open_objects(str(uri), storage_options) if durability == "power" else None,
    )
    create_graph(root, catalog_of(schema), force=force)
    return Engine(root)


def open_engine(
    uri: str | Path,
    *,
    read_only: bool = False,
    limits: Limits = FAST,
    storage_options: Mapping[str, str] | None = None,
    wrap_objects: Callable[[ObjectStore], ObjectStore] | None = None,
    wrap_tables: Callable[[TableStore], TableStore] | None = None,
) -> Engine:
    """Open a graph as ``graph.open`` does, with ports that a test may wrap."""
    objects: ObjectStore = open_objects(str(uri), storage_options)
    durable = read_stamp(objects).settings.durability == "power"
    objects = open_objects(str(uri), storage_options, durable=durable)
    objects = wrap_objects(objects) if wrap_objects else objects
    stamp = read_stamp(objects)
    stamp = (
        stamp
        if read_only
        else migrate(objects, stamp, lambda: EarlierLanceTables(str(uri), storage_options))
    )
    tables: TableStore = LanceTables(str(uri), storage_options, durable=durable)
    root = GraphRoot(
        upgraded_view(objects, stamp, lambda: EarlierLanceTables(str(uri), storage_options))
        if read_only
        else objects,
        wrap_tables(tables) if wrap_tables else tables,
        stamp,
        read_only=read_only,
        limits=limits,
        volatile=open_objects(str(uri), storage_options) if durable else None,
    )
    engine = Engine(root)
    if not read_only:
        engine.recovery.sweep()
    return engine


class Add:
    """Adds entities by id, to one table or to several, in one commit.

    The id of an edge has the form ``from>to``. ``reads`` extends the read set of the writer.
    """

    kind = WriterKind.MUTATION

    def __init__(
        self,
        ids: Mapping[str, Iterable[str]],
        *,
        reads: Iterable[str] = (),
        reprepares: bool = True,
    ) -> None:
        self._ids = {name: list(wanted) for name, wanted in ids.items()}
        self._reads = tuple(reads)
        self.reprepares = reprepares

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        effects, nodes, edges = [], 0, 0
        for name, ids in self._ids.items():
            entity = _entity(view.snapshot, name)
            if not ids:
                continue
            table = view.snapshot.table(entity.id)
            staged = table.stage_append(to_arrow(entity, [_row(entity, key) for key in ids]))
            effects.append(TableEffect(entity.id, table.pin, staged))
            nodes += 0 if isinstance(entity, EdgeType) else len(ids)
            edges += len(ids) if isinstance(entity, EdgeType) else 0
        if not effects:
            return None
        return PreparedWrite(
            effects=tuple(effects),
            reads=frozenset(_entity(view.snapshot, name).id for name in self._reads),
            counts=Counts(nodes_inserted=nodes, edges_inserted=edges),
        )


class AddUnless(Add):
    """Adds an entity unless another type contains its id, which is in the read set."""

    def __init__(self, key: str, *, to: str, unless: str) -> None:
        super().__init__({to: [key]}, reads=[unless])
        self._key = key
        self._unless = unless

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        other = view.snapshot.table(_entity(view.snapshot, self._unless).id)
        taken = other.count(pc.field(ID.column) == self._key)
        return None if taken else super().prepare(view)


class Remove:
    """Removes entities of one type by id; a no-op if none of them exists."""

    kind = WriterKind.MUTATION
    reprepares = False

    def __init__(self, name: str, ids: Iterable[str]) -> None:
        self._name = name
        self._ids = list(ids)

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        entity = _entity(view.snapshot, self._name)
        table = view.snapshot.table(entity.id)
        found = table.scan(
            [ID.column],
            filter=pc.field(ID.column).isin(pa.array(self._ids, pa.string())),
            row_addresses=True,
        )
        staged = table.stage_change(delete=np.array(found.column(ROW_ADDRESS), np.uint64))
        if staged is None:
            return None
        return PreparedWrite(
            (TableEffect(entity.id, table.pin, staged),),
            counts=Counts(nodes_deleted=found.num_rows),
        )


def add(engine: Engine, ids: Iterable[str], *, branch: str = MAIN, to: str = "Person") -> CommitId:
    """Add entities of one type; returns the id of the commit."""
    manifest = engine.transactions.run(WriteRequest(branch), Add({to: ids}))
    if manifest is None:
        raise ValueError("nothing to add")
    return manifest.commit.id


def remove(engine: Engine, ids: Iterable[str], *, branch: str = MAIN) -> CommitId | None:
    """Remove people; returns None if none of them exists."""
    manifest = engine.transactions.run(WriteRequest(branch), Remove("Person", ids))
    return manifest.commit.id if manifest else None


def ids_of(engine: Engine, target: str = MAIN, *, of: str = "Person") -> list[str]:
    """Return the sorted ids of one type at a target, including duplicates."""
    column = table_of(engine, target, of=of).scan([ID.column]).column(ID.column)
    return sorted(column.to_pylist())


def table_of(engine: Engine, target: str = MAIN, *, of: str = "Person") -> Table:
    snapshot = engine.snapshot(target)
    return snapshot.table(_entity(snapshot, of).id)


def history(engine: Engine, target: str = MAIN) -> list[Commit]:
    """Return the commits of a target, newest first."""
    return list(engine.lineage.history(engine.resolver.resolve(target)))


def _entity(snapshot: Snapshot, name: str) -> EntityType:
    entity = snapshot.catalog.entity(name)
    if entity is None:
        raise NotFound("kit.type", f"the schema has no {name}")
    return entity


def _row(entity: EntityType, key: str) -> Row:
    row = fill_defaults(entity, {})
    row[ID.id] = key
    if isinstance(entity, EdgeType):
        row[SRC.id], row[DST.id] = key.split(">")
    elif "name" in entity.by_name:
        row[entity.by_name["name"].id] = key
    return row
