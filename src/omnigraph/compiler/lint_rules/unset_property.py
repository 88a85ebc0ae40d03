"""L201: a type is updated, but one of its optional properties never is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile
from omnigraph.language.gq.ast import Mutation, Update

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import EntityType, Property

RULE = LintRule("L201", "Every optional property of an updated type is set by some update.")


def check(file: QueryFile) -> Iterator[Finding]:
    """One finding for each property, at the first update of its type."""
    for entity, updates in _updates_by_type(file):
        assigned = {change.prop for _, update in updates for change in update.assignments}
        names = tuple(dict.fromkeys(name for name, _ in updates))
        for prop in entity.properties:
            if prop.name in assigned or not _is_expected(entity, prop):
                continue
            diagnostic = RULE.warning(
                updates[0][1].type_span,
                f"`{entity.name}.{prop.name}` is optional, and no update query sets it",
                f"add it to an update of `{entity.name}`, or drop it from the schema",
            )
            yield Finding(diagnostic, names, entity.name, prop.name, file_wide=True)


def _updates_by_type(file: QueryFile) -> list[tuple[EntityType, list[tuple[str, Update]]]]:
    """The updates of each type with the names of their queries; broken queries do not count."""
    updates: dict[str, tuple[EntityType, list[tuple[str, Update]]]] = {}
    for checked in file.queries:
        body = checked.query.body
        if checked.lowered is None or not isinstance(body, Mutation):
            continue
        for statement in body.statements:
            entity = file.catalog.entity(statement.type_name)
            if isinstance(statement, Update) and entity is not None:
                found = updates.setdefault(entity.name, (entity, []))
                found[1].append((checked.query.name, statement))
    return list(updates.values())


def _is_expected(entity: EntityType, prop: Property) -> bool:
    """Keys cannot be updated, and embedded vectors are set by the system."""
    in_key = prop.id in (entity.key or ())
    return prop.nullable and not in_key and prop.annotations.get("embed") is None
