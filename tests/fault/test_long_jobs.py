"""Long jobs are announced before they stage, and stop when they were given up for dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import OperationVoid
from omnigraph.testing.kit import Add, add, history, ids_of, new_engine, open_engine
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import PreparedWrite, WriteSnapshot


class Job(Add):
    """An insert that does something else while it stages."""

    def __init__(self, ids: list[str], meanwhile: Callable[[], None]) -> None:
        super().__init__({"Person": ids})
        self._meanwhile = meanwhile

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        self._meanwhile()
        return super().prepare(view)


def _pending(engine: Engine) -> list[tuple[bool, bool]]:
    return [(keys.staging, keys.armed) for keys in engine.recovery.intents.pending().values()]


def test_a_long_job_is_announced_while_it_stages_and_leaves_nothing(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "g")
    seen: list[list[tuple[bool, bool]]] = []
    job = Job(["one"], lambda: seen.append(_pending(engine)))
    manifest = engine.transactions.run_long(WriteRequest("main"), job)
    assert manifest is not None
    assert seen == [[(True, False)]]
    assert _pending(engine) == []
    assert ids_of(engine) == ["one"]


def test_a_long_job_that_finds_nothing_to_do_or_fails_withdraws(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "g")
    assert engine.transactions.run_long(WriteRequest("main"), Add({"Person": []})) is None

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.transactions.run_long(WriteRequest("main"), Job(["one"], fail))
    assert _pending(engine) == []
    assert ids_of(engine) == []


def test_a_long_job_is_prepared_again_on_a_moved_head(tmp_path: Path) -> None:
    engine, other = new_engine(tmp_path / "g"), open_engine(tmp_path / "g")
    rounds: list[int] = []

    def meanwhile() -> None:
        rounds.append(1)
        if len(rounds) < 3:
            add(other, [f"other{len(rounds)}"])

    engine.transactions.run_long(WriteRequest("main"), Job(["one"], meanwhile))
    assert len(rounds) == 3
    assert ids_of(engine) == ["one", "other1", "other2"]


def test_a_living_long_job_is_left_alone_by_others_however_long_it_takes(tmp_path: Path) -> None:
    engine, other = new_engine(tmp_path / "g"), open_engine(tmp_path / "g")

    def outlive_every_term() -> None:
        for _ in range(6):
            other.root.clock.sleep(0.1)
            assert other.recovery.sweep() == []

    engine.transactions.run_long(WriteRequest("main"), Job(["one"], outlive_every_term))
    assert ids_of(other) == ["one"]


def test_a_long_job_that_was_given_up_for_dead_has_no_effect(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "g")

    def bury() -> None:
        for operation in engine.recovery.intents.pending():
            engine.recovery.intents.remove(operation)

    with pytest.raises(OperationVoid, match="taken for dead"):
        engine.transactions.run_long(WriteRequest("main"), Job(["one"], bury))
    assert ids_of(engine) == []
    assert len(history(engine)) == 1
