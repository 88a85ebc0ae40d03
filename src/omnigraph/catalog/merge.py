"""Merge two catalogs with a common base, by identity and definition by definition.

A change of one side, or the same change of both sides, is applied; sets of constraints and of enum
values are merged member by member. Different changes of one definition, and one name for two
types, are conflicts: ours stays until a preference resolves them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.diff_properties import is_lossless
from omnigraph.catalog.merge_issues import IssueKind, SchemaConflict, SchemaIssue
from omnigraph.catalog.model import (
    NO_ANNOTATIONS,
    Catalog,
    EdgeType,
    NodeType,
    TypeId,
    retired_ids,
)
from omnigraph.catalog.source import print_catalog
from omnigraph.datatypes.types import DataType, EnumType, ListType, ScalarType, spell_type
from omnigraph.errors import SchemaFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from omnigraph.catalog.merge_issues import Preferences
    from omnigraph.catalog.model import EntityType, Interface, Property

__all__ = ["merge_catalogs", "type_issue"]

T = TypeVar("T")
# Types that can be widened.
_WIDENABLE = (ScalarType, ListType)


def merge_catalogs(
    base: Catalog, ours: Catalog, theirs: Catalog, prefer: Preferences
) -> tuple[Catalog, list[SchemaConflict]]:
    """Return the merged schema and the unresolved conflicts."""
    merge = _CatalogMerge(prefer)
    found: list[EntityType] = []
    order = {**ours.types, **theirs.types, **base.types}
    for type_id in order:
        states = (base.types.get(type_id), ours.types.get(type_id), theirs.types.get(type_id))
        entity = merge.entity(*states)
        if entity is not None:
            found.append(entity)
    merged = Catalog(
        merge.interfaces(base, ours, theirs),
        tuple(entity for entity in found if isinstance(entity, NodeType)),
        tuple(entity for entity in found if isinstance(entity, EdgeType)),
    )
    merged = replace(merged, retired=retired_ids(merged, (base, ours, theirs)))
    conflicts = [*merge.conflicts, *_name_conflicts(found)]
    conflicts += _undisputed(_dangling_edge_types(merged, order, prefer), conflicts, merged)
    return merged, conflicts or _validate(merged, ours)


class _CatalogMerge:
    """A merge in progress: the preferences and the conflicts found."""

    def __init__(self, prefer: Preferences) -> None:
        self._prefer = prefer
        self.conflicts: list[SchemaConflict] = []

    def entity(
        self, base: EntityType | None, ours: EntityType | None, theirs: EntityType | None
    ) -> EntityType | None:
        known = ours or theirs
        if known is None:
            return None
        drop = self._prefer.get(SchemaIssue(IssueKind.DROP, known.id))
        name = self._prefer.get(SchemaIssue(IssueKind.NAME, known.id))
        if ours is None or theirs is None:
            for prefers_theirs in (drop, name):
                if prefers_theirs is not None:
                    return theirs if prefers_theirs else ours
        merged = self._definition(base, ours, theirs)
        if merged is None or name is None or ours is None or theirs is None:
            return merged
        return replace(merged, name=(theirs if name else ours).name)

    def _definition(
        self, base: EntityType | None, ours: EntityType | None, theirs: EntityType | None
    ) -> EntityType | None:
        known = ours or theirs
        assert known is not None  # noqa: S101 - checked by ``entity``
        is_resolved = any(
            issue.type == known.id and issue.decides is not IssueKind.NAME for issue in self._prefer
        )
        if not is_resolved and theirs in (ours, base):
            return ours
        if not is_resolved and ours == base:
            return theirs if ours is None or theirs is None else _as_wide_as(theirs, ours)
        picker = _Picker(known.id, self._prefer)
        if ours is None or theirs is None:
            merged: EntityType | None = picker.pick("it", base, ours, theirs)
        else:
            merged = _merge_entity(base or _blank(ours), ours, theirs, picker)
        self.conflicts += [
            SchemaConflict(known, description, issue)
            for issue, description in picker.conflicts.items()
        ]
        return merged

    def interfaces(self, base: Catalog, ours: Catalog, theirs: Catalog) -> tuple[Interface, ...]:
        """Merge interfaces; they have no rows, so ours wins conflicts."""
        picker = _Picker(TypeId(""), {}, default=False)
        return tuple(
            picker.keyed(
                str,
                [{each.name: each for each in side.interfaces} for side in (base, ours, theirs)],
                lambda *states: _merge_interface(states, picker),
            )
        )


class _Picker:
    """Chooses between the states of the definitions of one type."""

    def __init__(
        self, type_id: TypeId, prefer: Preferences, *, default: bool | None = None
    ) -> None:
        """Take the preferences and the choice without one (``default``)."""
        self._type_id = type_id
        self._prefer = prefer
        self._default = default
        # Unresolved conflicts with their descriptions.
        self.conflicts: dict[SchemaIssue, str] = {}

    def pick(self, about: str, base: T, ours: T, theirs: T) -> T:
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        return theirs if self._prefers_theirs(about, _describe(about, base, ours, theirs)) else ours

    def _prefers_theirs(self, about: str, description: str) -> bool | None:
        issue = SchemaIssue(IssueKind.CONFLICT, self._type_id, about)
        chosen = self._prefer.get(issue, self._default)
        if chosen is None:
            self.conflicts[issue] = description
        return chosen

    def dtype(self, about: str, base: DataType, ours: DataType, theirs: DataType) -> DataType:
        match base, ours, theirs:
            case EnumType(before), EnumType(mine), EnumType(other):
                return EnumType(tuple(sorted(_merge_members(before, mine, other))))
            case _ if isinstance(theirs, _WIDENABLE) and is_lossless(theirs, ours):
                # Keep the wider type: both sides may have written values of their own.
                return ours
            case _ if isinstance(ours, _WIDENABLE) and is_lossless(ours, theirs):
                return theirs
            case _:
                # A preference also decides one-sided changes: values of the other may not fit.
                chosen = self._prefer.get(SchemaIssue(IssueKind.CONFLICT, self._type_id, about))
                if chosen is not None:
                    return theirs if chosen else ours
                return self.pick(about, base, ours, theirs)

    def _keep_or_drop(
        self, about: str, key: Any, states: tuple[T | None, T | None, T | None]
    ) -> T | None:
        """Choose like ``pick``; a preference about a drop takes precedence."""
        base, ours, theirs = states
        dropped_as_theirs = self._prefer.get(SchemaIssue(IssueKind.DROP, self._type_id, str(key)))
        if dropped_as_theirs is not None and base is not None and None in (ours, theirs):
            return theirs if dropped_as_theirs else ours
        return self.pick(about, base, ours, theirs)

    def keyed(
        self,
        about: Callable[[Any], str],
        states: Sequence[Mapping[Any, T]],
        merge: Callable[[T, T, T], T] | None = None,
    ) -> list[T]:
        """Choose between definitions by key, in the order of ours, then of theirs."""
        base, ours, theirs = states
        found = []
        for key in {**ours, **theirs}:
            before, mine, other = base.get(key), ours.get(key), theirs.get(key)
            both = before is not None and mine is not None and other is not None
            if merge is not None and both:
                found.append(merge(before, mine, other))  # type: ignore[arg-type]
                continue
            chosen = self._keep_or_drop(about(key), key, (before, mine, other))
            if chosen is not None:
                found.append(chosen)
        return found

    def resolve_names(
        self, properties: Sequence[Property], ours: EntityType, theirs: EntityType
    ) -> list[Property]:
        """Resolve two properties with one name by giving both their names of the preferred side.

        The new name may collide with a third property, so the search repeats, each name once."""
        found, handled = list(properties), set[str]()
        while True:
            names = Counter(prop.name for prop in found)
            duplicates = {name for name, count in names.items() if count > 1} - handled
            if not duplicates:
                return found
            handled |= duplicates
            seen = [
                self._resolved_name(prop, ours, theirs) if prop.name in duplicates else prop
                for prop in found
            ]
            found = [prop for prop in seen if prop is not None]

    def _resolved_name(
        self, prop: Property, ours: EntityType, theirs: EntityType
    ) -> Property | None:
        about = f"name {prop.name} of two properties"
        description = f"both sides added a property named {prop.name}"
        chosen = self._prefers_theirs(about, description)
        if chosen is None:
            return prop
        known = (theirs if chosen else ours).by_id.get(prop.id)
        return None if known is None else replace(prop, name=known.name)


def _describe(about: str, base: Any, ours: Any, theirs: Any) -> str:
    """Describe the changes of the two sides."""
    if base is None:
        return f"both sides added {about} with different definitions"
    if ours is None or theirs is None:
        return f"one side dropped {about}, and the other changed it"
    spelled = [_spelled(each) for each in (ours, theirs)]
    which = f": ours {spelled[0]}, theirs {spelled[1]}" if None not in spelled else ""
    return f"both sides changed {about} differently{which}"


def _spelled(value: Any) -> str | None:
    if isinstance(value, DataType):
        return spell_type(value)
    return value if isinstance(value, str) else None


def _merge_entity(
    base: EntityType, ours: EntityType, theirs: EntityType, picker: _Picker
) -> EntityType:
    states = (base, ours, theirs)
    names = {prop.id: prop.name for each in states for prop in each.properties}
    columns = {prop.id: prop.column for prop in (*theirs.properties, *ours.properties)}

    def name_of(key: Any) -> str:
        return f"property {names.get(key, key)}"

    properties = picker.keyed(
        name_of,
        # The column of a property is not part of its definition.
        [
            {
                prop.id: replace(prop, column=columns.get(prop.id, prop.column))
                for prop in each.properties
            }
            for each in states
        ],
        lambda before, mine, other: _merge_property((before, mine, other), picker),
    )
    properties = picker.resolve_names(properties, ours, theirs)
    left = {prop.id for prop in properties} | {"@src", "@dst"}
    with_rules = [_with_rules_of_dropped(each, base) for each in states]
    ranges = picker.keyed(
        lambda key: f"the @range of {name_of(key)}",
        [{rule.prop: rule for rule in each.ranges} for each in with_rules],
    )
    merged: EntityType = replace(
        ours,
        name=picker.pick("its name", *(each.name for each in states)),
        properties=_with_own_columns(properties, ours),
        uniques=tuple(
            _with_members_in(_merge_members(*(each.uniques for each in with_rules)), left)
        ),
        indexes=tuple(
            _with_members_in(_merge_members(*(each.indexes for each in with_rules)), left)
        ),
        ranges=tuple(rule for rule in ranges if rule.prop in left),
        checks=tuple(
            rule
            for rule in _merge_members(*(each.checks for each in with_rules))
            if rule.prop in left
        ),
        key=picker.pick("its key", *(each.key for each in states)),
        annotations=picker.pick("its annotations", *(each.annotations for each in states)),
    )
    return _merge_kind(merged, states, picker)


def _with_rules_of_dropped(side: EntityType, base: EntityType) -> EntityType:
    """Restore the rules of dropped properties: they stay or go with their property."""
    dropped = base.by_id.keys() - side.by_id.keys()
    if not dropped:
        return side
    uniques = (group for group in base.uniques if not dropped.isdisjoint(group))
    indexes = (group for group in base.indexes if not dropped.isdisjoint(group))
    with_rules: EntityType = replace(
        side,
        uniques=(*side.uniques, *uniques),
        indexes=(*side.indexes, *indexes),
        ranges=(*side.ranges, *(rule for rule in base.ranges if rule.prop in dropped)),
        checks=(*side.checks, *(rule for rule in base.checks if rule.prop in dropped)),
    )
    return with_rules


def _blank(entity: EntityType) -> EntityType:
    """Return the base of a type that both sides added: its name and key only."""
    rules: dict[str, Any] = dict.fromkeys(
        ("properties", "uniques", "indexes", "ranges", "checks"), ()
    )
    bare: EntityType = replace(entity, **rules, annotations=NO_ANNOTATIONS)
    if isinstance(bare, EdgeType):
        return replace(bare, card_low=0, card_high=None)
    return replace(bare, interfaces=())


def _as_wide_as(entity: EntityType, other: EntityType) -> EntityType:
    """Widen the types of a definition to those of another one."""
    properties = []
    for prop in entity.properties:
        known = other.by_id.get(prop.id)
        if known is not None and isinstance(prop.dtype, _WIDENABLE):
            wider = known.dtype if is_lossless(prop.dtype, known.dtype) else prop.dtype
            properties.append(replace(prop, dtype=wider))
        else:
            properties.append(prop)
    widened: EntityType = replace(entity, properties=tuple(properties))
    return widened


def _merge_kind(
    merged: EntityType, states: tuple[EntityType, EntityType, EntityType], picker: _Picker
) -> EntityType:
    """Merge the fields that only nodes or only edges have."""
    match merged, *states:
        case NodeType() as node, NodeType() as base, NodeType() as ours, NodeType() as theirs:
            found = picker.pick(
                "its interfaces", base.interfaces, ours.interfaces, theirs.interfaces
            )
            return replace(node, interfaces=found)
        case EdgeType() as edge, EdgeType() as base, EdgeType() as ours, EdgeType() as theirs:
            low, high = picker.pick(
                "its @card", *((each.card_low, each.card_high) for each in (base, ours, theirs))
            )
            source, target = picker.pick(
                "its endpoints", *((each.source, each.target) for each in (base, ours, theirs))
            )
            return replace(edge, card_low=low, card_high=high, source=source, target=target)
        case _:
            return merged


def _merge_property(states: tuple[Property, Property, Property], picker: _Picker) -> Property:
    base, ours, theirs = states

    def about(what: str) -> str:
        return _about(what, ours)

    return replace(
        ours,
        name=picker.pick(about("name"), base.name, ours.name, theirs.name),
        dtype=picker.dtype(about("type"), base.dtype, ours.dtype, theirs.dtype),
        nullable=picker.pick(about("nullability"), base.nullable, ours.nullable, theirs.nullable),
        annotations=picker.pick(
            about("annotations"), base.annotations, ours.annotations, theirs.annotations
        ),
    )


def type_issue(entity: EntityType, prop: Property) -> SchemaIssue:
    """Return the issue of a property's type; entity and property are those of ours."""
    return SchemaIssue(IssueKind.CONFLICT, entity.id, _about("type", prop))


