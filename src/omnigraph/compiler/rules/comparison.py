"""T7: the two sides of a comparison have types that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_null
from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import how_to_write
from omnigraph.datatypes.types import (
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    is_numeric,
    spell_type,
)
from omnigraph.ir import expressions as ir

if TYPE_CHECKING:
    from omnigraph.compiler.literals import LiteralMismatch
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule(
    "T7", "The two sides of a comparison, or a parameter and its property, have fitting types."
)

_EQUALITY = frozenset({ir.CompareOp.EQ, ir.CompareOp.NE})


def check_null(operand: TypedOperand) -> Diagnostic | None:
    """Null is equal to nothing, so comparing with it cannot be meant."""
    if not is_null(operand):
        return None
    return RULE.broken(operand.span, "nothing is equal to null", "write `is null` or `is not null`")


def check_single(operand: TypedOperand) -> Diagnostic | None:
    """Entities, lists and vectors are not compared as a whole."""
    match operand.dtype:
        case None:
            return entity(operand.span)
        case ListType():
            return RULE.broken(
                operand.span,
                "a whole list cannot be compared",
                "ask for one item: `$x.list contains item`",
            )
        case VectorType():
            return RULE.broken(
                operand.span,
                "vectors cannot be compared",
                "compare their distance: `nearest($x.vector, $q) < 0.2`",
            )
        case _:
            return None


def check_types(
    op: ir.CompareOp, left: TypedOperand, right: TypedOperand, span: Span
) -> Diagnostic | None:
    """Both sides are checked operands with literals already fitted."""
    assert left.dtype is not None  # noqa: S101 - narrowing; see check_single
    assert right.dtype is not None  # noqa: S101 - narrowing; see check_single
    if not comparable(left.dtype, right.dtype):
        return RULE.broken(
            span,
            f"{describe(left)} cannot be compared with {describe(right)}",
            _remedy(left.expr, right.expr),
        )
    if op not in _EQUALITY and EnumType in (type(left.dtype), type(right.dtype)):
        return RULE.broken(
            span,
            f"the members of an enum have no order, so `{op}` means nothing here",
            "list the members: `in [ … ]`",
        )
    return None


def comparable(left: DataType, right: DataType) -> bool:
    """Whether values of the two types can be compared without a cast."""
    if left == right or (is_numeric(left) and is_numeric(right)):
        return True
    if isinstance(left, ListType) and isinstance(right, ListType):
        return comparable(ScalarType(left.item), ScalarType(right.item))
    return is_text(left) and is_text(right)


def entity(span: Span) -> Diagnostic:
    """A variable stands where a value is needed."""
    return RULE.broken(
        span, "a whole entity is not a value to compare", "compare a property, or `$x.id`"
    )


def unlike_entities(op: str, span: Span, *, same: bool) -> Diagnostic:
    """Two entities of different types, or an order of entities."""
    if same:
        return RULE.broken(span, f"entities have no order, so `{op}` means nothing here", "use `=`")
    return RULE.broken(
        span, "entities of two types are never the same", "compare properties: `$a.name = $b.name`"
    )


def misfit(other: DataType, span: Span, why: LiteralMismatch) -> Diagnostic:
    """A literal that has no place beside the other side."""
    name = "an enum" if isinstance(other, EnumType) else spell_type(other)
    return RULE.broken(
        span,
        f"cannot be compared with {name}: {why.reason}",
        why.remedy or f"write {how_to_write(other)}",
    )


def no_list(options: TypedOperand) -> Diagnostic:
    """``in`` looks into a list."""
    return RULE.broken(
        options.span,
        f"`in` looks into a list, and this is {describe(options)}",
        "write `in [ … ]`, or declare the parameter as a list: `[String]`",
    )


def wrong_item(item: TypedOperand, options: TypedOperand) -> Diagnostic:
    """The list holds values of another type."""
    return RULE.broken(
        item.span,
        f"{describe(item)} cannot be an item of {describe(options)}",
        "look for a value of the type that the list holds",
    )


def other_option(option: TypedOperand, wanted: DataType) -> Diagnostic:
    """A parameter in a list of options has another type than what is looked for."""
    return RULE.broken(
        option.span,
        f"{spell_type(wanted)} is never equal to {describe(option)}",
        f"declare the parameter as {_declared(wanted)}",
    )


def no_haystack(op: str, operand: TypedOperand) -> Diagnostic:
    """``contains`` and ``starts_with`` look into something."""
    wanted = "a String or a list" if op == "contains" else "a String"
    return RULE.broken(
        operand.span,
        f"`{op}` looks into {wanted}, and this is {describe(operand)}",
        "compare it with `=`, `<` or `in [ … ]`",
    )


def no_needle(op: str, operand: TypedOperand) -> Diagnostic:
    """The text searched for in a String is a String."""
    return RULE.broken(
        operand.span,
        f"`{op}` looks for a String here, and this is {describe(operand)}",
        "write the text in quotes, or declare the parameter as String",
    )


def parameter(name: str, dtype: DataType, value: TypedOperand) -> Diagnostic:
    """A parameter, or another value that is no literal, does not fit a property."""
    remedy = f"give a value of {_declared(dtype)}: a literal or a parameter"
    if isinstance(value.expr, ir.ParamRef):
        remedy = f"declare it as `${value.expr.name}: {_declared(dtype)}`"
    return RULE.broken(
        value.span,
        f"property `{name}` is {spell_type(dtype)} and cannot take {describe(value)}",
        remedy,
    )


def is_text(dtype: DataType | None) -> bool:
    """Whether values of the type are strings."""
    return dtype == STRING or isinstance(dtype, EnumType)


def _declared(dtype: DataType) -> str:
    """The type of a parameter that takes such values."""
    return spell_type(STRING if isinstance(dtype, EnumType) else dtype)


def _remedy(left: ir.Expr, right: ir.Expr) -> str:
    for one, other in ((left, right), (right, left)):
        wanted = ir.type_of(other)
        if isinstance(one, ir.ParamRef) and wanted is not None:
            return f"declare the parameter as `${one.name}: {_declared(wanted)}`"
    both = {ir.type_of(left), ir.type_of(right)}
    if both == {ScalarType(Scalar.DATE), ScalarType(Scalar.DATETIME)}:
        return "a Date is a day and a DateTime an instant: compare like with like"
    return "compare values of one type"
