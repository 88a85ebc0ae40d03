"""Two schemas that came from one, as one: by identity, definition by definition.

What only one side changed is taken; what both changed alike is taken; sets of rules and of enum
values are merged member by member. Where both changed one thing differently, somebody has to
choose: until then ours stays, and the clash is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.catalog.source import print_catalog
from omnigraph.datatypes.types import EnumType
from omnigraph.errors import SchemaFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from omnigraph.catalog.model import EntityType, Property, TypeId
    from omnigraph.datatypes.types import DataType

__all__ = ["Clash", "Preferences", "merge_catalogs"]

T = TypeVar("T")


@dataclass
class Preferences:
    """What somebody chose, by type: True for theirs, False for ours.

    ``clashes``: where both sides changed a definition. ``drops``: whether what one side dropped
    shall be gone, although the other side has been using it.
    """

    clashes: dict[TypeId, bool] = field(default_factory=dict)
    drops: dict[TypeId, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clash:
    """A type about which the two schemas do not agree. ``choosable``: one side can be preferred."""

    entity: EntityType
    about: tuple[str, ...]
    choosable: bool = True


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
    clashes = [*merging.clashes, *_twice(found)]
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
        drop = self._prefer.drops.get(known.id)
        if drop is not None and (ours is None or theirs is None):
            return theirs if drop else ours
        if drop is None and theirs in (ours, base):
            return ours
        if drop is None and ours == base:
            return theirs
        picker = _Picker(self._prefer.clashes.get(known.id), drop)
        if ours is None or theirs is None or base is None:
            chosen = picker.pick("dropped by one side, changed by the other", base, ours, theirs)
            merged: EntityType | None = chosen
        else:
            merged = _merge_entity(base, ours, theirs, picker)
        if picker.clashing:
            self.clashes.append(Clash(known, tuple(picker.clashing)))
        return merged

    def interfaces(self, base: Catalog, ours: Catalog, theirs: Catalog) -> tuple[Any, ...]:
        """Interfaces have no rows: where both changed one, ours stays."""
        by_name = [{each.name: each for each in c.interfaces} for c in (base, ours, theirs)]
        picker = _Picker(prefer_theirs=False, drop_as_theirs=None)
        names = {**by_name[1], **by_name[2]}
        chosen = [picker.pick(name, *(side.get(name) for side in by_name)) for name in names]
        return tuple(each for each in chosen if each is not None)


class _Picker:
    """Picks between the states of one thing after the other."""

    def __init__(self, prefer_theirs: bool | None, drop_as_theirs: bool | None) -> None:  # noqa: FBT001 - or nobody said
        self._prefer_theirs = prefer_theirs
        self._drop_as_theirs = drop_as_theirs
        self.clashing: list[str] = []

    def pick(self, about: str, base: T, ours: T, theirs: T) -> T:
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        if self._prefer_theirs is None:
            self.clashing.append(about)
        return theirs if self._prefer_theirs else ours

    def dtype(self, about: str, base: DataType, ours: DataType, theirs: DataType) -> DataType:
        match base, ours, theirs:
            case EnumType(before), EnumType(mine), EnumType(other):
                return EnumType(tuple(sorted(_members(before, mine, other))))
            case _:
                return self.pick(about, base, ours, theirs)

    def _keep_or_drop(self, about: str, states: tuple[T | None, T | None, T | None]) -> T | None:
        """As ``pick``; where one side dropped something, a choice about that goes first."""
        base, ours, theirs = states
        if self._drop_as_theirs is not None and base is not None and None in (ours, theirs):
            return theirs if self._drop_as_theirs else ours
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
            chosen = self._keep_or_drop(about(key), (before, mine, other))
            if chosen is not None:
                found.append(chosen)
        return found


def _merge_entity(
    base: EntityType, ours: EntityType, theirs: EntityType, picker: _Picker
) -> EntityType:
    states = (base, ours, theirs)
    names = {prop.id: prop.name for each in states for prop in each.properties}

    def name_of(key: Any) -> str:
        return f"property {names.get(key, key)}"

    properties = picker.keyed(
        name_of,
        [{prop.id: prop for prop in each.properties} for each in states],
        lambda before, mine, other: _merge_property((before, mine, other), picker),
    )
    left = {prop.id for prop in properties} | {"@src", "@dst"}
    ranges = picker.keyed(
        lambda key: f"@range of {name_of(key)}",
        [{rule.prop: rule for rule in each.ranges} for each in states],
    )
    merged: EntityType = replace(
        ours,
        name=picker.pick("name", *(each.name for each in states)),
        properties=tuple(properties),
        uniques=tuple(_with_members_in(_members(*(each.uniques for each in states)), left)),
        indexes=tuple(_with_members_in(_members(*(each.indexes for each in states)), left)),
        ranges=tuple(rule for rule in ranges if rule.prop in left),
        checks=tuple(
            rule for rule in _members(*(each.checks for each in states)) if rule.prop in left
        ),
        key=picker.pick("key", *(each.key for each in states)),
        annotations=picker.pick("annotations", *(each.annotations for each in states)),
    )
    return _merge_kind(merged, states, picker)


def _merge_kind(
    merged: EntityType, states: tuple[EntityType, EntityType, EntityType], picker: _Picker
) -> EntityType:
    """What only nodes or only edges have."""
    match merged, *states:
        case NodeType() as node, NodeType() as base, NodeType() as ours, NodeType() as theirs:
            found = picker.pick("interfaces", base.interfaces, ours.interfaces, theirs.interfaces)
            return replace(node, interfaces=found)
        case EdgeType() as edge, EdgeType() as base, EdgeType() as ours, EdgeType() as theirs:
            low, high = picker.pick(
                "@card", *((each.card_low, each.card_high) for each in (base, ours, theirs))
            )
            source, target = picker.pick(
                "endpoints", *((each.source, each.target) for each in (base, ours, theirs))
            )
            return replace(edge, card_low=low, card_high=high, source=source, target=target)
        case _:
            return merged


def _merge_property(states: tuple[Property, Property, Property], picker: _Picker) -> Property:
    base, ours, theirs = states

    def about(what: str) -> str:
        return f"{what} of property {ours.name}"

    return replace(
        ours,
        name=picker.pick(about("name"), base.name, ours.name, theirs.name),
        dtype=picker.dtype(about("type"), base.dtype, ours.dtype, theirs.dtype),
        nullable=picker.pick(about("nullability"), base.nullable, ours.nullable, theirs.nullable),
        annotations=picker.pick(
            about("annotations"), base.annotations, ours.annotations, theirs.annotations
        ),
    )


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
    """Names and columns that both sides gave to something of their own."""
    names = Counter(_folded(entity) for entity in entities)
    for entity in entities:
        about = ["name, which both sides gave away"] if names[_folded(entity)] > 1 else []
        for what in ("name", "column"):
            told = Counter(getattr(prop, what) for prop in entity.properties)
            about += [f"{what} {each} of two properties" for each, n in told.items() if n > 1]
        if about:
            yield Clash(entity, tuple(about), choosable=False)


def _folded(entity: EntityType) -> str:
    return entity.name.casefold() if isinstance(entity, EdgeType) else entity.name


def _broken(merged: Catalog, ours: Catalog) -> list[Clash]:
    """Each side was well formed; the merged schema is held against the same rules."""
    try:
        source = Source(print_catalog(merged), "<merged schema>")
        build_catalog(parse_schema(source), source, previous=merged)
    except (SchemaFailure, KeyError) as error:
        culprit = next(iter({**merged.types, **ours.types}.values()))
        return [Clash(culprit, (f"the schema as a whole: {error}",), choosable=False)]
    return []
