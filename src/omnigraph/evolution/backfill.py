"""Backfills: the values of a new or required property in existing rows.

In ``{"Person.full_name": 'first + " " + last'}`` a word is another property of the same type,
before the change; a constant is JSON, so text needs quotes (``'"unknown"'``); ``expressions``
defines the rest. A value that is not text is a constant itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.backfill import match_backfill
from omnigraph.datatypes.types import Scalar, ScalarType, spell_type
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.errors import SchemaFailure
from omnigraph.evolution.expressions import (
    Coalesce,
    Concatenation,
    Constant,
    Expression,
    ExpressionSyntaxError,
    PropertyName,
    parse_expression,
)
from omnigraph.evolution.row_migration import (
    CoalesceFill,
    ConcatFill,
    ConstantFill,
    CopyFill,
    Fill,
    fits,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog, EntityType, Property, PropertyId

__all__ = ["Backfill", "parse_backfill"]

_TEXT = ScalarType(Scalar.STRING)


@dataclass(frozen=True)
class Backfill:
    """Parsed entries for properties that need values; ``unwanted`` lists the other entries.

    ``spelled`` holds the original text of each entry."""

    fills: Mapping[PropertyId, Fill]
    spelled: Mapping[PropertyId, str]
    unwanted: tuple[str, ...]

    def require_wanted(self) -> None:
        for place in self.unwanted:
            raise SchemaFailure(
                "schema.backfill_unwanted",
                f"backfill of {place}: no row lacks a value",
                remedy="leave it out: only new and newly required properties need one",
            )


def parse_backfill(given: object, accepted: Catalog, desired: Catalog) -> Backfill:
    """Parse a backfill, or raise a ``SchemaFailure`` that names the entry and its problem."""
    entries = match_backfill(given, accepted, desired)
    return Backfill(
        {
            entry.prop.id: _parse_fill(entry.place, entry.value, entry.prop, entry.before)
            for entry in entries.wanted
        },
        entries.spelled,
        entries.unwanted,
    )


def _parse_fill(place: str, value: Any, prop: Property, before: EntityType) -> Fill:
    if prop.dtype == ScalarType(Scalar.BLOB):
        raise _type_mismatch(place, "blobs are not backfilled")
    if not isinstance(value, str):
        return _constant(place, value, prop)
    try:
        expression = parse_expression(value)
    except ExpressionSyntaxError:
        raise SchemaFailure(
            "schema.backfill_expression",
            f"backfill of {place}: {value!r:.200} is not an expression",
            remedy="name a property, write a constant as JSON (text needs its own quotes), join "
            'texts (first + " " + last), or take the first value that exists: coalesce(nick, name)',
        ) from None
    return _fill(place, expression, prop, before)


def _fill(place: str, expression: Expression, prop: Property, before: EntityType) -> Fill:
    match expression:
        case PropertyName(name):
            return _copy(place, name, prop, before)
        case Constant(value):
            return _constant(place, value, prop)
        case Concatenation(parts):
            if prop.dtype != _TEXT:
                raise _type_mismatch(
                    place, f"`+` joins texts only, and it is {spell_type(prop.dtype)}"
                )
            return ConcatFill(tuple(_fill(place, part, prop, before) for part in parts))
        case Coalesce(options):
            return CoalesceFill(tuple(_fill(place, option, prop, before) for option in options))


def _constant(place: str, value: Any, prop: Property) -> ConstantFill:
    try:
        return ConstantFill(coerce_json(value, prop.dtype, nullable=False))
    except ValueProblem as problem:
        raise SchemaFailure(
            "schema.backfill_value",
            f"backfill of {place}: {problem.message}",
            remedy=f"give a value of {spell_type(prop.dtype)}",
        ) from None


def _copy(place: str, name: str, prop: Property, before: EntityType) -> CopyFill:
    source = before.find(name)
    if source is None:
        raise SchemaFailure(
            "schema.backfill_source",
            f"backfill of {place}: {before.name} has no property {name!r} before the change",
            remedy="name a property that the type has before the change",
        )
    if not fits(source.dtype, prop.dtype):
        old, new = spell_type(source.dtype), spell_type(prop.dtype)
        raise _type_mismatch(place, f"a value of {name} ({old}) may not fit {new}")
    return CopyFill(source)


def _type_mismatch(place: str, why: str) -> SchemaFailure:
    return SchemaFailure(
        "schema.backfill_type",
        f"backfill of {place}: {why}",
        remedy="fill it with an update after the change, or load the values",
    )
