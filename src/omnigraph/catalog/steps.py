"""Define the steps of a migration plan.

A step describes a change, has the code of its risk if there is one, and lists the conditions that
the data must meet before it runs. ``UnsupportedChange`` represents a change that is refused. Names
are those of the desired schema, except in drops.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from omnigraph.catalog.canonical import annotations_json
from omnigraph.datatypes.types import spell_type
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.catalog.codes import MigrationCode
    from omnigraph.catalog.model import Annotations, Property, PropertyId, TypeId
    from omnigraph.datatypes.types import DataType

__all__ = [
    "AddConstraint",
    "AddProperty",
    "AddType",
    "ChangeCardinality",
    "ChangeConstraint",
    "ChangeInterfaces",
    "ChangeNullability",
    "ChangeType",
    "CheckKind",
    "ConstraintDefinition",
    "DataCheck",
    "DropConstraint",
    "DropMode",
    "DropProperty",
    "DropType",
    "ExtendEnum",
    "MigrationPlan",
    "NarrowEnum",
    "RenameProperty",
    "RenameType",
    "SchemaElement",
    "Step",
    "TypeKind",
    "UnsupportedChange",
    "UpdatePropertyMetadata",
    "UpdateTypeMetadata",
]


class TypeKind(StrEnum):
    """Kinds of declarations in a schema."""

    INTERFACE = "interface"
    NODE = "node"
    EDGE = "edge"


class DropMode(StrEnum):
    """How a drop treats older commits.

    Soft: they keep the data until they expire. Hard: the next cleanup removes it from them,
    regardless of retention."""

    SOFT = "soft"
    HARD = "hard"


class CheckKind(StrEnum):
    """Conditions on the data before a step runs; nulls satisfy all but ``NO_NULLS``."""

    NO_ROWS = "no_rows"
    NO_NULLS = "no_nulls"
    NO_DUPLICATES = "no_duplicates"
    VALUES_IN = "values_in"
    IN_RANGE = "in_range"
    MATCHES = "matches"
    CARDINALITY = "cardinality"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCheck:
    """A condition on the rows of one type, by identity; the names are for messages."""

    kind: CheckKind
    type_id: TypeId
    type_name: str
    properties: tuple[PropertyId, ...] = ()
    property_names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    low: int | float | None = None
    high: int | float | None = None
    pattern: str | None = None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": self.kind.value, "type_name": self.type_name}
        if self.property_names:
            body["properties"] = list(self.property_names)
        if self.values:
            body["values"] = list(self.values)
        if self.kind in (CheckKind.IN_RANGE, CheckKind.CARDINALITY):
            body |= {"low": self.low, "high": self.high}
        if self.pattern is not None:
            body["pattern"] = self.pattern
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintDefinition:
    """A constraint: key, unique, index, range or check."""

    name: str
    members: tuple[PropertyId, ...]
    member_names: tuple[str, ...]
    low: int | float | None = None
    high: int | float | None = None
    pattern: str | None = None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.name, "properties": list(self.member_names)}
        if self.name == "range":
            body |= {"low": self.low, "high": self.high}
        if self.pattern is not None:
            body["pattern"] = self.pattern
        return body


@frozen
class SchemaElement:
    """The type that a step changes; the identity of an interface is empty."""

    kind: TypeKind
    id: TypeId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    kind: ClassVar[str]

    element: SchemaElement
    code: MigrationCode | None = None
    checks: tuple[DataCheck, ...] = ()

    @property
    def type_id(self) -> TypeId:
        return self.element.id

    @property
    def type_name(self) -> str:
        return self.element.name

    def to_json(self) -> dict[str, Any]:
        """Serialise the step for ``--json`` and HTTP."""
        body: dict[str, Any] = {"kind": self.kind, "type_kind": self.element.kind.value}
        body |= self._details()
        if self.code:
            body["code"] = self.code.value
        if self.checks:
            body["checks"] = [check.to_json() for check in self.checks]
        return body

    def _details(self) -> dict[str, Any]:
        return {"name": self.type_name}


# --- types -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AddType(_Step):
    kind = "add_type"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameType(_Step):
    kind = "rename_type"

    old_name: str

    def _details(self) -> dict[str, Any]:
        return {"from": self.old_name, "to": self.type_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class DropType(_Step):
    kind = "drop_type"

    mode: DropMode

    def _details(self) -> dict[str, Any]:
        return {"name": self.type_name, "mode": self.mode.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCardinality(_Step):
    kind = "change_cardinality"

    old: tuple[int, int | None]
    new: tuple[int, int | None]

    def _details(self) -> dict[str, Any]:
        return {"name": self.type_name, "from": list(self.old), "to": list(self.new)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInterfaces(_Step):
    """Changes the interfaces of a node; their properties have separate steps."""

    kind = "change_interfaces"

    old: tuple[str, ...]
    new: tuple[str, ...]

    def _details(self) -> dict[str, Any]:
        return {"name": self.type_name, "from": list(self.old), "to": list(self.new)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTypeMetadata(_Step):
    """Changes the annotations of a type, or any part of an interface."""

    kind = "update_type_metadata"

    annotations: Annotations

    def _details(self) -> dict[str, Any]:
        return {"name": self.type_name, "annotations": annotations_json(self.annotations)}


# --- properties --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _PropertyStep(_Step):
    # From the desired schema; in a drop, from the accepted one.
    prop: Property

    def _location_json(self) -> dict[str, Any]:
        return {"type_name": self.type_name, "property_name": self.prop.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProperty(_PropertyStep):
    """Adds a property.

    With ``backfill``, existing rows get the value of the expression, else the default; without it
    they get null, or there are none."""

    kind = "add_property"

    backfill: bool
    expression: str | None = None

    def _details(self) -> dict[str, Any]:
        spelled = spell_type(self.prop.dtype, nullable=self.prop.nullable)
        body = self._location_json() | {"property_type": spelled}
        if self.expression is not None:
            return body | {"backfill_from": self.expression}
        return body | {"backfill": self.prop.default} if self.backfill else body


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProperty(_PropertyStep):
    kind = "rename_property"

    old_name: str

    def _details(self) -> dict[str, Any]:
        return {"type_name": self.type_name, "from": self.old_name, "to": self.prop.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProperty(_PropertyStep):
    kind = "drop_property"

    mode: DropMode

    def _details(self) -> dict[str, Any]:
        return self._location_json() | {"mode": self.mode.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeType(_PropertyStep):
    kind = "change_type"

    old: DataType
    new: DataType

    def _details(self) -> dict[str, Any]:
        ends = {"from": spell_type(self.old), "to": spell_type(self.new)}
        return self._location_json() | ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendEnum(_PropertyStep):
    kind = "extend_enum"

    added: tuple[str, ...]

    def _details(self) -> dict[str, Any]:
        return self._location_json() | {"added_values": list(self.added)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowEnum(_PropertyStep):
    kind = "narrow_enum"

    added: tuple[str, ...]
    removed: tuple[str, ...]

    def _details(self) -> dict[str, Any]:
        values = {"added_values": list(self.added), "removed_values": list(self.removed)}
        return self._location_json() | values


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeNullability(_PropertyStep):
    """Makes a property optional or required; ``expression`` replaces nulls first."""

    kind = "change_nullability"

    nullable: bool
    expression: str | None = None

    def _details(self) -> dict[str, Any]:
        body = self._location_json() | {"nullable": self.nullable}
        return body if self.expression is None else body | {"backfill_from": self.expression}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePropertyMetadata(_PropertyStep):
    kind = "update_property_metadata"

    annotations: Annotations

    def _details(self) -> dict[str, Any]:
        found = {"annotations": annotations_json(self.annotations)}
        return self._location_json() | found


# --- constraints -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint(_Step):
    kind = "add_constraint"

    rule: ConstraintDefinition

    def _details(self) -> dict[str, Any]:
        return {"type_name": self.type_name, "constraint": self.rule.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(_Step):
    kind = "drop_constraint"

    rule: ConstraintDefinition

    def _details(self) -> dict[str, Any]:
        return {"type_name": self.type_name, "constraint": self.rule.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeConstraint(_Step):
    """Replaces the range of a property."""

    kind = "change_constraint"

    old: ConstraintDefinition
    new: ConstraintDefinition

    def _details(self) -> dict[str, Any]:
        ends = {"from": self.old.to_json(), "to": self.new.to_json()}
        return {"type_name": self.type_name} | ends


# --- refusals ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedChange(_Step):
    """A refused change; ``change`` is the kind of the refused step."""

    kind = "unsupported_change"

    change: str
    property_name: str | None = None
    reason: str
    remedy: str

    @property
    def entity(self) -> str:
        """Return the changed element: ``node Person`` or ``node Person.age``."""
        suffix = f".{self.property_name}" if self.property_name else ""
        return f"{self.element.kind.value} {self.type_name}{suffix}"

    def _details(self) -> dict[str, Any]:
        return {
            "entity": self.entity,
            "change": self.change,
            "reason": self.reason,
            "remedy": self.remedy,
        }


Step: TypeAlias = (
    AddType
    | RenameType
    | DropType
    | ChangeCardinality
    | ChangeInterfaces
    | UpdateTypeMetadata
    | AddProperty
    | RenameProperty
    | DropProperty
    | ChangeType
    | ExtendEnum
    | NarrowEnum
    | ChangeNullability
    | UpdatePropertyMetadata
    | AddConstraint
    | DropConstraint
    | ChangeConstraint
    | UnsupportedChange
)


@frozen
class MigrationPlan:
    """Steps in the order of execution; none runs when one is unsupported."""

    steps: tuple[Step, ...]

    @property
    def refusals(self) -> tuple[UnsupportedChange, ...]:
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    @property
    def supported(self) -> bool:
        return not self.refusals

    @property
    def checks(self) -> tuple[DataCheck, ...]:
        """Return all conditions on the data."""
        return tuple(dict.fromkeys(check for step in self.steps for check in step.checks))

    def to_json(self) -> dict[str, Any]:
        return {
            "supported": self.supported,
            "step_count": len(self.steps),
            "steps": [step.to_json() for step in self.steps],
        }
