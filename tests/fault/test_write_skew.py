"""Two writers that each write one table and read the other never both succeed. Guards INV-3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import PinChanged
from omnigraph.testing.kit import Add, add, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 200


@pytest.mark.parametrize("guarded", [True, False])
def test_of_two_processes_that_read_what_the_other_writes_exactly_one_wins_each_round(
    guarded: bool, tmp_path: Path
) -> None:
    """Each adds a key to its own table unless the other's has it: every read finds nothing."""
    path = tmp_path / "graph"
    new_engine(path)
    keys = [f"round-{number}" for number in range(ROUNDS if not guarded else ROUNDS // 4)]
    sides = (("Person", "Place"), ("Place", "Person"))
    with ProcessGroup() as crew:
        children = []
        for to, unless in sides:
            rounds = [
                (step("wait"), step("add_unless", key=key, to=to, unless=unless)) for key in keys
            ]
            opening = (step("open"),) if guarded else (step("open"), step("unguarded"))
            script = (*opening, *(item for pair in rounds for item in pair))
            children.append(crew.start(Script(str(path), script)))
        for _ in keys:
            for child in children:
                child.go()
        endings = [child.join() for child in children]
    engine = open_engine(path)
    people, places = set(ids_of(engine)), set(ids_of(engine, of="Place"))
    assert people & places == set(), "both decided on what was true before the other wrote"
    assert people | places == set(keys)
    failed = [outcome for outcomes in endings for outcome in outcomes if outcome.ending != "done"]
    assert failed == []
    for (_, outcomes), seen in zip(enumerate(endings), (people, places), strict=True):
        acknowledged = {
            outcome.step.arguments["key"]
            for outcome in outcomes
            if outcome.step.verb == "add_unless" and outcome.value is not None
        }
        assert acknowledged == seen
    require_whole(engine)


def test_a_table_that_was_read_and_has_moved_is_named_by_the_conflict(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    engine = new_engine(path)
    engine.transactions.locks.enabled = False
    other = open_engine(path)
    other.transactions.leases.enabled = False
    place = engine.snapshot().catalog.node("Place")
    assert place is not None
    before = engine.resolver.resolve("main").pins[place.id].counter
    late = Interruption("put_if_absent", lambda: add(other, ["x"], to="Place"), prefix="__manifest")
    writer = open_engine(path, wrap_objects=lambda objects: Between(objects, [late]))
    with pytest.raises(PinChanged) as told:
        writer.transactions.run(
            WriteRequest("main"), Add({"Person": ["y"]}, reads=["Place"], reprepares=False)
        )
    moved = open_engine(path).resolver.resolve("main").pins[place.id].counter
    assert told.value.details == {"table_key": "node:Place", "expected": before, "actual": moved}
    assert moved > before
    assert "node:Place" in str(told.value)
    assert ids_of(engine) == []
    require_whole(engine)


def test_an_untouched_table_may_move_under_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    engine = new_engine(path)
    engine.transactions.locks.enabled = False
    other = open_engine(path)
    other.transactions.leases.enabled = False
    late = Interruption("put_if_absent", lambda: add(other, ["x"], to="Place"), prefix="__manifest")
    writer = open_engine(path, wrap_objects=lambda objects: Between(objects, [late]))
    writer.transactions.run(WriteRequest("main"), Add({"Person": ["y"]}, reprepares=False))
    assert late.done
    assert (ids_of(engine), ids_of(engine, of="Place")) == (["y"], ["x"])
    require_whole(engine)
