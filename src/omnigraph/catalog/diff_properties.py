"""Plan the changes of one property, with their risks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.canonical import same_annotations
from omnigraph.catalog.codes import MigrationCode
from omnigraph.catalog.steps import (
    ChangeNullability,
    ChangeType,
    CheckKind,
    DataCheck,
    ExtendEnum,
    NarrowEnum,
    RenameProperty,
    UnsupportedChange,
    UpdatePropertyMetadata,
)
from omnigraph.datatypes.types import (
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    spell_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import Property
    from omnigraph.catalog.steps import SchemaElement, Step
    from omnigraph.datatypes.types import DataType

__all__ = ["diff_property", "is_lossless"]

# Every value of a key type is exactly representable in each of its wider types.
_WIDER: dict[Scalar, tuple[Scalar, ...]] = {
    Scalar.I32: (Scalar.I64, Scalar.F64),
    Scalar.U32: (Scalar.U64, Scalar.I64, Scalar.F64),
    Scalar.F32: (Scalar.F64,),
}


def is_lossless(old: DataType, new: DataType) -> bool:
    """Return whether every value of one type is a value of another."""
    match old, new:
        case ScalarType(before), ScalarType(after):
            return after in _WIDER.get(before, ())
        case ListType(before), ListType(after):
            return after in _WIDER.get(before, ())
        case EnumType(), ScalarType(Scalar.STRING):
            return True
        case _:
            return False


def diff_property(
    old: Property,
    new: Property,
    element: SchemaElement,
    *,
    embeds_otherwise: bool,
    fill_nulls_from: str | None = None,
) -> Iterator[Step]:
    """Yield the steps from one state of a property to another; ``element`` is its type.

    ``embeds_otherwise``: new embeddings would differ from the stored ones.
    ``fill_nulls_from``: the expression that replaces nulls when the property becomes required.
    """
    if old.name != new.name:
        yield RenameProperty(element=element, prop=new, old_name=old.name)
    if old.dtype != new.dtype:
        yield _change_type(old, new, element)
    if old.nullable != new.nullable:
        tighter = not new.nullable
        yield ChangeNullability(
            element=element,
            prop=new,
            code=MigrationCode.TIGHTEN_NULLABILITY if tighter else None,
            checks=(_check(CheckKind.NO_NULLS, new, element),) if tighter else (),
            nullable=new.nullable,
            expression=fill_nulls_from if tighter else None,
        )
    if not same_annotations(old.annotations, new.annotations):
        yield UpdatePropertyMetadata(
            element=element,
            prop=new,
            code=MigrationCode.STALE_EMBEDDING if embeds_otherwise else None,
            annotations=new.annotations,
        )


def _change_type(old: Property, new: Property, element: SchemaElement) -> Step:
    match old.dtype, new.dtype:
        case EnumType(before), EnumType(after):
            return _change_enum(set(before), set(after), new, element)
        case ScalarType(Scalar.STRING), EnumType(values):
            return ChangeType(
                element=element,
                prop=new,
                code=MigrationCode.CHANGE_TYPE,
                checks=(_check(CheckKind.VALUES_IN, new, element, values=values),),
                old=old.dtype,
                new=new.dtype,
            )
        case _ if is_lossless(old.dtype, new.dtype):
            return ChangeType(element=element, prop=new, old=old.dtype, new=new.dtype)
        case _:
            return _refuse_type(old, new, element)


def _change_enum(before: set[str], after: set[str], new: Property, element: SchemaElement) -> Step:
    added, removed = tuple(sorted(after - before)), tuple(sorted(before - after))
    if not removed:
        return ExtendEnum(element=element, prop=new, added=added)
    return NarrowEnum(
        element=element,
        prop=new,
        code=MigrationCode.CHANGE_TYPE,
        checks=(_check(CheckKind.VALUES_IN, new, element, values=tuple(sorted(after))),),
        added=added,
        removed=removed,
    )


def _refuse_type(old: Property, new: Property, element: SchemaElement) -> Step:
    vectors = isinstance(old.dtype, VectorType) and isinstance(new.dtype, VectorType)
    return UnsupportedChange(
        element=element,
        code=MigrationCode.CHANGE_DIMENSION if vectors else MigrationCode.CHANGE_TYPE,
        change="change_type",
        property_name=new.name,
        reason=f"values of {spell_type(old.dtype)} may not fit {spell_type(new.dtype)}",
        remedy=(
            "declare another vector property and embed into it, then drop this one"
            if vectors
            else "declare another property, fill it with an update, then drop this one"
        ),
    )


def _check(
    kind: CheckKind, prop: Property, element: SchemaElement, *, values: tuple[str, ...] = ()
) -> DataCheck:
    return DataCheck(
        kind=kind,
        type_id=element.id,
        type_name=element.name,
        properties=(prop.id,),
        property_names=(prop.name,),
        values=values,
    )