def _about(what: str, ours: Property) -> str:
    return f"the {what} of property {ours.name}"


def _merge_interface(states: Sequence[Interface], picker: _Picker) -> Interface:
    base, ours, theirs = states
    properties = picker.keyed(
        str, [{prop.name: prop for prop in each.properties} for each in states]
    )
    names = {prop.name for prop in properties}
    constraints = _merge_members(base.constraints, ours.constraints, theirs.constraints)
    return replace(
        ours,
        properties=tuple(properties),
        constraints=tuple(each for each in constraints if names.issuperset(each[1])),
        annotations=picker.pick(
            "annotations", base.annotations, ours.annotations, theirs.annotations
        ),
    )


def _with_own_columns(properties: Sequence[Property], ours: EntityType) -> tuple[Property, ...]:
    """Give properties unique columns: where both sides added the same column, ours keeps it."""
    taken = {prop.column for prop in properties if prop.id in ours.by_id}
    found = []
    for prop in properties:
        if prop.id not in ours.by_id and prop.column in taken:
            found.append(replace(prop, column=f"{prop.name}__{prop.id}"))
        else:
            found.append(prop)
    return tuple(found)


def _merge_members(base: Iterable[T], ours: Iterable[T], theirs: Iterable[T]) -> list[T]:
    """Merge sets: apply the additions and removals of both sides."""
    before, mine, other = list(base), list(ours), list(theirs)
    kept = [each for each in mine if each in other or each not in before]
    return [*kept, *(each for each in other if each not in before and each not in mine)]


