"""Typing of the values that a mutation assigns, by the same rules as a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import DST, SRC
from omnigraph.changeset.rows import entity_id
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.integrity.violations import Report, Violation
from omnigraph.loading.identity import key_members

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType, PropertyId
    from omnigraph.changeset.rows import Row

__all__ = ["assigned", "entity_id_of"]

_SHOWN_MAX = 120
_RULES = {"value.member": "enum", "value.null": "list"}


def assigned(entity: EntityType, prop_id: PropertyId, value: Any) -> Any:
    """Convert a value to the type of its property; a parameter may have a wider type."""
    prop = entity.by_id[prop_id]
    given = list(value) if isinstance(value, tuple) else value
    try:
        return coerce_json(given, prop.dtype, nullable=True)
    except ValueProblem as problem:
        shown = given[:_SHOWN_MAX] if isinstance(given, str) else given
        violation = Violation(
            rule=_RULES.get(problem.code, "type"),
            message=problem.message,
            type=entity.name,
            property=prop.name,
            value=shown if isinstance(shown, str | int | float | bool) else None,
        )
    _refuse(violation)
    return None


def entity_id_of(entity: EntityType, row: Row) -> str:
    """Return the id of a row, whose key must be complete."""
    for member in key_members(entity):
        if row[member] is None:
            name = {SRC.id: "from", DST.id: "to"}.get(member, entity.by_id[member].name)
            _refuse(Violation("required", "a value is required", type=entity.name, property=name))
    return entity_id(entity, row)


def _refuse(violation: Violation) -> None:
    report = Report()
    report.add(violation)
    report.raise_if_any()
