"""T3: a literal fits the property that it is matched with or assigned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import how_to_write
from omnigraph.datatypes.types import VectorType, spell_type

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.compiler.literals import LiteralMismatch
    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T3", "A literal fits the type of the property that it is matched with or assigned to.")


def misfit(prop: Property, span: Span, why: LiteralMismatch) -> Diagnostic:
    """The value is of another type, out of range, badly spelled or no member of the enum."""
    message = f"property `{prop.name}` is {spell_type(prop.dtype)}: {why.reason}"
    if len(message) > 120:
        message = f"property `{prop.name}`: {why.reason}"
    return RULE.broken(span, message, why.remedy or f"write {how_to_write(prop.dtype)}")


def malformed(span: Span, why: LiteralMismatch) -> Diagnostic:
    """The literal has no type at all."""
    return RULE.broken(span, why.reason, why.remedy or "write a smaller number")


def null_in_filter(prop: Property, span: Span) -> Diagnostic:
    """A filter that compares with null never holds."""
    return RULE.broken(
        span,
        f"`{prop.name}: null` never matches: nothing is equal to null",
        f"add a clause of its own: `$x.{prop.name} is null`",
    )


def check_null(entity: EntityType, prop: Property, value: TypedOperand) -> Diagnostic | None:
    """Null is assigned to nullable properties only."""
    if prop.nullable:
        return None
    remedy = "give a value"
    if prop.name in entity.by_name and prop.id not in (entity.key or ()):
        optional = spell_type(prop.dtype, nullable=True)
        remedy = f"give a value, or declare it `{optional}` in the schema"
    return RULE.broken(value.span, f"property `{prop.name}` is required and cannot be null", remedy)


def list_in_filter(prop: Property, span: Span) -> Diagnostic:
    """Lists are matched by one of their items, vectors by their distance."""
    if isinstance(prop.dtype, VectorType):
        return RULE.broken(
            span,
            f"property `{prop.name}` is a vector and cannot be matched",
            "rank by distance: `order { nearest(…) }`",
        )
    return RULE.broken(
        span,
        f"property `{prop.name}` cannot be compared with a whole list",
        "give one item to ask whether the list holds it",
    )


def check_dimension(prop: Property, dimension: int, span: Span) -> Diagnostic | None:
    """A vector literal has as many numbers as the property."""
    if not isinstance(prop.dtype, VectorType) or prop.dtype.dim == dimension:
        return None
    return RULE.broken(
        span,
        f"property `{prop.name}` is {spell_type(prop.dtype)}, but there are {dimension} numbers",
        f"write {prop.dtype.dim} numbers",
    )
