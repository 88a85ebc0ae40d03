"""Parameters: from what a caller passes to typed values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from omnigraph.compiler import bind_params
from omnigraph.datatypes.types import (
    DATE,
    DATETIME,
    I64,
    STRING,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.errors import TypeFailure
from omnigraph.ir.queries import MutationIR, ParamSpec


def query(**params: DataType) -> MutationIR:
    """A query whose parameters are optional where their name ends in ``_``."""
    specs = tuple(
        ParamSpec(name, dtype, nullable=name.endswith("_")) for name, dtype in params.items()
    )
    return MutationIR("q", specs, (), (), ())


def test_values_take_the_declared_types() -> None:
    declared = query(
        big=I64,
        day=DATE,
        at=DATETIME,
        photo=ScalarType(Scalar.BLOB),
        tags=ListType(Scalar.STRING),
        v=VectorType(2),
    )
    given = {
        "big": "9223372036854775807",
        "day": "2025-01-02",
        "at": "2025-01-02T03:04:05+01:00",
        "photo": "base64:aGk=",
        "tags": ["a", "b"],
        "v": [1, 0.5],
    }
    assert bind_params(declared, given) == {
        "big": 2**63 - 1,
        "day": dt.date(2025, 1, 2),
        "at": dt.datetime(2025, 1, 2, 2, 4, 5, tzinfo=dt.UTC),
        "photo": b"hi",
        "tags": ["a", "b"],
        "v": [1.0, 0.5],
    }


def test_cells_of_arrays_and_data_frames_are_values() -> None:
    f32 = ScalarType(Scalar.F32)
    given = {
        "big": np.int64(7),
        "half": np.float32(0.5),
        "day": np.datetime64("2025-01-02"),
        "tags": np.array(["a", "b"]),
    }
    bound = bind_params(
        query(big=I64, half=f32, day=DATE, tags=ListType(Scalar.STRING)),
        given,
    )
    assert bound == {"big": 7, "half": 0.5, "day": dt.date(2025, 1, 2), "tags": ["a", "b"]}
    assert type(bound["big"]) is int


def test_an_optional_parameter_that_is_not_given_is_null() -> None:
    assert bind_params(query(a_=STRING, b_=I64), {"b_": None}) == {"a_": None, "b_": None}


def test_names_may_carry_their_dollar() -> None:
    assert bind_params(query(a=STRING), {"$a": "x"}) == {"a": "x"}


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({}, "param.missing", "`$age: I64` is missing"),
        ({"age": "old"}, "param.type", '`$age: I64`: "old"'),
        ({"age": None}, "param.type", "`$age: I64`: null"),
        ({"age": 1, "size": 2}, "param.unknown", "`$size` is not a parameter of query `q`"),
    ],
)
def test_one_problem_gives_its_own_code(given: dict[str, object], code: str, message: str) -> None:
    with pytest.raises(TypeFailure) as caught:
        bind_params(query(age=I64), given)
    assert caught.value.code == code
    assert caught.value.message.startswith(message)
    assert caught.value.remedy == "the query is declared as q($age: I64)"


@pytest.mark.parametrize("given", [None, [], "age", 3, {1: 2}])
def test_what_is_not_an_object_is_refused(given: object) -> None:
    with pytest.raises(TypeFailure) as caught:
        bind_params(query(age=I64), given)  # type: ignore[arg-type] # JSON may hold anything
    assert caught.value.code == "param.type"
    assert caught.value.message.startswith("the parameters of query `q`")


def test_a_misspelled_name_gets_a_suggestion() -> None:
    with pytest.raises(TypeFailure) as caught:
        bind_params(query(label_=STRING), {"lable_": "x"})
    assert caught.value.code == "param.unknown"
    assert caught.value.remedy == "did you mean `label_`?"


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(TypeFailure) as caught:
        bind_params(query(a=STRING, b=I64, c_=DATE), {"b": True, "c_": "soon", "d": 1})
    assert caught.value.code == "param.invalid"
    assert [
        (problem["code"], problem["param"]) for problem in caught.value.details["problems"]
    ] == [
        ("param.missing", "a"),
        ("param.type", "b"),
        ("param.type", "c_"),
        ("param.unknown", "d"),
    ]
    assert "`$c_: Date?`" in caught.value.message
