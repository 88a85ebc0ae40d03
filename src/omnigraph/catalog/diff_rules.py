"""Plan the changes of constraints, except of the key, which cannot change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.codes import MigrationCode
from omnigraph.catalog.steps import (
    AddConstraint,
    ChangeConstraint,
    CheckKind,
    ConstraintDefinition,
    DataCheck,
    DropConstraint,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from omnigraph.catalog.model import EntityType, PropertyId
    from omnigraph.catalog.steps import SchemaElement, Step

__all__ = ["diff_rules"]

_RISK = {
    "unique": (MigrationCode.ADD_UNIQUE, CheckKind.NO_DUPLICATES),
    "range": (MigrationCode.TIGHTEN_RANGE, CheckKind.IN_RANGE),
    "check": (MigrationCode.ADD_CHECK, CheckKind.MATCHES),
}


def diff_rules(old: EntityType, new: EntityType, element: SchemaElement) -> Iterator[Step]:
    """Yield the steps from the constraints of one state of a type to those of another.

    Constraints of a dropped property are dropped with it, without a step.
    """
    before = {_identity(rule): rule for rule in _rules(old)}
    after = {_identity(rule): rule for rule in _rules(new)}
    live = {prop.id for prop in new.properties}
    known = {prop.id for prop in old.properties}
    for identity, rule in after.items():
        former = before.get(identity)
        if former is None:
            yield _added(rule, new, known, element)
        elif (former.low, former.high) != (rule.low, rule.high):
            yield _changed(former, rule, element)
    for identity, rule in before.items():
        if identity not in after and not _with_dropped(rule, old, live):
            yield DropConstraint(
                element=element,
                code=None if rule.name == "index" else MigrationCode.DROP_GUARANTEE,
                rule=rule,
            )


def _identity(rule: ConstraintDefinition) -> tuple[object, ...]:
    """Identify a rule without its bounds: a changed range is the same rule."""
    return rule.name, rule.members, rule.pattern


def _added(
    rule: ConstraintDefinition,
    new: EntityType,
    known: Collection[PropertyId],
    element: SchemaElement,
) -> Step:
    if not _can_be_violated(rule, new, known):
        return AddConstraint(element=element, rule=rule)
    code, _ = _RISK[rule.name]
    return AddConstraint(element=element, code=code, checks=(_check(rule, element),), rule=rule)


def _can_be_violated(
    rule: ConstraintDefinition, new: EntityType, known: Collection[PropertyId]
) -> bool:
    """Return whether existing rows could violate a rule.

    A new property is null in them, which violates nothing, or has its default, which satisfies
    ranges and patterns but repeats in every row.
    """
    if rule.name == "index":
        return False
    fresh = [new.by_name[name] for name in rule.member_names if name in new.by_name]
    fresh = [prop for prop in fresh if prop.id not in known]
    if any(prop.nullable for prop in fresh):
        return False
    return rule.name == "unique" or not fresh


def _changed(
    former: ConstraintDefinition, rule: ConstraintDefinition, element: SchemaElement
) -> Step:
    tighter = _is_tighter(former, rule)
    return ChangeConstraint(
        element=element,
        code=MigrationCode.TIGHTEN_RANGE if tighter else None,
        checks=(_check(rule, element),) if tighter else (),
        old=former,
        new=rule,
    )


def _is_tighter(former: ConstraintDefinition, rule: ConstraintDefinition) -> bool:
    raised = rule.low is not None and (former.low is None or rule.low > former.low)
    lowered = rule.high is not None and (former.high is None or rule.high < former.high)
    return raised or lowered


def _with_dropped(
    rule: ConstraintDefinition, old: EntityType, live: Collection[PropertyId]
) -> bool:
    declared = {prop.id for prop in old.properties}
    return any(member in declared and member not in live for member in rule.members)


def _check(rule: ConstraintDefinition, element: SchemaElement) -> DataCheck:
    _, kind = _RISK[rule.name]
    return DataCheck(
        kind=kind,
        type_id=element.id,
        type_name=element.name,
        properties=rule.members,
        property_names=rule.member_names,
        low=rule.low,
        high=rule.high,
        pattern=rule.pattern,
    )


def _rules(entity: EntityType) -> Iterator[ConstraintDefinition]:
    def rule(name: str, members: Iterable[PropertyId], **values: Any) -> ConstraintDefinition:
        found = tuple(members)
        names = tuple(entity.by_id[member].name for member in found)
        return ConstraintDefinition(name=name, members=found, member_names=names, **values)

    for members in entity.uniques:
        yield rule("unique", members)
    for members in entity.indexes:
        yield rule("index", members)
    for each in entity.ranges:
        yield rule("range", [each.prop], low=each.low, high=each.high)
    for check in entity.checks:
        yield rule("check", [check.prop], pattern=check.pattern)
