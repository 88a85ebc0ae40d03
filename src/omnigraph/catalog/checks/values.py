"""Validate ranges, patterns, cardinality and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.catalog.matching import PatternTooExpensive, matches, parse_pattern
from omnigraph.catalog.patterns import pattern_problem
from omnigraph.datatypes.types import (
    INTEGER_RANGES,
    STRING,
    EnumType,
    Scalar,
    ScalarType,
    is_numeric,
    spell_type,
)
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.datatypes.types import DataType
    from omnigraph.datatypes.values import Value
    from omnigraph.language.pg.ast import Annotation, Constraint, PropertyDecl, RangeBound

__all__ = ["CHECKS"]


# --- ranges ------------------------------------------------------------------------------------


def check_range_types(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("range"):
            if not is_numeric(prop.dtype):
                yield Diagnostic(
                    SchemaCode.RANGE_TYPE,
                    f"{draft.spell(prop)} is not a number",
                    constraint.span,
                    "`@range` takes I32, I64, U32, U64, F32 and F64",
                )


def check_range_bounds(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft, constraint, prop, bound in _numeric_ranges(schema):
        for side in (bound.low, bound.high):
            if side is not None and not _in_domain(side, prop.dtype):
                yield Diagnostic(
                    SchemaCode.RANGE_BOUND,
                    f"{side!r} is not a value of {draft.spell(prop)}",
                    constraint.span,
                    _domain_remedy(prop.dtype),
                )


def check_range_order(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for _, constraint, _, bound in _numeric_ranges(schema):
        if bound.low is not None and bound.high is not None and bound.low > bound.high:
            yield Diagnostic(
                SchemaCode.EMPTY_RANGE,
                f"no number is both at least {bound.low!r} and at most {bound.high!r}",
                constraint.span,
                f"write `{bound.high!r}..{bound.low!r}`",
            )


def check_single_range(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        known: dict[str, Constraint] = {}
        for constraint, prop in draft.constraints_of("range"):
            first = known.setdefault(prop.name, constraint)
            if first.bound != constraint.bound:
                yield Diagnostic(
                    SchemaCode.SEVERAL_RANGES,
                    f"`{draft.name}.{prop.name}` has a second range",
                    constraint.span,
                    "keep the narrower one",
                )


def _numeric_ranges(
    schema: SchemaDraft,
) -> Iterator[tuple[AnyDraft, Constraint, PropertyDecl, RangeBound]]:
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("range"):
            if constraint.bound is not None and is_numeric(prop.dtype):
                yield draft, constraint, prop, constraint.bound


def _in_domain(side: int | float, dtype: DataType) -> bool:
    if isinstance(side, float) and isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES:
        return False
    try:
        coerce_json(side, dtype)
    except ValueProblem:
        return False
    return True


def _domain_remedy(dtype: DataType) -> str:
    if isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES:
        low, high = INTEGER_RANGES[dtype.scalar]
        return f"use integers from {low} to {high}, or leave the side open"
    return "use a number that the type can represent, or leave the side open"


# --- patterns ----------------------------------------------------------------------------------


def check_check_types(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("check"):
            if prop.dtype != STRING:
                yield Diagnostic(
                    SchemaCode.CHECK_TYPE,
                    f"{draft.spell(prop)} is not a String",
                    constraint.span,
                    "`@check` takes String; use an enum for a closed set, `@range` for numbers",
                )


def check_patterns(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for constraint, _ in draft.constraints_of("check"):
            if reason := pattern_problem(constraint.pattern or ""):
                yield Diagnostic(
                    SchemaCode.CHECK_PATTERN,
                    f"this pattern cannot be used: {reason}",
                    constraint.span,
                    "use constructs that Python, RE2 and Java share; the whole value must match",
                )


# --- cardinality -------------------------------------------------------------------------------


def check_cardinality(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.edges:
        card = draft.decl.cardinality
        if card and card.high is not None and (card.low > card.high or card.high == 0):
            yield Diagnostic(
                SchemaCode.EMPTY_CARDINALITY,
                f"no source can have edges within {card.low}..{card.high}",
                card.span,
                "write the smaller number first, and at least 1 last: `@card(0..1)`, `@card(1..*)`",
            )


# --- defaults ----------------------------------------------------------------------------------


def check_default_types(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft, prop, annotation in _defaults(schema):
        if not _can_default(prop.dtype):
            yield Diagnostic(
                SchemaCode.DEFAULT_TYPE,
                f"{draft.spell(prop)} cannot have a default",
                annotation.span,
                "defaults are for scalars other than Blob, and for enums",
            )


def check_default_values(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft, prop, annotation in _defaults(schema):
        if not _can_default(prop.dtype):
            continue
        try:
            coerce_json(annotation.args[0], prop.dtype)
        except ValueProblem as problem:
            yield Diagnostic(
                SchemaCode.DEFAULT_VALUE,
                f"the default of `{draft.name}.{prop.name}` is invalid: {problem.message}",
                annotation.span,
                f"write a value of {spell_type(prop.dtype)}; dates and datetimes are strings",
            )


def check_defaults_satisfy_constraints(schema: SchemaDraft) -> Iterator[Diagnostic]:
    """Require defaults that satisfy the constraints of the rows that they are written to."""
    defaults = {
        (draft.name, prop.name): annotation for draft, prop, annotation in _defaults(schema)
    }
    for draft in schema.types:
        for constraint, prop in draft.constraints_of("range", "check"):
            annotation = defaults.get((draft.name, prop.name))
            if annotation and (reason := _default_problem(annotation, prop, constraint)):
                yield Diagnostic(
                    SchemaCode.DEFAULT_BREAKS_RULE,
                    f"the default of `{draft.name}.{prop.name}` {reason} its `@{constraint.name}`",
                    annotation.span,
                    "change the default or the constraint",
                )


def _default_problem(
    annotation: Annotation, prop: PropertyDecl, constraint: Constraint
) -> str | None:
    try:
        satisfied = _satisfies(coerce_json(annotation.args[0], prop.dtype), constraint)
    except ValueProblem:
        return None
    except PatternTooExpensive:
        return "takes too long to match against"
    return None if satisfied else "violates"


def _satisfies(value: Value, constraint: Constraint) -> bool:
    if isinstance(value, str) and constraint.pattern is not None:
        usable = pattern_problem(constraint.pattern) is None
        return not usable or matches(parse_pattern(constraint.pattern), value)
    bound = constraint.bound
    if bound is None or isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return (bound.low is None or bound.low <= value) and (bound.high is None or value <= bound.high)


def _can_default(dtype: DataType) -> bool:
    return isinstance(dtype, EnumType) or (
        isinstance(dtype, ScalarType) and dtype.scalar is not Scalar.BLOB
    )


def _defaults(schema: SchemaDraft) -> Iterator[tuple[AnyDraft, PropertyDecl, Annotation]]:
    for draft in schema.types:
        for prop in draft.properties:
            for annotation in prop.annotations:
                if annotation.name == "default" and annotation.args:
                    yield draft, prop, annotation


CHECKS = (
    check_range_types,
    check_range_bounds,
    check_range_order,
    check_single_range,
    check_check_types,
    check_patterns,
    check_cardinality,
    check_default_types,
    check_default_values,
    check_defaults_satisfy_constraints,
)
