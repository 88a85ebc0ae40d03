"""The work of compiling and planning, counted in checkpoints, grows with the text and not faster.

Each step that the planner considers passes a checkpoint, so the same count shows that a deadline
or a cancellation is noticed between any two steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import GraphError, InvalidInput, LimitExceeded
from omnigraph.planner import plan_read
from omnigraph.planner.plan import Join, SemiJoin, walk
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.cancellation import Cancellation, cancellable, checked_by

if TYPE_CHECKING:
    from collections.abc import Callable

# The fixture of conftest.
Planning = Any


class Steps:
    """Counts checkpoints; the one numbered ``last`` runs ``then``."""

    def __init__(self, last: int | None = None, then: Callable[[], None] | None = None) -> None:
        self.count = 0
        self._last = last
        self._then = then

    def __call__(self) -> None:
        self.count += 1
        if self.count == self._last and self._then is not None:
            self._then()


def nested(depth: int, opening: str, closing: str) -> str:
    inside = "".join(f"{opening} {{ $p{i} knows $p{i + 1} " for i in range(depth))
    return f"match {{ $p0: Person {inside}{closing * depth} }} return {{ $p0.handle }}"


def chain(length: int) -> str:
    hops = " ".join(f"$p{i} knows $p{i + 1}" for i in range(length))
    return f"match {{ $p0: Person {hops} }} return {{ $p0.handle }}"


def star(rays: int) -> str:
    hops = " ".join(f"$p knows $q{i}" for i in range(rays))
    return f"match {{ $p: Person {hops} }} return {{ $p.handle }}"


def cross(width: int) -> str:
    nodes = " ".join(f"$p{i}: Person $p{i}.age > {i}" for i in range(width))
    return f"match {{ {nodes} }} return {{ $p0.handle }}"


SHAPES: dict[str, tuple[Callable[[int], str], int]] = {
    "not": (lambda n: nested(n, "not", "} "), 30),
    "exists": (lambda n: nested(n, "exists", "} "), 30),
    "count": (lambda n: nested(n, "count", "} > 1 "), 30),
    "or": (lambda n: nested(n, "($p0.age = 1 or exists", "}) "), 14),
    "chain": (chain, 48),
    "star": (star, 48),
    "cross": (cross, 90),
}


def effort(planning: Planning, body: str) -> int:
    steps = Steps()
    with checked_by(steps):
        planning.plan(body)
    return steps.count


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_query_is_at_most_eight_times_the_work(planning: Planning, shape: str) -> None:
    make, size = SHAPES[shape]
    half, whole = effort(planning, make(size // 2)), effort(planning, make(size))
    assert whole <= 8 * half
    assert whole <= 60_000


@pytest.mark.parametrize("shape", SHAPES)
def test_every_block_is_in_the_plan_once(planning: Planning, shape: str) -> None:
    make, size = SHAPES[shape]
    nodes = planning.nodes(make(size))
    if shape in ("not", "exists"):
        assert sum(isinstance(node, SemiJoin) for node in nodes) == size


@pytest.mark.parametrize("step", [1, 40, 400, 2_000])
def test_a_deadline_ends_compiling_and_planning_at_its_next_step(
    planning: Planning, step: int
) -> None:
    class Clock:
        seconds = 0.0

        def monotonic(self) -> float:
            return self.seconds

        def now_micros(self) -> int:
            return 0

        def sleep(self, seconds: float) -> None:
            self.seconds += seconds

    clock = Clock()
    meter = Budget(seconds=1.0, clock=clock).start()
    steps = Steps(step, lambda: clock.sleep(2.0))
    with (
        checked_by(steps),
        checked_by(meter.check),
        pytest.raises(LimitExceeded) as caught,
    ):
        planning.plan(star(60))
    assert caught.value.code == "query.time_limit"
    assert steps.count == step


@pytest.mark.parametrize("step", [1, 40, 400, 2_000])
def test_a_cancelled_query_ends_in_the_planner(planning: Planning, step: int) -> None:
    token = Cancellation()
    steps = Steps(step, token.cancel)
    with (
        checked_by(steps),
        checked_by(Budget(cancellation=token).start().check),
        pytest.raises(GraphError) as caught,
    ):
        planning.plan(star(60))
    assert caught.value.code == "query.cancelled"
    assert steps.count == step


def test_without_a_budget_the_token_of_the_call_is_asked(planning: Planning) -> None:
    token = Cancellation()
    token.cancel()
    with cancellable(token), pytest.raises(GraphError) as caught:
        planning.plan(chain(3))
    assert caught.value.code == "operation.cancelled"


@pytest.mark.parametrize(("shape", "size"), [("chain", 300), ("star", 400), ("cross", 450)])
def test_a_pattern_that_no_stack_holds_is_refused(
    planning: Planning, shape: str, size: int
) -> None:
    ir = planning.compile(SHAPES[shape][0](size))
    with pytest.raises(InvalidInput) as caught:
        plan_read(ir, planning.facts())
    assert caught.value.code == "query.too_complex"
    assert caught.value.details["resource_limit"]["limit"] == 200


def test_conditions_between_parts_are_joined_before_what_shares_nothing(
    planning: Planning,
) -> None:
    """The equality links the first part with the third: the second must not come between."""
    plan = planning.plan(
        "match { $a: Person $b: Paper $c: Person $a.city = $c.city } "
        "return { $a.handle, $b.doi, $c.handle }"
    )
    joins = [node for node in walk(plan.root) if isinstance(node, Join)]
    assert [bool(join.equal) for join in joins] == [False, True]
