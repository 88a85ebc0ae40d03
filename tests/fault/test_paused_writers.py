"""Writers that are stopped in the middle and wake up in another world.

Each child stops itself (SIGSTOP) at a fault point; the test lets time pass, recovers, cleans up,
deletes branches, and continues it. It must succeed, fail or not know; what it says must be true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.api.status import RecoveryOutcome as Recovered
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.kit import FAST, add, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.kit_steps import WRITE_POINTS
from omnigraph.testing.processes import Child, ProcessGroup, Script, StepOutcome, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning.branches import create_branch, delete_branch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.runtime.limits import Limits
    from omnigraph.session.engine import Engine

ARMED = WRITE_POINTS[WRITE_POINTS.index("attempt.armed") :]
INCOMPLETE = ARMED[: ARMED.index("attempt.table_committed")]
COMPLETE = ARMED[ARMED.index("attempt.table_committed") : ARMED.index("publish.swapped")]
LANDED = ARMED[ARMED.index("publish.swapped") : ARMED.index("attempt.settled")]


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    add(new_engine(tmp_path / "graph"), ["old"])
    return tmp_path / "graph"


def paused(
    crew: ProcessGroup, path: Path, point: str, *, branch: str = "main", limits: Limits = FAST
) -> Child:
    steps = (step("open"), step("arm"), step("add", ids={"Person": ["late"]}, branch=branch))
    child = crew.start(Script(str(path), steps, f"{point}=stop", limits=limits))
    child.await_stop()
    return child


def wake(child: Child) -> StepOutcome:
    child.resume()
    return child.join()[-1]


def recover(engine: Engine) -> list[Recovered]:
    """Watch an intent stand still for its term, then sweep."""
    done = engine.recovery.sweep()
    SYSTEM_CLOCK.sleep(FAST.intent_term_seconds * 1.2)
    done += engine.recovery.sweep()
    return [row.outcome for row in done]


def clean(path: Path, table: str, keep: int) -> None:
    """Remove every version but the pin, and its data, as cleanup removes orphans."""
    for manifest in (path / table / "_versions").glob("d*.manifest"):
        if manifest.name != manifest_name(keep):
            manifest.unlink()
    for data in (path / table / "data").glob("*"):
        if data.stat().st_mtime_ns > (path / "mark").stat().st_mtime_ns:
            data.unlink()


@pytest.mark.parametrize("point", INCOMPLETE)
def test_a_writer_that_was_voided_and_cleaned_up_while_it_slept_fails_without_effect(
    point: str, path: Path, crew: ProcessGroup
) -> None:
    (path / "mark").touch()
    pin = table_of(open_engine(path)).pin
    child = paused(crew, path, point)
    engine = open_engine(path)
    assert recover(engine) == [Recovered.ROLLED_BACK]
    clean(path, pin.path, pin.version)
    outcome = wake(child)
    assert outcome.ending == "failed"
    assert outcome.code in {"operation.void", "table.staged_missing"}
    assert ids_of(engine) == ["old"]
    add(engine, ["new"])
    assert ids_of(open_engine(path)) == ["new", "old"]
    require_whole(open_engine(path))


@pytest.mark.parametrize("point", COMPLETE)
def test_a_writer_that_was_rolled_forward_while_it_slept_learns_that_it_succeeded(
    point: str, path: Path, crew: ProcessGroup
) -> None:
    child = paused(crew, path, point)
    engine = open_engine(path)
    assert recover(engine) == [Recovered.ROLLED_FORWARD]
    assert ids_of(engine) == ["late", "old"]
    add(engine, ["new"])
    outcome = wake(child)
    assert outcome.is_done
    (row,) = engine.recovery.audit.rows()
    assert outcome.value == row.operation_id
    assert ids_of(open_engine(path)) == ["late", "new", "old"]
    require_whole(open_engine(path))


@pytest.mark.parametrize("point", LANDED)
def test_a_writer_that_slept_after_its_swap_learns_that_it_succeeded(
    point: str, path: Path, crew: ProcessGroup
) -> None:
    child = paused(crew, path, point)
    engine = open_engine(path)
    assert ids_of(engine) == ["late", "old"], "visible before it is acknowledged"
    assert recover(engine) == [Recovered.ROLLED_FORWARD]
    add(engine, ["new"])
    assert wake(child).is_done
    assert ids_of(open_engine(path)) == ["late", "new", "old"]
    require_whole(open_engine(path))


@pytest.mark.parametrize("point", COMPLETE)
def test_a_complete_writer_whose_table_moved_while_it_slept_is_voided(
    point: str, path: Path, crew: ProcessGroup
) -> None:
    """Somebody committed to the same table on the same branch: it cannot be rolled forward."""
    child = paused(crew, path, point)
    engine = open_engine(path)
    add(engine, ["first"])
    assert recover(engine) == [Recovered.ROLLED_BACK]
    outcome = wake(child)
    assert (outcome.ending, outcome.code) == ("failed", "operation.void")
    assert ids_of(open_engine(path)) == ["first", "old"]
    require_whole(open_engine(path))


def test_a_writer_that_slept_before_arm_past_the_grace_of_cleanup_gives_up(
    path: Path, crew: ProcessGroup
) -> None:
    child = paused(crew, path, "attempt.prepared", limits=replace(FAST, cleanup_grace_seconds=0.4))
    SYSTEM_CLOCK.sleep(0.3)
    outcome = wake(child)
    assert (outcome.ending, outcome.code) == ("failed", "attempt.too_old")
    require_whole(open_engine(path))


@pytest.mark.parametrize("point", ["attempt.prepared", "attempt.armed"])
def test_a_writer_whose_staged_files_are_gone_when_it_wakes_fails_without_effect(
    point: str, path: Path, crew: ProcessGroup
) -> None:
    (path / "mark").touch()
    pin = table_of(open_engine(path)).pin
    child = paused(crew, path, point)
    clean(path, pin.path, pin.version)
    outcome = wake(child)
    assert (outcome.ending, outcome.code) == ("failed", "table.staged_missing")
    engine = open_engine(path)
    assert ids_of(engine) == ["old"]
    add(engine, ["new"])
    require_whole(engine)


@pytest.mark.parametrize("point", WRITE_POINTS[: WRITE_POINTS.index("publish.swapped")])
@pytest.mark.parametrize("swept", [False, True])
def test_a_writer_whose_branch_was_deleted_and_created_again_does_not_write_to_the_new_one(
    swept: bool, point: str, path: Path, crew: ProcessGroup
) -> None:
    engine = open_engine(path)
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    child = paused(crew, path, point, branch="dev")
    delete_branch(engine.root, engine.heads, "dev")
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    add(engine, ["reborn"], branch="dev")
    if swept:
        discarded = [Recovered.ORPHANED_BRANCH_DISCARDED] if point in ARMED else []
        assert recover(engine) == discarded
    outcome = wake(child)
    assert (outcome.ending, outcome.code) == ("failed", "branch.deleted")
    engine = open_engine(path)
    assert ids_of(engine, "dev") == ["old", "reborn"]
    assert ids_of(engine) == ["old"]
    require_whole(engine)


def test_a_stopped_holder_of_the_lease_delays_others_by_its_term_at_most(
    path: Path, crew: ProcessGroup
) -> None:
    child = paused(crew, path, "attempt.before_table_commit")
    engine = open_engine(path)
    started = SYSTEM_CLOCK.monotonic()
    add(engine, ["new"])
    assert SYSTEM_CLOCK.monotonic() - started < FAST.lease_term_seconds + 1.0
    started = SYSTEM_CLOCK.monotonic()
    add(engine, ["newer"])
    assert SYSTEM_CLOCK.monotonic() - started < FAST.lease_term_seconds, "the lease is free again"
    assert wake(child).ending in {"done", "failed"}
    require_whole(open_engine(path))


def test_a_writer_that_sleeps_again_and_again_is_right_whatever_it_says(
    path: Path, crew: ProcessGroup
) -> None:
    """Twelve writers stop at random points while another one keeps writing and recovering."""
    engine = open_engine(path)
    expected = {"old"}
    for number, point in enumerate(WRITE_POINTS[:12]):
        steps = (step("open"), step("arm"), step("add", ids={"Person": [f"w{number}"]}))
        child = crew.start(Script(str(path), steps, f"{point}=stop"))
        child.await_stop()
        add(engine, [f"m{number}"])
        expected.add(f"m{number}")
        if number % 2:
            recover(engine)
        outcome = wake(child)
        assert outcome.ending in {"done", "failed"}
        if outcome.is_done:
            expected.add(f"w{number}")
    assert set(ids_of(open_engine(path))) == expected
    require_whole(open_engine(path))
