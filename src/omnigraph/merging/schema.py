"""The merged schema, and its conflicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp
from omnigraph.api.conflicts import ConflictKind, EntityConflict, Take, Values
from omnigraph.catalog.canonical import digest
from omnigraph.catalog.merge import merge_catalogs, type_issue
from omnigraph.catalog.merge_issues import IssueKind, SchemaIssue
from omnigraph.catalog.model import ID, EdgeType
from omnigraph.changes.compare import Side, compare
from omnigraph.changeset.rows import default_value
from omnigraph.datatypes.types import spell_type
from omnigraph.errors import InvalidInput
from omnigraph.evolution.row_migration import fits
from omnigraph.merging.snapshots import TypeState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.api.conflicts import Choices
    from omnigraph.catalog.merge_issues import Preferences
    from omnigraph.catalog.model import Catalog, EntityType, Property, TypeId
    from omnigraph.changes.compare import Differences
    from omnigraph.merging.snapshots import MergeSnapshots
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["MergedSchema", "keep_schema", "merge_schemas", "row_definition"]


@dataclass(frozen=True)
class MergedSchema:
    """The schema of the result; ``changed``: it differs from that of ours.

    ``met`` are all conflicts that a choice can resolve, ``conflicts`` the unresolved ones."""

    catalog: Catalog
    changed: bool = False
    conflicts: tuple[EntityConflict, ...] = ()
    met: tuple[EntityConflict, ...] = ()
    # With conflicts: the schemas that resolutions for ours and for theirs lead to.
    alternatives: tuple[MergedSchema, ...] = ()

    @property
    def undisputed(self) -> Catalog:
        """The catalog of types without a conflict; an edge type requires both its node types."""
        disputed = {conflict.entity.id for conflict in self.conflicts}
        nodes = tuple(node for node in self.catalog.nodes if node.id not in disputed)
        ids = {node.id for node in nodes}
        edges = tuple(
            edge
            for edge in self.catalog.edges
            if edge.id not in disputed and edge.source in ids and edge.target in ids
        )
        return replace(self.catalog, nodes=nodes, edges=edges)


def merge_schemas(snapshots: MergeSnapshots, choices: Choices) -> MergedSchema:
    """Merge definitions by identity; the choices resolve conflicts one by one."""
    ours = snapshots.ours.manifest.commit.schema
    schemas = {
        each.manifest.commit.schema for each in (snapshots.base, snapshots.ours, snapshots.theirs)
    }
    if len(schemas) == 1:
        return MergedSchema(snapshots.ours.catalog)
    merged = _resolve(snapshots, choices, ours)
    if not merged.conflicts or any(map(_is_unresolvable, merged.conflicts)):
        return merged
    takes = Take if choices.strategy is None else (choices.strategy,)
    sides = (_resolve(snapshots, replace(choices, strategy=take), ours) for take in takes)
    return replace(merged, alternatives=tuple(sides))


def _resolve(snapshots: MergeSnapshots, choices: Choices, ours: str) -> MergedSchema:
    prefer, met = dict[SchemaIssue, bool](), dict[str, EntityConflict]()
    while True:
        merged, found = _merge(snapshots, prefer)
        met |= {conflict.conflict_id: conflict for conflict in found}
        # Apply all choices: resolving one conflict may resolve or uncover another.
        if not [conflict for conflict in found if _prefer(conflict, choices, prefer)]:
            break
    changed = digest(merged) != ours
    return MergedSchema(merged, changed, tuple(found), tuple(met.values()))


def _merge(snapshots: MergeSnapshots, prefer: Preferences) -> tuple[Catalog, list[EntityConflict]]:
    catalogs = (snapshots.base.catalog, snapshots.ours.catalog, snapshots.theirs.catalog)
    merged, found = merge_catalogs(*catalogs, prefer)
    conflicts = [_conflict(snapshots, each.entity, each.description, each.issue) for each in found]
    disputed = {each.entity.id for each in found}
    others = (type_id for type_id in snapshots.types() if type_id not in disputed)
    return merged, [*conflicts, *_lost_changes(snapshots, merged, prefer, others)]


def keep_schema(snapshots: MergeSnapshots) -> MergedSchema:
    """Keep the schema of ours, for a change of entities only.

    Rows written under other definitions are seen through that schema."""
    catalog = snapshots.ours.catalog
    found = []
    for type_id in snapshots.types():
        if type_id not in catalog.types and snapshots.theirs_changed(type_id):
            known = snapshots.theirs.catalog.types[type_id]
            found.append(_conflict(snapshots, known, "the branch has no such type to change"))
    disputed = {conflict.entity.id for conflict in found}
    found += [each for each in _misfits(snapshots, catalog) if each.entity.id not in disputed]
    kept = MergedSchema(catalog, conflicts=tuple(found))
    return replace(kept, alternatives=(kept,)) if found else kept


def row_definition(entity: EntityType | None) -> tuple[Any, ...] | None:
    """Return the part of a definition that affects rows; names and comments do not."""
    if entity is None:
        return None
    properties = sorted((p.id, p.column, p.dtype, p.nullable) for p in entity.properties)
    rules = (entity.uniques, entity.ranges, entity.checks, entity.key)
    ends: tuple[Any, ...] = ()
    if isinstance(entity, EdgeType):
        ends = (entity.source, entity.target, entity.card_low, entity.card_high)
    return (*properties, rules, ends)


# --- rows that a definition would take something from --------------------------------------------


def _lost_changes(
    snapshots: MergeSnapshots, merged: Catalog, prefer: Preferences, types: Iterable[TypeId]
) -> Iterator[EntityConflict]:
    """Yield changes of one side that the merged schema cannot store.

    The other side dropped the property or type, or gave it a type that the values may not fit. Once
    a type is chosen, values of the other one do not count."""
    for type_id in types:
        base, ours, theirs = snapshots.pins(type_id)
        for side, snapshot, touched in (
            ("ours", snapshots.ours, ours is not None and ours != base),
            ("theirs", snapshots.theirs, theirs is not None and theirs != base),
        ):
            entity = snapshot.catalog.types.get(type_id)
            if entity is None or not touched:
                continue
            for issue, lost in _lost(snapshots, snapshot, entity, merged.types.get(type_id)):
                named = SchemaIssue(IssueKind.NAME, type_id)
                if issue not in prefer and not (named in prefer and type_id not in merged.types):
                    yield _conflict(snapshots, entity, f"{side} changed {lost}", issue)


def _lost(
    snapshots: MergeSnapshots, snapshot: Snapshot, entity: EntityType, merged: EntityType | None
) -> Iterator[tuple[SchemaIssue, str]]:
    """Yield changes of a side since the base that the merged schema drops or may not fit."""
    if merged is None:
        yield (
            SchemaIssue(IssueKind.DROP, entity.id),
            "entities of the type, which the other side dropped",
        )
        return
    before = snapshots.base.catalog.types.get(entity.id)
    if before is None:
        return
    for prop in entity.properties:
        old, kept = before.by_id.get(prop.id), merged.by_id.get(prop.id)
        if old is None or (kept is not None and fits(prop.dtype, kept.dtype)):
            continue
        found = compare(
            snapshot.root.tables,
            _narrow(snapshots.base, before, old),
            _narrow(snapshot, entity, prop),
        )
        if kept is None and (found.count(ChangeOp.UPDATE) or _brings(found, prop)):
            issue = SchemaIssue(IssueKind.DROP, entity.id, prop.id)
            yield issue, f"values of property {prop.name}, which the other side dropped"
        elif kept is not None and found.count(ChangeOp.UPDATE) + found.count(ChangeOp.INSERT):
            mine = snapshots.ours.catalog.types[entity.id]
            types = f"{spell_type(prop.dtype)}, which may not fit {spell_type(kept.dtype)}"
            yield (
                type_issue(mine, mine.by_id[prop.id]),
                f"values of property {prop.name} as {types}",
            )


def _brings(found: Differences, prop: Property) -> bool:
    """Return whether entities arrived with a value of a property.

    The default, which every entity gets, and NULL do not count."""
    came = found.select(found.ops == ChangeOp.INSERT)
    if came.after is None or not len(came):
        return False
    values = came.after.at(came.after_at).column(prop.column)
    default = default_value(prop)
    if default is not None:
        values = values.filter(pc.not_equal(values, pa.scalar(default, values.type)))
    return bool(values.null_count < len(values))


def _narrow(snapshot: Snapshot, entity: EntityType, prop: Property) -> Side:
    """Return a table reduced to ids and one property."""
    columns: dict[str, str] = {ID.id: ID.column, prop.id: prop.column}
    return Side(snapshot.table(entity.id), columns)


def _misfits(snapshots: MergeSnapshots, merged: Catalog) -> Iterator[EntityConflict]:
    """Yield conflicts of values that may not fit the merged type, on sides whose rows are read."""
    for entity in merged.types.values():
        for snapshot in _read_sides(snapshots, entity):
            before = snapshot.catalog.types.get(entity.id)
            lossy = [
                prop.name
                for prop in (before.properties if before is not None else ())
                if prop.id in entity.by_id and not fits(prop.dtype, entity.by_id[prop.id].dtype)
            ]
            if lossy:
                about = f"values of property {', '.join(lossy)} may not fit its type here"
                yield _conflict(snapshots, entity, about)
                break


def _read_sides(snapshots: MergeSnapshots, entity: EntityType) -> tuple[Snapshot, ...]:
    if snapshots.state(entity.id) is TypeState.OURS:
        return (snapshots.ours,)
    return (snapshots.ours, snapshots.theirs, snapshots.base)


# --- conflicts -----------------------------------------------------------------------------------


def _conflict(
    snapshots: MergeSnapshots, entity: EntityType, about: str, issue: SchemaIssue | None = None
) -> EntityConflict:
    """Build a conflict; ``issue`` identifies what a choice resolves, None means nothing."""
    states = (
        each.catalog.types.get(entity.id)
        for each in (snapshots.base, snapshots.ours, snapshots.theirs)
    )
    return EntityConflict(
        ConflictKind.SCHEMA,
        entity,
        None,
        f"{entity.name}: {about}",
        hopeless=issue is None or issue.decides is IssueKind.UNRESOLVABLE,
        witness=(issue, about, *map(repr, states)),
    )


def _is_unresolvable(conflict: EntityConflict) -> bool:
    """Return whether the merged schema as a whole is invalid, so that no part is reliable."""
    issue: SchemaIssue | None = conflict.witness[0]
    return issue is not None and issue.decides is IssueKind.UNRESOLVABLE


def _prefer(conflict: EntityConflict, choices: Choices, prefer: dict[SchemaIssue, bool]) -> bool:
    """Apply a choice; return False if there is none or it has no effect."""
    choice = choices.of(conflict)
    if isinstance(choice, Values):
        raise InvalidInput(
            "merge.bad_value",
            f"{conflict.conflict_id}: only ours or theirs resolves a definition",
            details={"conflict_id": conflict.conflict_id},
        )
    issue: SchemaIssue = conflict.witness[0]
    if choice is None or conflict.hopeless or issue in prefer:
        return False
    prefer[issue] = choice is Take.THEIRS
    return True
