"""One key orders, compares and groups; three truths follow SQL."""

import datetime as dt
import itertools

import pytest

from omnigraph.datatypes.types import DATETIME, ListType, Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import CompareOp
from omnigraph.semantics.values import (
    all_of,
    any_of,
    canonical,
    compare,
    negate,
    sort_key,
)

NAN = float("nan")
TRUTHS = (True, False, None)


def test_null_comes_first_and_nan_last() -> None:
    values = [NAN, 3, None, float("inf"), -1.5, 2]
    assert sorted(values, key=sort_key)[:5] == [None, -1.5, 2, 3, float("inf")]
    assert sort_key(NAN) == sort_key(float("nan"))


def test_strings_go_by_code_point() -> None:
    assert sorted(["b", "a", "Z", "ä", "", "ab"], key=sort_key) == ["", "Z", "a", "ab", "b", "ä"]


def test_equal_numbers_have_equal_keys_whatever_their_type() -> None:
    assert sort_key(1) == sort_key(1.0)
    assert hash(sort_key(0.0)) == hash(sort_key(-0.0))


def test_integers_beyond_doubles_are_compared_exactly() -> None:
    assert compare(CompareOp.LT, 2.0**63, 2**63 + 1) is True
    assert compare(CompareOp.EQ, 2.0**63, 2**63 + 1) is False


@pytest.mark.parametrize("op", list(CompareOp))
def test_comparing_with_null_is_null(op: CompareOp) -> None:
    assert compare(op, None, 1) is None
    assert compare(op, 1, None) is None
    assert compare(op, None, None) is None


@pytest.mark.parametrize(
    ("op", "truths"),
    [
        (CompareOp.EQ, (False, True, False)),
        (CompareOp.NE, (True, False, True)),
        (CompareOp.LT, (True, False, False)),
        (CompareOp.LE, (True, True, False)),
        (CompareOp.GT, (False, False, True)),
        (CompareOp.GE, (False, True, True)),
    ],
)
def test_the_six_comparisons(op: CompareOp, truths: tuple[bool, bool, bool]) -> None:
    assert tuple(compare(op, value, 2) for value in (1, 2, 3)) == truths


def test_and_is_the_smallest_and_or_the_largest_of_false_null_true() -> None:
    order = {False: 0, None: 1, True: 2}
    for pair in itertools.product(TRUTHS, repeat=2):
        assert all_of(pair) is min(pair, key=order.__getitem__)
        assert any_of(pair) is max(pair, key=order.__getitem__)


def test_nothing_is_true_of_all_and_false_of_any() -> None:
    assert all_of(()) is True
    assert any_of(()) is False


def test_not_null_is_null() -> None:
    assert [negate(truth) for truth in TRUTHS] == [False, True, None]


def test_single_precision_is_narrowed_and_too_much_becomes_infinite() -> None:
    single = ScalarType(Scalar.F32)
    assert canonical(0.1, single) == 0.10000000149011612
    assert canonical(1e300, single) == float("inf")
    assert canonical([0.1, 1], VectorType(2)) == (0.10000000149011612, 1.0)
    assert canonical([0.1], ListType(Scalar.F32)) == (0.10000000149011612,)
    assert canonical([0.1], ListType(Scalar.F64)) == (0.1,)


def test_instants_are_compared_in_utc() -> None:
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    summer = dt.timezone(dt.timedelta(hours=2))
    assert canonical(noon.astimezone(summer), DATETIME) == noon
    assert canonical(noon.replace(tzinfo=None), DATETIME) == noon


def test_null_has_no_type() -> None:
    assert canonical(None, DATETIME) is None
