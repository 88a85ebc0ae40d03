"""Format migration plans: one line per step, with its code, checks and, if refused, remedy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, assert_never

from omnigraph.catalog.codes import MEANINGS
from omnigraph.catalog.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeConstraint,
    ChangeInterfaces,
    ChangeNullability,
    ChangeType,
    CheckKind,
    DropConstraint,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    NarrowEnum,
    RenameProperty,
    RenameType,
    TypeKind,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.datatypes.types import spell_type
from omnigraph.language.lexer import quote_string

if TYPE_CHECKING:
    from omnigraph.catalog.steps import ConstraintDefinition, DataCheck, MigrationPlan, Step

__all__ = ["describe_check", "describe_step", "render_plan"]

_MODES = {
    DropMode.SOFT: "older commits still contain it",
    DropMode.HARD: "permanent: the next cleanup also removes its data from older commits",
}


def render_plan(plan: MigrationPlan) -> str:
    """Format a plan as text."""
    if not plan.steps:
        return "No changes."
    lines: list[str] = []
    for step in plan.steps:
        lines += _lines(step)
    count = len(plan.steps)
    verdict = "" if plan.supported else f", {len(plan.refusals)} refused: nothing can be applied"
    return "\n".join([*lines, f"{count} step{'s' if count != 1 else ''}{verdict}."])


def _lines(step: Step) -> list[str]:
    lines = [f"{_mark(step)} {describe_step(step)}"]
    if isinstance(step, UnsupportedChange):
        lines.append(f"    because {step.reason}")
    elif step.code:
        lines[0] += f" [{step.code.value}: {MEANINGS[step.code]}]"
    lines += [f"    check first: {describe_check(check)}" for check in step.checks]
    if isinstance(step, UnsupportedChange):
        lines.append(f"    help: {step.remedy}")
    return lines


def _mark(step: Step) -> str:
    """Return ``+`` for additions, ``-`` for drops, ``!`` for refusals, else ``~``."""
    match step:
        case AddType() | AddProperty() | AddConstraint():
            return "+"
        case DropType() | DropProperty() | DropConstraint():
            return "-"
        case UnsupportedChange():
            return "!"
        case _:
            return "~"


def describe_step(step: Step) -> str:
    """Describe a step in one line."""
    match step:
        case AddType() | RenameType() | DropType() | UpdateTypeMetadata():
            return _describe_type_step(step)
        case ChangeCardinality():
            return f"edge {step.type_name}: {_card(step.old)} becomes {_card(step.new)}"
        case ChangeInterfaces():
            return f"node {step.type_name}: implements {', '.join(step.new) or 'nothing'}"
        case AddConstraint() | DropConstraint():
            return f"{step.type_name}: {_rule(step.rule)}"
        case ChangeConstraint():
            return f"{step.type_name}: {_rule(step.old)} becomes {_rule(step.new)}"
        case UnsupportedChange():
            code = f" [{step.code.value}]" if step.code else ""
            return f"{step.entity}: cannot {step.change.replace('_', ' ')}{code}"
        case _:
            return _describe_property_step(step)


def _describe_type_step(step: AddType | RenameType | DropType | UpdateTypeMetadata) -> str:
    what = f"{step.element.kind.value} {step.type_name}"
    match step:
        case AddType():
            return what
        case RenameType():
            return f"{step.element.kind.value} {step.old_name} is renamed to {step.type_name}"
        case DropType():
            return f"{what} ({_MODES[step.mode]})"
        case UpdateTypeMetadata():
            changed = "declaration" if step.element.kind is TypeKind.INTERFACE else "annotations"
            return f"{what}: {changed}"
        case _:
            assert_never(step)


def _describe_property_step(
    step: AddProperty
    | RenameProperty
    | DropProperty
    | ChangeType
    | ExtendEnum
    | NarrowEnum
    | ChangeNullability
    | UpdatePropertyMetadata,
) -> str:
    what = f"{step.type_name}.{step.prop.name}"
    match step:
        case AddProperty():
            spelled = spell_type(step.prop.dtype, nullable=step.prop.nullable)
            value = json.dumps(step.prop.default) if step.expression is None else step.expression
            return f"{what}: {spelled}{f', {value} in existing rows' if step.backfill else ''}"
        case RenameProperty():
            return f"{step.type_name}.{step.old_name} is renamed to {step.prop.name}"
        case DropProperty():
            return f"{what} ({_MODES[step.mode]})"
        case ChangeType():
            return f"{what}: {spell_type(step.old)} becomes {spell_type(step.new)}"
        case ExtendEnum():
            return f"{what}: the enum gets {', '.join(step.added)}"
        case NarrowEnum():
            gets = f" and gets {', '.join(step.added)}" if step.added else ""
            return f"{what}: the enum loses {', '.join(step.removed)}{gets}"
        case ChangeNullability():
            filled = "" if step.expression is None else f", {step.expression} where it is null"
            return f"{what}: becomes {'optional' if step.nullable else 'required'}{filled}"
        case UpdatePropertyMetadata():
            return f"{what}: annotations"
        case _:
            assert_never(step)


def describe_check(check: DataCheck) -> str:
    """Describe a condition on the data as a clause."""
    where = check.type_name
    if check.property_names:
        where += f".{check.property_names[0]}"
    match check.kind:
        case CheckKind.NO_ROWS:
            return f"{where} has no entities"
        case CheckKind.NO_NULLS:
            return f"{where} is never null"
        case CheckKind.NO_DUPLICATES:
            return f"no two {check.type_name} have the same {', '.join(check.property_names)}"
        case CheckKind.VALUES_IN:
            return f"{where} is one of {', '.join(check.values)}"
        case CheckKind.IN_RANGE:
            return f"{where} is within {_bounds(check.low, check.high)}"
        case CheckKind.MATCHES:
            return f"{where} matches {quote_string(check.pattern or '')}"
        case CheckKind.CARDINALITY:
            high = "*" if check.high is None else check.high
            return f"every source has {check.low}..{high} edges {where}"
        case _:
            assert_never(check.kind)


def _rule(rule: ConstraintDefinition) -> str:
    args = list(rule.member_names)
    if rule.name == "range":
        args.append(_bounds(rule.low, rule.high))
    if rule.pattern is not None:
        args.append(quote_string(rule.pattern))
    return f"@{rule.name}({', '.join(args)})"


def _bounds(low: int | float | None, high: int | float | None) -> str:
    return f"{'' if low is None else low}..{'' if high is None else high}"


def _card(card: tuple[int, int | None]) -> str:
    return f"@card({card[0]}..{'*' if card[1] is None else card[1]})"