def _with_members_in(
    groups: Iterable[tuple[Any, ...]], known: set[Any]
) -> Iterable[tuple[Any, ...]]:
    """Return the rules whose properties all exist."""
    return (group for group in groups if set(group) <= known)


def _name_conflicts(entities: Sequence[EntityType]) -> Iterable[SchemaConflict]:
    """Yield a conflict for each type name that both sides added."""
    names = Counter(_folded(entity) for entity in entities)
    for entity in entities:
        if names[_folded(entity)] > 1:
            description = f"both sides added a type named {entity.name}"
            yield SchemaConflict(entity, description, SchemaIssue(IssueKind.NAME, entity.id))


def _dangling_edge_types(
    merged: Catalog, known: Mapping[TypeId, EntityType], prefer: Preferences
) -> Iterable[SchemaConflict]:
    """Yield a conflict for each edge type whose node type was dropped."""
    nodes = {node.id for node in merged.nodes}
    for edge in merged.edges:
        for end in dict.fromkeys((edge.source, edge.target)):
            if end in nodes:
                continue
            node = known[end]
            if prefer.keys() & {SchemaIssue(IssueKind.DROP, end), SchemaIssue(IssueKind.NAME, end)}:
                description = f"its endpoint {node.name} was dropped"
                yield SchemaConflict(edge, description, SchemaIssue(IssueKind.DROP, edge.id))
            else:
                description = f"one side dropped it, but {edge.name} uses it"
                yield SchemaConflict(node, description, SchemaIssue(IssueKind.DROP, end))


def _undisputed(
    dangling: Iterable[SchemaConflict], conflicts: Sequence[SchemaConflict], merged: Catalog
) -> list[SchemaConflict]:
    """Select the conflicts that do not depend on the resolution of others."""
    disputed = {conflict.entity.id for conflict in conflicts}
    disputed |= {edge.id for edge in merged.edges if {edge.source, edge.target} & disputed}
    return [conflict for conflict in dangling if conflict.entity.id not in disputed]


def _folded(entity: EntityType) -> str:
    return entity.name.casefold() if isinstance(entity, EdgeType) else entity.name


def _validate(merged: Catalog, ours: Catalog) -> list[SchemaConflict]:
    """Check the merged schema like any other: each side alone was valid."""
    try:
        source = Source(print_catalog(merged), "<merged schema>")
        build_catalog(parse_schema(source), source, previous=merged)
    except (SchemaFailure, KeyError) as error:
        culprit = next(iter({**merged.types, **ours.types}.values()))
        description = f"the merged schema is invalid: {error}"
        return [
            SchemaConflict(culprit, description, SchemaIssue(IssueKind.UNRESOLVABLE, culprit.id))
        ]
    return []
