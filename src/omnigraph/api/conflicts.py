"""Conflicts of a merge, and the choices that resolve them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.api.wire_values import to_wire
from omnigraph.catalog.model import DST, SRC, EdgeType, EntityType
from omnigraph.errors import Conflict as StaleConflict
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ENTITY_CONFLICTS",
    "NO_CHOICES",
    "Choice",
    "Choices",
    "ConflictKind",
    "EntityConflict",
    "Take",
    "Values",
    "conflict_to_json",
]


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


# Conflicts about the existence or the values of one entity; the others concern constraints.
ENTITY_CONFLICTS = frozenset(
    {
        ConflictKind.DIVERGENT_INSERT,
        ConflictKind.DIVERGENT_UPDATE,
        ConflictKind.DELETE_VS_UPDATE,
    }
)


# Resolved only by ``ours`` or ``theirs``: there is no single row to give a value to.
_BETWEEN_SIDES = frozenset(
    {ConflictKind.ORPHAN_EDGE, ConflictKind.CARDINALITY, ConflictKind.SCHEMA}
)


@dataclass(frozen=True)
class EntityConflict:
    """One conflict about an entity or, for ``schema``, about a type.

    ``properties`` are identities. States are rows by property identity; None means absent or
    unknown. ``other`` is the second entity of the conflict: the endpoint of a dangling edge, the
    holder of a unique value, the source of too many edges. ``hopeless``: no choice resolves it.
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
    # Further content that the conflict id covers.
    witness: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def takes(self) -> tuple[str, ...]:
        """The choices that resolve this conflict."""
        if self.hopeless:
            return ()
        return ("ours", "theirs") if self.kind in _BETWEEN_SIDES else ("ours", "theirs", "value")

    @property
    def identity(self) -> str:
        """The identity of the conflict, independent of the states of the two sides.

        Conflicts about an entity have one per entity, violations of constraints one per violation.
        """
        if self.kind in ENTITY_CONFLICTS:
            return _digest("entity", self.entity.id, self.id)
        return _digest(self.kind.value, self.entity.id, self.id, self.other, self.properties)

    @property
    def conflict_id(self) -> str:
        """A stable id, derived from the conflict's identity and states.

        It is the same in preview and merge, whatever else changes on the branches, and differs when
        one of the two states changes.
        """
        content = (self.kind.value, self.properties, self.base, self.ours, self.theirs)
        return f"{self.identity}-{_digest(*content, self.witness)}"


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]


def conflict_to_json(conflict: EntityConflict) -> dict[str, Any]:
    """Encode a conflict for every interface; absent fields are omitted."""
    entity = conflict.entity
    names: dict[str, str] = {prop.id: prop.name for prop in entity.by_id.values()}
    names |= {SRC.id: "from", DST.id: "to"}
    body: dict[str, Any] = {
        "conflict_id": conflict.conflict_id,
        "kind": conflict.kind.value,
        "entity_kind": entity.kind.value,
        "type_name": entity.name,
        "entity_id": conflict.id,
        "other_id": conflict.other,
        "properties": [names[key] for key in conflict.properties] or None,
        "message": conflict.message,
        "takes": list(conflict.takes),
    }
    said = {key: value for key, value in body.items() if value is not None}
    if conflict.id is not None:
        states = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
        said |= {side: _state(conflict, row) for side, row in states.items()}
    return said


def _state(conflict: EntityConflict, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    entity = conflict.entity
    state: dict[str, Any] = {
        "properties": {prop.name: to_wire(row.get(prop.id)) for prop in entity.properties}
    }
    if isinstance(entity, EdgeType):
        state["endpoints"] = {"from": row.get(SRC.id), "to": row.get(DST.id)}
    return state


class Take(StrEnum):
    """The side whose state is kept. ``ours`` is the branch that is written."""

    OURS = "ours"
    THEIRS = "theirs"

    @property
    def other(self) -> Take:
        return Take.THEIRS if self is Take.OURS else Take.OURS


@frozen
class Values:
    """Explicit values by property name; None deletes the entity."""

    by_name: Mapping[str, Any] | None


Choice = Take | Values


@dataclass(frozen=True)
class Choices:
    """A strategy, choices by conflict id, or both. A choice takes precedence over the strategy."""

    strategy: Take | None = None
    by_id: Mapping[str, Choice] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.strategy is not None or bool(self.by_id)

    def of(self, conflict: EntityConflict) -> Choice | None:
        """Return the decision on a conflict; None without one."""
        return self.by_id.get(conflict.conflict_id, self.strategy)

    def require_known(self, met: Iterable[EntityConflict]) -> None:
        """Raise an error unless every choice refers to a conflict of this merge, as it was
        previewed.
        """
        conflicts = list(met)
        known = {conflict.conflict_id for conflict in conflicts}
        strange = [name for name in self.by_id if name not in known]
        if not strange:
            return
        places = {conflict.identity for conflict in conflicts}
        stale = [name for name in strange if name.partition("-")[0] in places]
        if stale:
            raise StaleConflict(
                "merge.resolution_stale",
                f"{len(stale)} resolution(s) refer to conflicts that have changed: "
                f"{', '.join(stale[:5])}",
                remedy="preview the merge again and resolve its conflicts; nothing was changed",
                details={"stale": stale},
            )
        raise InvalidInput(
            "merge.resolution_unknown",
            f"there is no conflict {', '.join(strange[:5])}",
            remedy="use the conflict ids of a preview of this merge; nothing was changed",
            details={"unknown": strange},
        )


NO_CHOICES = Choices()
