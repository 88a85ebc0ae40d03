"""Budgets stop a query with a typed error; they never cut its answer short."""

from typing import Any

import pytest

from omnigraph.errors import GraphError, InvalidInput, LimitExceeded
from omnigraph.runtime.budget import (
    DEFAULT_ROWS,
    DEFAULT_SECONDS,
    Budget,
    default_memory_bytes,
)
from omnigraph.runtime.cancellation import Cancellation

GIB = 2**30


class SteppedClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_micros(self) -> int:
        return int(self.seconds * 1_000_000)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_the_defaults_are_thirty_seconds_a_share_of_memory_and_a_million_rows() -> None:
    budget = Budget()
    assert (budget.rows, budget.seconds) == (DEFAULT_ROWS, DEFAULT_SECONDS) == (1_000_000, 30.0)
    assert budget.memory_bytes == default_memory_bytes()


@pytest.mark.parametrize(
    ("machine", "budget"),
    [
        (GIB // 2, GIB // 8),
        (2 * GIB, GIB // 4),
        (8 * GIB, GIB // 2),
        (32 * GIB, 2 * GIB),
        (512 * GIB, 4 * GIB),
    ],
)
def test_the_queries_of_a_server_together_leave_memory_free(machine: int, budget: int) -> None:
    assert default_memory_bytes(machine) == budget
    # As many as the read threads of a server on two cores.
    assert 4 * budget <= machine


def test_the_memory_of_a_query_is_a_setting_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_MEMORY_BYTES", "12345")
    assert Budget().memory_bytes == 12_345
    assert Budget(memory_bytes=None).memory_bytes is None


def test_time_runs_out_after_the_limit_and_not_at_it() -> None:
    clock = SteppedClock()
    meter = Budget(seconds=2.0, clock=clock).start()
    clock.sleep(2.0)
    meter.check()
    clock.sleep(0.5)
    with pytest.raises(LimitExceeded) as caught:
        meter.check()
    assert caught.value.code == "query.time_limit"
    assert caught.value.details == {
        "resource_limit": {"name": "time_s", "limit": 2.0, "actual": 2.5}
    }


def test_the_time_starts_with_the_meter() -> None:
    clock = SteppedClock()
    budget = Budget(seconds=1.0, clock=clock)
    clock.sleep(10)
    budget.start().check()


def test_a_loop_notices_the_deadline_within_a_bounded_number_of_steps() -> None:
    clock = SteppedClock()
    meter = Budget(seconds=1.0, clock=clock).start()
    meter.tick()
    clock.sleep(5)
    with pytest.raises(LimitExceeded):
        for _ in range(200):
            meter.tick()


def test_memory_is_what_is_held_in_total() -> None:
    meter = Budget(memory_bytes=100).start()
    meter.hold(60)
    meter.hold(40)
    with pytest.raises(LimitExceeded) as caught:
        meter.hold(1)
    assert caught.value.code == "query.memory_limit"


def test_a_result_of_exactly_the_allowed_rows_passes() -> None:
    meter = Budget(rows=3).start()
    meter.return_rows(3)
    with pytest.raises(LimitExceeded) as caught:
        meter.return_rows(4)
    assert caught.value.code == "query.rows_limit"
    assert caught.value.remedy is not None


def test_none_lifts_a_limit() -> None:
    clock = SteppedClock()
    meter = Budget(rows=None, seconds=None, memory_bytes=None, clock=clock).start()
    clock.sleep(1e9)
    meter.check()
    meter.hold(2**80)
    meter.return_rows(2**40)


def test_a_cancelled_query_stops_at_its_next_step() -> None:
    cancellation = Cancellation()
    meter = Budget(cancellation=cancellation).start()
    meter.check()
    cancellation.cancel()
    with pytest.raises(GraphError) as caught:
        meter.check()
    assert caught.value.code == "query.cancelled"
    assert not isinstance(caught.value, LimitExceeded)


@pytest.mark.parametrize("limits", [{"rows": -1}, {"seconds": float("nan")}, {"memory_bytes": "1"}])
def test_what_is_no_limit_is_refused_before_a_query_runs(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Budget(**limits)
    assert caught.value.code == "query.budget"
