"""Two schemas that came from one, as one: by identity, definition by definition.

What only one side changed is taken; what both changed alike is taken; sets of rules and of enum
values are merged member by member. Where both changed one thing differently, or gave one name to
two things, somebody has to choose: until then ours stays, and the clash is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.diff_properties import is_lossless
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
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from omnigraph.catalog.model import EntityType, Interface, Property

__all__ = ["About", "Clash", "Issue", "Preferences", "merge_catalogs", "type_issue"]

T = TypeVar("T")
# What has wider and narrower types.
_SIZED = (ScalarType, ListType)


class About(StrEnum):
    """What a preference for one side decides."""

    # Both sides changed one thing of a definition.
    CLASH = "clash"
    # One side dropped what the other one uses.
    DROP = "drop"
    # Both sides gave one name to different types.
    NAME = "name"
    # Nothing: one of the schemas has to be changed first.
    NOTHING = ""


class Issue(NamedTuple):
    """One thing to choose about. ``part`` is what of the type it is about, in words; of a drop it
    is the property, by identity. Nothing means the type as a whole."""

    decides: About
    type: TypeId
    part: str = ""


# What somebody chose: True for theirs, False for ours.
Preferences: TypeAlias = "Mapping[Issue, bool]"


@frozen
class Clash:
    """Something about which the two schemas do not agree."""

    entity: EntityType
    story: str
    issue: Issue


def merge_catalogs(
    base: Catalog, ours: Catalog, theirs: Catalog, prefer: Preferences
) -> tuple[Catalog, list[Clash]]:
    """The merged schema, and the clashes that nobody has chosen about."""
    merging = _Merging(prefer)
    found: list[EntityType] = []
    order = {**ours.types, **theirs.types, **base.types}
    for type_id in order:
        states = (base.types.get(type_id), ours.types.get(type_id), theirs.types.get(type_id))
        entity = merging.entity(*states)
        if entity is not None:
            found.append(entity)
    merged = Catalog(
        merging.interfaces(base, ours, theirs),
        tuple(entity for entity in found if isinstance(entity, NodeType)),
        tuple(entity for entity in found if isinstance(entity, EdgeType)),
    )
    merged = replace(merged, retired=retired_ids(merged, (base, ours, theirs)))
    clashes = [*merging.clashes, *_twice(found)]
    clashes = clashes or list(_unattached(merged, order, prefer))
    return merged, clashes or _broken(merged, ours)


class _Merging:
    """One merge: what is preferred, and what was found to clash."""

    def __init__(self, prefer: Preferences) -> None:
        self._prefer = prefer
        self.clashes: list[Clash] = []

    def entity(
        self, base: EntityType | None, ours: EntityType | None, theirs: EntityType | None
    ) -> EntityType | None:
        known = ours or theirs
        if known is None:
            return None
        drop = self._prefer.get(Issue(About.DROP, known.id))
        name = self._prefer.get(Issue(About.NAME, known.id))
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
        assert known is not None  # noqa: S101 - asked by ``entity``
        is_asked = any(
            issue.type == known.id and issue.decides is not About.NAME for issue in self._prefer
        )
        if not is_asked and theirs in (ours, base):
            return ours
        if not is_asked and ours == base:
            return theirs if ours is None or theirs is None else _as_wide_as(theirs, ours)
        picker = _Picker(known.id, self._prefer)
        if ours is None or theirs is None:
            merged: EntityType | None = picker.pick("it", base, ours, theirs)
        else:
            merged = _merge_entity(base or _blank(ours), ours, theirs, picker)
        self.clashes += [Clash(known, story, issue) for issue, story in picker.clashing.items()]
        return merged

    def interfaces(self, base: Catalog, ours: Catalog, theirs: Catalog) -> tuple[Interface, ...]:
        """Interfaces have no rows: where both changed one thing of them, ours stays."""
        picker = _Picker(TypeId(""), {}, otherwise=False)
        return tuple(
            picker.keyed(
                str,
                [{each.name: each for each in side.interfaces} for side in (base, ours, theirs)],
                lambda *states: _merge_interface(states, picker),
            )
        )


class _Picker:
    """Picks between the states of one thing after the other."""

    def __init__(
        self, type_id: TypeId, prefer: Preferences, *, otherwise: bool | None = None
    ) -> None:
        """``otherwise`` is the choice where nobody made one."""
        self._type_id = type_id
        self._prefer = prefer
        self._otherwise = otherwise
        # What nobody has chosen about, with its story.
        self.clashing: dict[Issue, str] = {}

    def pick(self, about: str, base: T, ours: T, theirs: T) -> T:
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        return theirs if self._prefers_theirs(about, _story(about, base, ours, theirs)) else ours

    def _prefers_theirs(self, about: str, story: str) -> bool | None:
        issue = Issue(About.CLASH, self._type_id, about)
        chosen = self._prefer.get(issue, self._otherwise)
        if chosen is None:
            self.clashing[issue] = story
        return chosen

    def dtype(self, about: str, base: DataType, ours: DataType, theirs: DataType) -> DataType:
        match base, ours, theirs:
            case EnumType(before), EnumType(mine), EnumType(other):
                return EnumType(tuple(sorted(_members(before, mine, other))))
            case _ if isinstance(theirs, _SIZED) and is_lossless(theirs, ours):
                # Never narrower: values that one side may have written must fit.
                return ours
            case _ if isinstance(ours, _SIZED) and is_lossless(ours, theirs):
                return theirs
            case _:
                # Also where one side alone changed it: the other may have values that do not fit.
                chosen = self._prefer.get(Issue(About.CLASH, self._type_id, about))
                if chosen is not None:
                    return theirs if chosen else ours
                return self.pick(about, base, ours, theirs)

    def _keep_or_drop(
        self, about: str, key: Any, states: tuple[T | None, T | None, T | None]
    ) -> T | None:
        """As ``pick``; where one side dropped something, a choice about that goes first."""
        base, ours, theirs = states
        dropped_as_theirs = self._prefer.get(Issue(About.DROP, self._type_id, str(key)))
        if dropped_as_theirs is not None and base is not None and None in (ours, theirs):
            return theirs if dropped_as_theirs else ours
        return self.pick(about, base, ours, theirs)

    def keyed(
        self,
        about: Callable[[Any], str],
        states: Sequence[Mapping[Any, T]],
        merge: Callable[[T, T, T], T] | None = None,
    ) -> list[T]:
        """Things by key: each picked by itself, in the order of ours, then of theirs."""
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

    def named_once(
        self, properties: Sequence[Property], ours: EntityType, theirs: EntityType
    ) -> list[Property]:
        """Of two properties with one name, the side that is preferred has its own. What the other
        one is called then may be the name of a third: each name is looked at once."""
        found, asked = list(properties), set[str]()
        while True:
            names = Counter(prop.name for prop in found)
            twice = {name for name, count in names.items() if count > 1} - asked
            if not twice:
                return found
            asked |= twice
            seen = [
                self._named(prop, ours, theirs) if prop.name in twice else prop for prop in found
            ]
            found = [prop for prop in seen if prop is not None]

    def _named(self, prop: Property, ours: EntityType, theirs: EntityType) -> Property | None:
        about = f"name {prop.name} of two properties"
        story = f"both sides gave the name {prop.name} to a property of their own"
        chosen = self._prefers_theirs(about, story)
        if chosen is None:
            return prop
        known = (theirs if chosen else ours).by_id.get(prop.id)
        return None if known is None else replace(prop, name=known.name)


def _story(about: str, base: Any, ours: Any, theirs: Any) -> str:
    """What the two sides did to one thing."""
    if base is None:
        return f"both sides made {about}, and not the same"
    if ours is None or theirs is None:
        return f"one side dropped {about}, and the other changed it"
    told = [_spelled(each) for each in (ours, theirs)]
    which = f": ours {told[0]}, theirs {told[1]}" if None not in told else ""
    return f"both sides changed {about}, and not the same{which}"


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
        # Where a property lies is no part of what it is: each side may have had its reasons.
        [
            {
                prop.id: replace(prop, column=columns.get(prop.id, prop.column))
                for prop in each.properties
            }
            for each in states
        ],
        lambda before, mine, other: _merge_property((before, mine, other), picker),
    )
    properties = picker.named_once(properties, ours, theirs)
    left = {prop.id for prop in properties} | {"@src", "@dst"}
    ruled = [_with_rules_of_dropped(each, base) for each in states]
    ranges = picker.keyed(
        lambda key: f"the @range of {name_of(key)}",
        [{rule.prop: rule for rule in each.ranges} for each in ruled],
    )
    merged: EntityType = replace(
        ours,
        name=picker.pick("its name", *(each.name for each in states)),
        properties=_with_own_columns(properties, ours),
        uniques=tuple(_with_members_in(_members(*(each.uniques for each in ruled)), left)),
        indexes=tuple(_with_members_in(_members(*(each.indexes for each in ruled)), left)),
        ranges=tuple(rule for rule in ranges if rule.prop in left),
        checks=tuple(
            rule for rule in _members(*(each.checks for each in ruled)) if rule.prop in left
        ),
        key=picker.pick("its key", *(each.key for each in states)),
        annotations=picker.pick("its annotations", *(each.annotations for each in states)),
    )
    return _merge_kind(merged, states, picker)


def _with_rules_of_dropped(side: EntityType, base: EntityType) -> EntityType:
    """A side that dropped a property has not spoken against its rules: they go or stay with it."""
    dropped = base.by_id.keys() - side.by_id.keys()
    if not dropped:
        return side
    uniques = (group for group in base.uniques if not dropped.isdisjoint(group))
    indexes = (group for group in base.indexes if not dropped.isdisjoint(group))
    ruled: EntityType = replace(
        side,
        uniques=(*side.uniques, *uniques),
        indexes=(*side.indexes, *indexes),
        ranges=(*side.ranges, *(rule for rule in base.ranges if rule.prop in dropped)),
        checks=(*side.checks, *(rule for rule in base.checks if rule.prop in dropped)),
    )
    return ruled


def _blank(entity: EntityType) -> EntityType:
    """What two sides began with that made one thing of their own: its name and key."""
    rules: dict[str, Any] = dict.fromkeys(
        ("properties", "uniques", "indexes", "ranges", "checks"), ()
    )
    bare: EntityType = replace(entity, **rules, annotations=NO_ANNOTATIONS)
    if isinstance(bare, EdgeType):
        return replace(bare, card_low=0, card_high=None)
    return replace(bare, interfaces=())


def _as_wide_as(entity: EntityType, other: EntityType) -> EntityType:
    """A definition that loses no value of another one by a narrower type."""
    properties = []
    for prop in entity.properties:
        known = other.by_id.get(prop.id)
        if known is not None and isinstance(prop.dtype, _SIZED):
            wider = known.dtype if is_lossless(prop.dtype, known.dtype) else prop.dtype
            properties.append(replace(prop, dtype=wider))
        else:
            properties.append(prop)
    widened: EntityType = replace(entity, properties=tuple(properties))
    return widened


def _merge_kind(
    merged: EntityType, states: tuple[EntityType, EntityType, EntityType], picker: _Picker
) -> EntityType:
    """What only nodes or only edges have."""
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


def type_issue(entity: EntityType, prop: Property) -> Issue:
    """The choice between two types of a property; entity and property as ours has them."""
    return Issue(About.CLASH, entity.id, _about("type", prop))


def _about(what: str, ours: Property) -> str:
    return f"the {what} of property {ours.name}"


def _merge_interface(states: Sequence[Interface], picker: _Picker) -> Interface:
    base, ours, theirs = states
    properties = picker.keyed(
        str, [{prop.name: prop for prop in each.properties} for each in states]
    )
    names = {prop.name for prop in properties}
    constraints = _members(base.constraints, ours.constraints, theirs.constraints)
    return replace(
        ours,
        properties=tuple(properties),
        constraints=tuple(each for each in constraints if names.issuperset(each[1])),
        annotations=picker.pick(
            "annotations", base.annotations, ours.annotations, theirs.annotations
        ),
    )


def _with_own_columns(properties: Sequence[Property], ours: EntityType) -> tuple[Property, ...]:
    """Two properties may have been born with one column, each on its side: ours keeps it."""
    taken = {prop.column for prop in properties if prop.id in ours.by_id}
    found = []
    for prop in properties:
        if prop.id not in ours.by_id and prop.column in taken:
            found.append(replace(prop, column=f"{prop.name}__{prop.id}"))
        else:
            found.append(prop)
    return tuple(found)


def _members(base: Iterable[T], ours: Iterable[T], theirs: Iterable[T]) -> list[T]:
    """Sets, member by member: what a side added is in, what a side removed is out."""
    before, mine, other = list(base), list(ours), list(theirs)
    kept = [each for each in mine if each in other or each not in before]
    return [*kept, *(each for each in other if each not in before and each not in mine)]


def _with_members_in(
    groups: Iterable[tuple[Any, ...]], known: set[Any]
) -> Iterable[tuple[Any, ...]]:
    """Rules whose properties are all there: a rule goes with its property."""
    return (group for group in groups if set(group) <= known)


def _twice(entities: Sequence[EntityType]) -> Iterable[Clash]:
    """Names that both sides gave to a type of their own."""
    names = Counter(_folded(entity) for entity in entities)
    for entity in entities:
        if names[_folded(entity)] > 1:
            story = f"both sides gave the name {entity.name} to a type of their own"
            yield Clash(entity, story, Issue(About.NAME, entity.id))


def _unattached(
    merged: Catalog, known: Mapping[TypeId, EntityType], prefer: Preferences
) -> Iterable[Clash]:
    """Edges whose nodes are gone: either the nodes come back, or the edges go too."""
    nodes = {node.id for node in merged.nodes}
    for edge in merged.edges:
        for end in dict.fromkeys((edge.source, edge.target)):
            if end in nodes:
                continue
            node = known[end]
            if prefer.keys() & {Issue(About.DROP, end), Issue(About.NAME, end)}:
                story = f"its nodes are {node.name}, which was dropped"
                yield Clash(edge, story, Issue(About.DROP, edge.id))
            else:
                story = f"one side dropped it, and {edge.name} needs it"
                yield Clash(node, story, Issue(About.DROP, end))


def _folded(entity: EntityType) -> str:
    return entity.name.casefold() if isinstance(entity, EdgeType) else entity.name


def _broken(merged: Catalog, ours: Catalog) -> list[Clash]:
    """Each side was well formed; the merged schema is held against the same rules."""
    try:
        source = Source(print_catalog(merged), "<merged schema>")
        build_catalog(parse_schema(source), source, previous=merged)
    except (SchemaFailure, KeyError) as error:
        culprit = next(iter({**merged.types, **ours.types}.values()))
        story = f"the schema as a whole: {error}"
        return [Clash(culprit, story, Issue(About.NOTHING, culprit.id))]
    return []
