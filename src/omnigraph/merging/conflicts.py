"""Conflicts: where two sides disagree, or where what they agree on breaks a rule of the schema."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import EntityType

__all__ = ["DISAGREEMENTS", "ConflictKind", "EntityConflict"]

_NAME_LENGTH = 12


class ConflictKind(StrEnum):
    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE = "unique_violation"
    CARDINALITY = "cardinality_violation"
    VALUE = "value_constraint_violation"
    SCHEMA = "schema"


# About what becomes of one entity; the others are about rules.
DISAGREEMENTS = frozenset(
    {
        ConflictKind.DIVERGENT_INSERT,
        ConflictKind.DIVERGENT_UPDATE,
        ConflictKind.DELETE_VS_UPDATE,
    }
)
# Settled by one side or the other: there is no one row to give a value to.
_BETWEEN_SIDES = frozenset(
    {ConflictKind.ORPHAN_EDGE, ConflictKind.CARDINALITY, ConflictKind.SCHEMA}
)


@dataclass(frozen=True)
class EntityConflict:
    """One disagreement about one entity, or, for ``schema``, about one type.

    ``properties`` are identities. States are rows by property identity; None: not there, or not
    known. ``other`` is a second entity that takes part: the node of an orphan edge, the holder of a
    unique value, the source of too many edges. ``hopeless``: no choice settles it.
    """

    kind: ConflictKind
    entity: EntityType
    id: str | None
    message: str
    properties: tuple[str, ...] = ()
    base: Mapping[str, Any] | None = None
    ours: Mapping[str, Any] | None = None
    theirs: Mapping[str, Any] | None = None
    other: str | None = None
    hopeless: bool = False
    # What else its name depends on.
    witness: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def takes(self) -> tuple[str, ...]:
        """What can be chosen about it."""
        if self.hopeless:
            return ()
        return ("ours", "theirs") if self.kind in _BETWEEN_SIDES else ("ours", "theirs", "value")

    @property
    def place(self) -> str:
        """Where it is: the same as long as the disagreement is about the same thing. Two sides that
        disagree about an entity do so whatever they do to it; rules are broken one by one."""
        if self.kind in DISAGREEMENTS:
            return _digest("entity", self.entity.id, self.id)
        return _digest(self.kind.value, self.entity.id, self.id, self.other, self.properties)

    @property
    def conflict_id(self) -> str:
        """Its name: place and content. It stays the same from preview to merge, whatever else
        happens on the branches, and changes when one of the two states does."""
        content = (self.kind.value, self.properties, self.base, self.ours, self.theirs)
        return f"{self.place}-{_digest(*content, self.witness)}"


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]
