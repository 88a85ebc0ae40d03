"""Clocks, ids and fault points."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import StorageFault
from omnigraph.runtime import faults
from omnigraph.runtime.clock import (
    SYSTEM_CLOCK,
    datetime_to_micros,
    format_micros,
    micros_to_datetime,
)
from omnigraph.runtime.ids import is_ulid, new_short_id, new_ulid, ulid_micros


@settings(deadline=None)
@given(st.integers(0, 253_402_300_799_999_999))
def test_microseconds_survive_the_way_through_a_date_and_back(micros: int) -> None:
    assert datetime_to_micros(micros_to_datetime(micros)) == micros
    assert dt.datetime.fromisoformat(format_micros(micros)) == micros_to_datetime(micros)


def test_the_steady_clock_never_goes_back() -> None:
    seen = [SYSTEM_CLOCK.monotonic() for _ in range(1_000)]
    assert seen == sorted(seen)


def test_an_id_is_a_ulid_that_knows_when_it_was_made() -> None:
    before = SYSTEM_CLOCK.now_micros()
    made = [new_ulid() for _ in range(200)]
    after = SYSTEM_CLOCK.now_micros()
    assert len(set(made)) == 200
    for ulid in made:
        assert is_ulid(ulid)
        assert before - 1_000 <= ulid_micros(ulid) <= after


@pytest.mark.parametrize("text", ["", "x" * 26, "0" * 25, "0" * 27, "01jabcdefghjkmnpqrstvwxyz0"])
def test_what_is_no_ulid_is_told_apart(text: str) -> None:
    assert not is_ulid(text)


def test_short_ids_are_plain_and_different() -> None:
    made = {new_short_id() for _ in range(500)}
    assert len(made) == 500
    assert all(text.isalnum() and text == text.lower() for text in made)


@pytest.fixture(autouse=True)
def _no_faults() -> None:
    faults.clear()


def test_a_point_that_nobody_armed_does_nothing() -> None:
    for point in faults.POINTS:
        faults.reach(point)


def test_a_point_acts_at_the_passage_that_was_asked_for_and_only_there() -> None:
    faults.arm("tag.written", "raise", passage=3)
    for _ in range(2):
        faults.reach("tag.written")
    with pytest.raises(faults.InjectedFault):
        faults.reach("tag.written")
    faults.reach("tag.written")
    faults.arm("tag.written", "storage")
    with pytest.raises(StorageFault):
        faults.reach("tag.written")
    faults.clear()
    faults.reach("tag.written")


def test_an_unknown_point_or_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        faults.arm("no.such.point", "raise")
    with pytest.raises(KeyError):
        faults.arm("tag.written", "explode")


def test_points_are_named_once() -> None:
    assert len(set(faults.POINTS)) == len(faults.POINTS)


def test_a_child_is_armed_by_its_environment() -> None:
    code = (
        "from omnigraph.runtime import faults; faults.arm_from_environment();"
        "faults.reach('tag.written'); print('once', flush=True); faults.reach('tag.written')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"OMNIGRAPH_FAULT": "tag.written=kill@2,init.claimed=raise"},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (-9, b"once\n")
