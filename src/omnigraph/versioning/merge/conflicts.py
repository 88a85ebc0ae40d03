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

__all__ = ["Conflict", "ConflictKind"]

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


@dataclass(frozen=True)
class Conflict:
    """One disagreement about one entity, or, for ``schema``, about one type.

    ``properties`` are identities. States are rows by property identity; None: not there, or not
    known. ``other`` is a second entity that takes part: the node of an orphan edge, the holder of a
    unique value, the source of too many edges.
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
    # What else its name depends on.
    witness: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        """Where it is: the same as long as the disagreement is about the same thing."""
        return _digest(self.kind.value, self.entity.id, self.id, self.other, self.properties)

    @property
    def conflict_id(self) -> str:
        """Its name: place and content. It stays the same from preview to merge, whatever else
        happens on the branches, and changes when one of the two states does."""
        return f"{self.place}-{_digest(self.base, self.ours, self.theirs, self.witness)}"


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]
