"""Changes of entities and of definitions, free of tables, versions and row addresses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import (
    DST,
    SRC,
    EdgeType,
    EntityKind,
    EntityType,
    stored_properties,
)
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ChangeOp",
    "ChangePosition",
    "EntityChange",
    "Image",
    "NamedId",
    "SchemaChange",
    "SchemaOp",
    "TypeSummary",
]


class ChangeOp(IntEnum):
    """The kind of change of an entity, in the order in which changes are listed."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2


@dataclass(frozen=True, slots=True, order=True)
class ChangePosition:
    """The position of a change among the changes between two snapshots.

    The order is frozen: nodes before edges, then by identity of the type, then by id. ``number``
    counts within the type, including changes that a filter omits.
    """

    is_edge: bool
    type_id: str
    number: int


@frozen
class Image:
    """An entity as one commit holds it, in the schema of that commit."""

    entity: EntityType
    # By property identity; NULLs included.
    row: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"<Image of {self.entity.name} {self.properties}>"

    @property
    def properties(self) -> dict[str, Any]:
        """Every property by the name that it had."""
        return {prop.name: self.row[prop.id] for prop in self.entity.properties}

    @property
    def endpoints(self) -> tuple[str, str] | None:
        """Source and target of an edge."""
        if not isinstance(self.entity, EdgeType):
            return None
        return self.row[SRC.id], self.row[DST.id]


@frozen
class EntityChange:
    """An insert has only ``after``, a delete only ``before``, an update both.

    ``entity`` is the type in the later of the two schemas; only a dropped type is that of the
    earlier one. Each image is in the schema of its own side.
    """

    entity: EntityType
    id: str
    op: ChangeOp
    before: Image | None = None
    after: Image | None = None
    # Its number among the changes of its type.
    number: int = 0

    def __repr__(self) -> str:
        what = f"{self.op.name.lower()} {self.entity.name} {self.id!r}"
        return f"<EntityChange {what}{': ' * bool(self.changed)}{', '.join(self.changed)}>"

    @property
    def position(self) -> ChangePosition:
        return ChangePosition(self.entity.kind is EntityKind.EDGE, self.entity.id, self.number)

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the properties that an update changed; ``from`` and ``to`` for endpoints.

        Names are those of the later schema; a dropped property has its last name, which another
        property may have taken.
        """
        if self.before is None or self.after is None:
            return ()
        old, new = self.before.row, self.after.row
        names = {prop.id: prop.name for prop in stored_properties(self.before.entity)}
        names |= {prop.id: prop.name for prop in stored_properties(self.after.entity)}
        names |= {SRC.id: "from", DST.id: "to"}
        # A property that one of the schemas lacks has no value there.
        changed = (name for key, name in names.items() if old.get(key) != new.get(key))
        return tuple(dict.fromkeys(changed))


@frozen
class TypeSummary:
    """How many entities of a type differ."""

    entity: EntityType
    inserted: int
    updated: int
    deleted: int

    def __repr__(self) -> str:
        counts = f"+{self.inserted} ~{self.updated} -{self.deleted}"
        return f"<TypeSummary {self.entity.name} {counts}>"

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted


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
