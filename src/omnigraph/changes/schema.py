"""Schema changes between two schemas: types and properties created, renamed and dropped.

Identities are stable, names are not: a replica keyed by name applies these events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.changes import NamedId, SchemaChange, SchemaOp
from omnigraph.catalog.model import EntityKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.changes.model import ChangeFilter

__all__ = ["schema_changes"]


def schema_changes(
    before: Catalog | None, after: Catalog, wanted: ChangeFilter
) -> tuple[SchemaChange, ...]:
    """Return the events between two schemas: nodes before edges, then by identity of the type.

    A type precedes its properties, which are ordered by identity. All events of one commit take
    effect at once: two types may exchange their names.
    """
    old = before.types if before else {}
    new = after.types
    pairs = [(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]
    found = [change for pair in pairs if wanted.wants(_known(*pair)) for change in _of_type(*pair)]
    return tuple(sorted(found, key=lambda change: change.kind is EntityKind.EDGE))


def _known(before: EntityType | None, after: EntityType | None) -> EntityType:
    found = after or before
    assert found is not None  # noqa: S101 - a pair has at least one side
    return found


def _of_type(before: EntityType | None, after: EntityType | None) -> Iterator[SchemaChange]:
    entity = _known(before, after)
    named = NamedId(entity.id, entity.name)
    if before is None:
        properties = tuple(NamedId(each.id, each.name) for each in entity.properties)
        yield SchemaChange(SchemaOp.CREATE_TYPE, entity.kind, named, properties=properties)
        return
    if after is None:
        yield SchemaChange(SchemaOp.DROP_TYPE, entity.kind, named)
        return
    if before.name != after.name:
        yield SchemaChange(SchemaOp.RENAME_TYPE, entity.kind, named, previous_name=before.name)
    yield from _of_properties(before, after, named)


def _of_properties(before: EntityType, after: EntityType, named: NamedId) -> Iterator[SchemaChange]:
    old = {each.id: each.name for each in before.properties}
    new = {each.id: each.name for each in after.properties}
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            op, previous = SchemaOp.CREATE_PROPERTY, None
        elif key not in new:
            op, previous = SchemaOp.DROP_PROPERTY, None
        elif old[key] != new[key]:
            op, previous = SchemaOp.RENAME_PROPERTY, old[key]
        else:
            continue
        prop = NamedId(key, new.get(key) or old[key])
        yield SchemaChange(op, after.kind, named, prop, previous)
