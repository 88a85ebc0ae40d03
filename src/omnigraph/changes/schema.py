"""Changes of definitions between two schemas: types and properties created, renamed and dropped.

Identities are stable, names are not: a replica that keeps entities by name follows these events.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.catalog.model import EntityKind
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.changes.model import ChangeFilter

__all__ = ["NamedId", "SchemaChange", "SchemaOp", "schema_changes"]


class SchemaOp(StrEnum):
    CREATE_TYPE = "create_type"
    RENAME_TYPE = "rename_type"
    DROP_TYPE = "drop_type"
    CREATE_PROPERTY = "create_property"
    RENAME_PROPERTY = "rename_property"
    DROP_PROPERTY = "drop_property"


@frozen
class NamedId:
    """A stable identity with the name that it has at one commit."""

    id: str
    name: str


@frozen
class SchemaChange:
    """One change of a definition. Names are those after the commit; of what is dropped, the last.

    ``previous_name`` is that of the renamed type or property. ``properties`` are those of a created
    type; they have no events of their own.
    """

    op: SchemaOp
    kind: EntityKind
    type: NamedId
    property: NamedId | None = None
    previous_name: str | None = None
    properties: tuple[NamedId, ...] = ()

    def __repr__(self) -> str:
        name = f"{self.type.name}.{self.property.name}" if self.property else self.type.name
        previous = f" from {self.previous_name}" if self.previous_name else ""
        return f"<SchemaChange {self.op.value} {name}{previous}>"


def schema_changes(
    before: Catalog | None, after: Catalog, wanted: ChangeFilter
) -> tuple[SchemaChange, ...]:
    """The events between two schemas: nodes before edges, then by identity of the type.

    A type comes before its properties, which are ordered by identity. All events of one commit take
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
