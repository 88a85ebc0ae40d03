"""Types and their spelling."""

from __future__ import annotations

import pytest

from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    VectorType,
    is_numeric,
    spell_type,
)


@pytest.mark.parametrize(
    ("dtype", "spelled"),
    [
        (STRING, "String"),
        (EnumType(("a", "b-c")), "enum(a, b-c)"),
        (ListType(Scalar.I32), "[I32]"),
        (VectorType(3), "Vector(3)"),
    ],
)
def test_types_are_spelled_as_in_the_languages(dtype: DataType, spelled: str) -> None:
    assert spell_type(dtype) == spelled
    assert spell_type(dtype, nullable=True) == f"{spelled}?"


def test_only_scalars_with_an_order_and_a_sum_are_numeric() -> None:
    dtypes: list[DataType] = [
        STRING,
        BOOL,
        DATE,
        I64,
        F64,
        EnumType(("1",)),
        ListType(Scalar.I32),
        VectorType(2),
    ]
    assert [is_numeric(dtype) for dtype in dtypes] == [
        False,
        False,
        False,
        True,
        True,
        False,
        False,
        False,
    ]
