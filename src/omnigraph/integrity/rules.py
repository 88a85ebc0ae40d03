"""The rules of a type, derived from the catalog, as data that evaluators interpret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.model import DST, SRC, EdgeType
from omnigraph.datatypes.types import FLOATS, EnumType, ListType, ScalarType, VectorType
from omnigraph.frozen import frozen
from omnigraph.memoized import memoized

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType, Property, TypeId

__all__ = [
    "Cardinality",
    "Endpoint",
    "Finite",
    "InRange",
    "Key",
    "Matches",
    "Member",
    "NoNullItems",
    "Required",
    "Rule",
    "Unique",
    "WholeVector",
    "rules_of",
]


@frozen
class Required:
    """The property has a value."""

    prop: Property
    name = "required"


@frozen
class Member:
    """The value is one of the enum's."""

    prop: Property
    values: tuple[str, ...]
    name = "enum"


@frozen
class InRange:
    """The value lies between the bounds, inclusive; a missing bound is open."""

    prop: Property
    low: int | float | None
    high: int | float | None
    name = "range"


@frozen
class Matches:
    """The whole value matches the pattern."""

    prop: Property
    pattern: str
    name = "check"


@frozen
class Finite:
    """A float, or every item of a list of floats, is neither NaN nor infinite."""

    prop: Property
    name = "finite"


@frozen
class NoNullItems:
    """A list contains no NULL."""

    prop: Property
    name = "list"


@frozen
class WholeVector:
    """A vector is finite and not all zero: neither has a direction."""

    prop: Property
    name = "vector"


@frozen
class Key:
    """Ids are unique in the batch and on the branch; the mode determines the effect of a clash."""

    members: tuple[Property, ...]
    name = "key"


@frozen
class Unique:
    """No two entities share these values; a NULL among them never clashes."""

    members: tuple[Property, ...]
    name = "unique"


@frozen
class Endpoint:
    """The node that an edge refers to exists."""

    prop: Property
    node_type: TypeId
    name = "endpoint"


@frozen
class Cardinality:
    """The number of edges of the type that may leave one source node."""

    low: int
    high: int | None
    source: TypeId
    name = "cardinality"


Rule = (
    Required
    | Member
    | InRange
    | Matches
    | Finite
    | NoNullItems
    | WholeVector
    | Key
    | Unique
    | Endpoint
    | Cardinality
)


@memoized
def rules_of(entity: EntityType) -> tuple[Rule, ...]:
    """Return every rule of a type, cheap ones first."""
    rules: list[Rule] = []
    for prop in entity.properties:
        if not prop.nullable:
            rules.append(Required(prop))
        match prop.dtype:
            case EnumType(values):
                rules.append(Member(prop, values))
            case ScalarType(scalar) if scalar in FLOATS:
                rules.append(Finite(prop))
            case ListType(item):
                rules.append(NoNullItems(prop))
                if item in FLOATS:
                    rules.append(Finite(prop))
            case VectorType():
                rules.append(WholeVector(prop))
            case _:
                pass
    by_id = entity.by_id
    rules += [InRange(by_id[r.prop], r.low, r.high) for r in entity.ranges]
    rules += [Matches(by_id[c.prop], c.pattern) for c in entity.checks]
    rules.append(Key(tuple(by_id[member] for member in entity.key or ())))
    rules += [Unique(tuple(by_id[member] for member in group)) for group in entity.uniques]
    if isinstance(entity, EdgeType):
        rules += [Endpoint(SRC, entity.source), Endpoint(DST, entity.target)]
        if entity.card_low > 0 or entity.card_high is not None:
            rules.append(Cardinality(entity.card_low, entity.card_high, entity.source))
    return tuple(rules)
