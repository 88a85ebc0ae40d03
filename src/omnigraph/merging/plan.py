"""The plan of a merge: conflicts, their resolutions, and the tables to write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.conflicts import (
    ENTITY_CONFLICTS,
    Choices,
    ConflictKind,
    EntityConflict,
    Take,
    Values,
)
from omnigraph.api.merges import TypeOutcome
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.errors import InvalidInput
from omnigraph.merging.constraint_conflicts import edges_at, find_violations
from omnigraph.merging.counts import count_outcomes, count_types, taken_over
from omnigraph.merging.dangling_edges import find_dangling_edges, node_remover
from omnigraph.merging.rows import row_change
from omnigraph.merging.schema import MergedSchema
from omnigraph.merging.snapshots import TypeState
from omnigraph.merging.staging import stage_type
from omnigraph.merging.three_way import Resolved
from omnigraph.merging.type_merge import TypeMerge
from omnigraph.ports.tables import Pin
from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.writer.plan import PreparedWrite, TableEffect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.merging.rows import RowChange
    from omnigraph.merging.snapshots import MergeSnapshots
    from omnigraph.merging.three_way import Row

__all__ = ["MergePlan"]

# Resolving one conflict may uncover another. A strategy ends with one whole side at the latest.
_ROUNDS_MAX = 64


class MergePlan:
    """Computes a three-way merge. Writes nothing before ``stage``."""

    def __init__(self, snapshots: MergeSnapshots, schema: MergedSchema, *, bytes_max: int) -> None:
        self._snapshots = snapshots
        self._schema = schema
        self._bytes_max = bytes_max
        self._merges = {
            key: TypeMerge(snapshots, entity) for key, entity in schema.catalog.types.items()
        }
        self._changes: dict[TypeId, RowChange] | None = None

    @property
    def redefines(self) -> bool:
        """Whether a definition changes; the list of retired ids does not count."""
        mine, merged = self._snapshots.ours.catalog, self._schema.catalog
        return replace(merged, retired=mine.retired) != mine

    def resolve_conflicts(self, choices: Choices) -> list[EntityConflict]:
        """Resolve conflicts by the choices; return the unresolved ones. Writes nothing.

        Conflicts about the schema are returned with those about entities that remain under every
        resolution of the schema.
        """
        met = {conflict.conflict_id: conflict for conflict in self._schema.met}
        if self._schema.conflicts:
            found = [*self._schema.conflicts, *self._independent(choices, met)]
        else:
            found = self._resolve_entities(choices, met)
        choices.require_known(met.values())
        return found

    def _independent(
        self, choices: Choices, met: dict[str, EntityConflict]
    ) -> list[EntityConflict]:
        """Find the conflicts about entities that all alternatives of the schema have."""
        common: dict[str, EntityConflict] | None = None
        for schema in self._schema.alternatives:
            known = MergedSchema(schema.undisputed)
            plan = MergePlan(self._snapshots, known, bytes_max=self._bytes_max)
            found = {each.conflict_id: each for each in plan._resolve_entities(choices, met)}
            if common is None:
                common = found
            common = {key: each for key, each in common.items() if key in found}
        return list((common or {}).values())

    def _resolve_entities(
        self, choices: Choices, met: dict[str, EntityConflict]
    ) -> list[EntityConflict]:
        """Resolve conflicts about entities; ``met`` collects all of them."""
        for _ in range(_ROUNDS_MAX):
            found = self._conflicts()
            met |= {conflict.conflict_id: conflict for conflict in found}
            if not self._decide(found, choices):
                return found
            self._changes = None
        raise InvalidInput(
            "merge.endless",
            "the resolutions of conflicts contradict each other; nothing was changed",
            remedy="choose one side for all conflicts that depend on each other",
        )

    def outcomes(self, *, counted: bool = False) -> tuple[TypeOutcome, ...]:
        """Return the effect on each changed type.

        With ``counted``, rows of types that are taken over are compared for exact counts."""
        reported = []
        for type_id, merge in self._merges.items():
            if type_id in self._row_changes():
                counts = self._row_changes()[type_id].counts
                reported.append(TypeOutcome(merge.entity, False, *counts))  # noqa: FBT003
            elif merge.state is TypeState.THEIRS:
                reported.append(taken_over(merge.entity, *self._snapshots.pins(type_id)[1:]))
        for type_id in sorted(self._dropped()):
            pin = self._snapshots.ours.manifest.pins[type_id]
            entity = self._snapshots.ours.catalog.types[type_id]
            reported.append(taken_over(entity, pin, None))
        found = tuple(outcome for outcome in reported if _has_effect(outcome))
        return (
            count_types(found, self._snapshots.ours, self._snapshots.theirs) if counted else found
        )

    def stage(self) -> PreparedWrite:
        """Stage the changed rows; take over the other pins."""
        ours, changes = self._snapshots.ours, self._row_changes()
        done = {
            key: stage_type(merge, changes.get(key), bytes_max=self._bytes_max)
            for key, merge in self._merges.items()
        }
        catalog = self._schema.catalog
        return PreparedWrite(
            effects=tuple(each for each in done.values() if isinstance(each, TableEffect)),
            # A merge depends on the whole head.
            reads=frozenset(ours.manifest.pins),
            counts=count_outcomes(self.outcomes()),
            created={key: each for key, each in done.items() if isinstance(each, Pin)},
            dropped=self._dropped(),
            new_schema=ours.root.put_catalog(catalog) if self._schema.changed else None,
        )

    # --- conflicts -------------------------------------------------------------------------------

    def _conflicts(self) -> list[EntityConflict]:
        found = [*self._disagreements(), *find_dangling_edges(self._schema.catalog, self._merges)]
        found += find_violations(self._schema.catalog, self._merges, self._row_changes())
        return found

    def _disagreements(self) -> Iterator[EntityConflict]:
        for merge in self._merges.values():
            check_cancelled()
            if merge.state is not TypeState.BOTH:
                continue
            for entity_id, sides, verdict in merge.disagreements():
                names = _names(merge.entity, verdict.properties)
                yield EntityConflict(
                    verdict.kind,
                    merge.entity,
                    entity_id,
                    f"{merge.entity.name} {entity_id!r}: {_DESCRIPTIONS[verdict.kind]}"
                    + (f" ({', '.join(names)})" if names else ""),
                    verdict.properties,
                    sides.base,
                    sides.ours,
                    sides.theirs,
                )

    def _row_changes(self) -> dict[TypeId, RowChange]:
        if self._changes is None:
            self._changes = {
                key: row_change(merge, bytes_max=self._bytes_max)
                for key, merge in self._merges.items()
                if merge.is_row_by_row
            }
        return self._changes

    def _dropped(self) -> frozenset[TypeId]:
        return frozenset(self._snapshots.ours.manifest.pins) - frozenset(self._merges)

    # --- decisions -------------------------------------------------------------------------------

    def _decide(self, found: list[EntityConflict], choices: Choices) -> bool:
        """Apply choices; return whether any had an effect.

        Disagreements about entities come first: resolving them may remove a violation."""
        first = [self._apply(each, choices) for each in found if each.kind in ENTITY_CONFLICTS]
        if True in first:
            return True
        return True in [
            self._apply(each, choices) for each in found if each.kind not in ENTITY_CONFLICTS
        ]

    def _apply(self, conflict: EntityConflict, choices: Choices) -> bool:
        choice = choices.of(conflict)
        if choice is None:
            return False
        merge = self._merges[conflict.entity.id]
        if isinstance(choice, Values):
            row = self._valued(conflict, choice)
            return merge.decide(_id_of(conflict), Resolved(row))
        match conflict.kind:
            case ConflictKind.DIVERGENT_UPDATE:
                sides = merge.sides(_id_of(conflict))
                side = sides.ours if choice is Take.OURS else sides.theirs
                row = {**_existing(merge.outcome(_id_of(conflict)))}
                row |= {key: (side or {}).get(key) for key in conflict.properties}
                return merge.decide(_id_of(conflict), Resolved(row))
            case ConflictKind.ORPHAN_EDGE if choice is not node_remover(conflict):
                return self._keep_node(conflict, choice)
            case ConflictKind.CARDINALITY:
                edges = edges_at(merge, conflict.other or "")
                return True in [merge.decide(edge, choice) for edge in edges]
            case ConflictKind.UNIQUE:
                who = [key for key in (conflict.id, conflict.other) if key is not None]
                return True in [merge.decide(key, choice) for key in who]
            case _:
                return merge.decide(_id_of(conflict), choice)

    def _keep_node(self, conflict: EntityConflict, keeper: Take) -> bool:
        edge = self._schema.catalog.edge_by_id(conflict.entity.id)
        node_type = edge.source if conflict.properties == ("@src",) else edge.target
        return self._merges[node_type].decide(conflict.other or "", keeper)

    def _valued(self, conflict: EntityConflict, choice: Values) -> Row | None:
        """Return the entity with the values of the choice."""
        entity, given = conflict.entity, choice.by_name
        if "value" not in conflict.takes:
            raise _bad_value(conflict, "only ours or theirs resolves it, not a value")
        if given is None:
            if conflict.kind is not ConflictKind.DELETE_VS_UPDATE:
                raise _bad_value(conflict, "null means deletion, and neither side deleted it")
            return None
        if conflict.kind in (ConflictKind.DIVERGENT_INSERT, ConflictKind.DIVERGENT_UPDATE):
            wanted = set(_names(entity, conflict.properties))
            if set(given) != wanted:
                raise _bad_value(conflict, f"it needs values for {', '.join(sorted(wanted))}")
        row = self._merges[entity.id].outcome(_id_of(conflict))
        if row is None:
            row = conflict.theirs if conflict.ours is None else conflict.ours
        return {**_existing(row), **_typed(conflict, given)}


_DESCRIPTIONS = {
    ConflictKind.DIVERGENT_INSERT: "both sides inserted it with different values",
    ConflictKind.DIVERGENT_UPDATE: "both sides changed it differently",
    ConflictKind.DELETE_VS_UPDATE: "one side deleted it, the other changed it",
}


def _has_effect(outcome: TypeOutcome) -> bool:
    return outcome.taken_over or any((outcome.inserted, outcome.updated, outcome.deleted))


def _id_of(conflict: EntityConflict) -> str:
    assert conflict.id is not None  # noqa: S101 - only conflicts about a source or a type have none
    return conflict.id


def _existing(row: Row | None) -> Row:
    assert row is not None  # noqa: S101 - at least one side has the disputed entity
    return row


def _names(entity: EntityType, properties: Iterable[str]) -> list[str]:
    names: Mapping[str, str] = {prop.id: prop.name for prop in entity.by_id.values()}
    return [{"src": "from", "dst": "to"}.get(names[key], names[key]) for key in properties]


def _typed(conflict: EntityConflict, given: Mapping[str, object]) -> dict[str, object]:
    typed: dict[str, object] = {}
    for name, value in given.items():
        prop = conflict.entity.by_name.get(name)
        if prop is None:
            raise _bad_value(conflict, f"{conflict.entity.name} has no property {name!r} to set")
        if prop.id in (conflict.entity.key or ()):
            raise _bad_value(conflict, f"{name!r} is part of the key and cannot change")
        try:
            typed[prop.id] = coerce_json(value, prop.dtype, nullable=prop.nullable)
        except ValueProblem as problem:
            raise _bad_value(conflict, f"{name}: {problem.message}") from None
    return typed


def _bad_value(conflict: EntityConflict, why: str) -> InvalidInput:
    return InvalidInput(
        "merge.bad_value",
        f"{conflict.conflict_id}: {why}",
        remedy="give a value for each disputed property, or choose ours or theirs",
        details={"conflict_id": conflict.conflict_id},
    )
