"""Histories for tests: entities as plain dictionaries, written by a real writer and read back.

A state is ``{type name: {entity id: {property name: value}}}``; an edge has ``from`` and ``to``
among its properties, and NULL properties are omitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.commits import WriterKind
from omnigraph.api.names import MAIN
from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, stored_properties
from omnigraph.changeset.cascade import cascade
from omnigraph.changeset.rows import to_arrow
from omnigraph.changeset.staging import stage_changes
from omnigraph.integrity.changes import ChangeSet, TypeChange
from omnigraph.integrity.evaluate import evaluate_changes
from omnigraph.integrity.lookup import locate
from omnigraph.versioning.branches import create_branch
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.api.changes import EntityChange, Image
    from omnigraph.api.commits import Commit
    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot

__all__ = ["State", "Write", "apply_change", "branch_off", "state_of", "write"]

State = dict[str, dict[str, dict[str, Any]]]


class Write:
    """Upserts and deletes whole entities in one commit; nodes are deleted with their edges."""

    kind = WriterKind.LOAD
    reprepares = True

    def __init__(
        self, upserts: Mapping[str, Mapping[str, Any]], deletes: Mapping[str, Iterable[str]]
    ) -> None:
        self._upserts = upserts
        self._deletes = deletes

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        reader = view.snapshot
        by_name = {entity.name: entity for entity in reader.catalog.types.values()}
        rows = {
            by_name[name].id: to_arrow(
                by_name[name],
                [_row(by_name[name], key, values) for key, values in entities.items()],
            )
            for name, entities in self._upserts.items()
        }
        deletes: dict[TypeId, pa.Table] = {
            by_name[name].id: locate(
                reader.table(by_name[name].id), pa.array(list(ids), pa.string())
            )
            for name, ids in self._deletes.items()
        }
        gone = cascade(deletes, reader)
        by_type = {}
        for key in rows.keys() | gone.keys():
            entity = reader.catalog.types[key]
            table = rows.get(key, to_arrow(entity, []))
            change = TypeChange(entity, Mode.MERGE, table)
            by_type[key] = change.deleting(gone[key]) if key in gone else change
        changes = ChangeSet(by_type)
        evaluation = evaluate_changes(changes, reader)
        evaluation.raise_if_broken()
        return stage_changes(changes, evaluation, reader)


def write(
    engine: Engine,
    upserts: Mapping[str, Mapping[str, Any]] | None = None,
    deletes: Mapping[str, Iterable[str]] | None = None,
    *,
    branch: str = MAIN,
) -> Commit | None:
    """Write entities; returns the commit, or None if nothing changed."""
    manifest = engine.transactions.run(WriteRequest(branch), Write(upserts or {}, deletes or {}))
    return manifest.commit if manifest else None


def branch_off(engine: Engine, name: str, source: str = MAIN) -> None:
    create_branch(engine.root, engine.heads, name, engine.resolver.resolve(source))


def state_of(engine: Engine, target: str = MAIN) -> State:
    """Return the state of a target."""
    snapshot = engine.snapshot(target)
    return {
        entity.name: dict(_entities(entity, snapshot.table(entity.id).scan().to_pylist()))
        for entity in snapshot.catalog.types.values()
    }


def apply_change(state: State, change: EntityChange) -> None:
    """Apply a change to a state, which must be the state before the change."""
    entities = state.setdefault(change.entity.name, {})
    before = entities.get(change.id)
    if before != image_values(change.before):
        raise AssertionError(f"{change} does not follow {before}")
    if change.after is None:
        del entities[change.id]
    else:
        entities[change.id] = image_values(change.after) or {}


def image_values(image: Image | None) -> dict[str, Any] | None:
    return None if image is None else _values(image.entity, image.row)


def _entities(
    entity: EntityType, rows: list[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in rows:
        by_id: dict[str, Any] = {prop.id: row[prop.column] for prop in stored_properties(entity)}
        yield row[ID.column], _values(entity, by_id)


def _values(entity: EntityType, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {prop.id: prop.name for prop in stored_properties(entity) if prop is not ID}
    spelled = {"src": "from", "dst": "to"}
    return {
        spelled.get(name, name): row[prop] for prop, name in names.items() if row[prop] is not None
    }


def _row(entity: EntityType, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {prop.id: values.get(prop.name) for prop in entity.properties}
    if isinstance(entity, EdgeType):
        row |= {SRC.id: values["from"], DST.id: values["to"]}
    return {ID.id: key, **row}
