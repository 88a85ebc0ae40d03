"""Changes of entities, in the words of the graph: no table, version or row address shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import DST, SRC, EdgeType, EntityKind, EntityType, stored_properties
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import TypeId
    from omnigraph.changes.compare import ChangeOp

__all__ = ["ChangeFilter", "ChangePosition", "EntityChange", "Image"]


@frozen
class ChangeFilter:
    """Which changes are wanted; nothing said about a dimension means all of it.

    Types are identities: a filter follows a renamed type.
    """

    kinds: frozenset[EntityKind] = frozenset()
    types: frozenset[TypeId] = frozenset()
    ops: frozenset[ChangeOp] = frozenset()

    def wants(self, entity: EntityType) -> bool:
        return (not self.kinds or entity.kind in self.kinds) and (
            not self.types or entity.id in self.types
        )


@dataclass(frozen=True, slots=True, order=True)
class ChangePosition:
    """The place of a change among the changes between two snapshots. The order is frozen: nodes
    before edges, then by identity of the type, then by id. ``number`` counts within the type, and
    counts changes that a filter leaves out as well."""

    is_edge: bool
    type_id: str
    number: int


@frozen
class Image:
    """An entity as it was at one commit, in the schema of that commit."""

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
    # Which of the changes of its type it is.
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
