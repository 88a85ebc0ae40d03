"""Children: their outcomes, their deaths, and whom signals reach."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from omnigraph.testing.kit import new_engine
from omnigraph.testing.processes import ProcessGroup, Script, step

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_outcomes_come_one_by_one_and_end_with_the_child(tmp_path: Path) -> None:
    steps = (step("init"), step("add", ids={"Person": ["a"]}), step("ids"))
    with ProcessGroup() as crew:
        child = crew.start(Script(str(tmp_path / "graph"), steps))
        assert [outcome.step.verb for outcome in child.join()] == ["init", "add", "ids"]
        assert child.outcomes[-1].value == ["a"]
        assert child.exit_code == 0
        assert not child.was_killed


def test_a_failing_step_is_an_outcome_and_a_killed_child_has_fewer(tmp_path: Path) -> None:
    new_engine(tmp_path / "graph")
    steps = (step("init"), step("open"), step("add", ids={"Person": ["a"]}))
    with ProcessGroup() as crew:
        child = crew.start(Script(str(tmp_path / "graph"), steps, "attempt.armed=kill"))
        outcomes = child.join()
        assert [(outcome.ending, outcome.code) for outcome in outcomes] == [
            ("failed", "graph.exists"),
            ("done", None),
        ]
        assert child.was_killed


def test_a_child_that_has_ended_is_never_signalled_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may belong to somebody else by now."""
    sent: list[tuple[int, int]] = []
    with ProcessGroup() as crew:
        child = crew.start(Script(str(tmp_path / "graph"), (step("init"),)))
        child.join()
        monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
        child.kill()
        child.stop()
        child.resume()
    assert sent == []


def test_a_crew_leaves_nobody_behind(tmp_path: Path) -> None:
    new_engine(tmp_path / "graph")
    steps = (step("open"), step("add", ids={"Person": ["a"]}))
    with ProcessGroup() as crew:
        stopped = crew.start(Script(str(tmp_path / "graph"), steps, "attempt.armed=stop"))
        waiting = crew.start(Script(str(tmp_path / "graph"), (step("wait"),)))
        stopped.await_stop()
    assert stopped.exit_code == waiting.exit_code == -signal.SIGKILL
