"""Filters of entity changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.api.changes import ChangeOp
    from omnigraph.catalog.model import EntityKind, EntityType, TypeId

__all__ = [
    "ChangeFilter",
]


@frozen
class ChangeFilter:
    """A filter of changes; an empty dimension accepts everything.

    Types are identities, so a filter follows a renamed type.
    """

    kinds: frozenset[EntityKind] = frozenset()
    types: frozenset[TypeId] = frozenset()
    ops: frozenset[ChangeOp] = frozenset()

    def wants(self, entity: EntityType) -> bool:
        return (not self.kinds or entity.kind in self.kinds) and (
            not self.types or entity.id in self.types
        )
