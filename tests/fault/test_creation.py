"""A graph is made whole or not at all, by one of many creators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.coordination.claim import claimed
from omnigraph.errors import AlreadyExists, NotFound
from omnigraph.runtime.faults import POINTS
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import read_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEFORE_THE_STAMP = [
    point for point in POINTS if point.startswith("init.") and point != "init.stamped"
]


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


def kill_a_creator(crew: ProcessGroup, path: Path, point: str) -> None:
    child = crew.start(Script(str(path), (step("init"),), f"{point}=kill"))
    child.join()
    assert child.was_killed


@pytest.mark.parametrize("point", BEFORE_THE_STAMP)
def test_a_half_made_graph_is_refused_by_everybody_and_remade_by_force(
    point: str, tmp_path: Path, crew: ProcessGroup
) -> None:
    path = tmp_path / "graph"
    kill_a_creator(crew, path, point)
    for read_only in (True, False):
        with pytest.raises(NotFound) as refusal:
            open_engine(path, read_only=read_only)
        assert refusal.value.code == "graph.half_made"
    with pytest.raises(AlreadyExists) as refused:
        new_engine(path)
    assert refused.value.code == "graph.half_made"
    engine = new_engine(path, force=True)
    add(engine, ["first"])
    require_whole(open_engine(path))
    assert not list((path / layout.INIT_CLAIMS).glob("*"))


def test_a_graph_whose_creator_died_after_the_stamp_is_whole(
    tmp_path: Path, crew: ProcessGroup
) -> None:
    path = tmp_path / "graph"
    kill_a_creator(crew, path, "init.stamped")
    engine = open_engine(path)
    add(engine, ["first"])
    require_whole(engine)


def test_force_never_touches_a_graph(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["precious"])
    with pytest.raises(AlreadyExists) as refused:
        new_engine(tmp_path / "graph", force=True)
    assert refused.value.code == "graph.exists"
    assert ids_of(open_engine(tmp_path / "graph")) == ["precious"]


def test_force_never_touches_what_is_not_a_half_made_graph(tmp_path: Path) -> None:
    notes = tmp_path / "nodes" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    new_engine(tmp_path, force=True)
    assert notes.read_text() == "mine"


def test_force_does_not_sweep_away_a_graph_that_was_finished_while_it_looked(
    tmp_path: Path,
) -> None:
    """The creator ends, and removes its claim, just after the other has looked for a stamp."""
    path = tmp_path / "graph"

    def finish() -> None:
        add(new_engine(path), ["precious"])

    objects = Between(open_objects(str(path)), [Interruption("list", finish)])
    objects.create_root()
    with pytest.raises(AlreadyExists) as refused, claimed(objects, force=True):
        raise AssertionError("two creators at once")
    assert refused.value.code == "graph.exists"
    assert ids_of(open_engine(path)) == ["precious"]


def test_two_that_clean_up_the_same_ruin_do_not_both_do_so(
    tmp_path: Path, crew: ProcessGroup
) -> None:
    path = tmp_path / "graph"
    kill_a_creator(crew, path, "init.ref_written")

    def overtake() -> None:
        add(new_engine(path, force=True), ["precious"])

    objects = Between(
        open_objects(str(path)), [Interruption("put_if_absent", overtake, prefix="_init")]
    )
    with pytest.raises(AlreadyExists), claimed(objects, force=True):
        raise AssertionError("two creators at once")
    assert ids_of(open_engine(path)) == ["precious"]


def test_a_creation_that_failed_can_be_repeated_by_the_same_process(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    objects = open_objects(str(path))
    objects.create_root()
    with pytest.raises(ZeroDivisionError), claimed(objects, force=False):
        raise ZeroDivisionError
    require_whole(new_engine(path, force=True))


def test_a_directory_that_lost_its_stamp_is_not_made_a_new_graph(tmp_path: Path) -> None:
    new_engine(tmp_path)
    (tmp_path / layout.STAMP).unlink()
    with pytest.raises(AlreadyExists) as refused:
        new_engine(tmp_path, force=True)
    assert refused.value.code == "graph.remains"


def test_of_many_creators_exactly_one_wins(tmp_path: Path, crew: ProcessGroup) -> None:
    for round_number in range(6):
        path = tmp_path / str(round_number)
        force = bool(round_number % 2)
        if force:
            kill_a_creator(crew, path, BEFORE_THE_STAMP[round_number % len(BEFORE_THE_STAMP)])
        steps = (step("wait"), step("init", force=force))
        children = [crew.start(Script(str(path), steps)) for _ in range(3)]
        for child in children:
            child.go()
        endings = [child.join()[-1] for child in children]
        winners = [outcome.value for outcome in endings if outcome.is_done]
        assert len(winners) == 1, endings
        assert {outcome.ending for outcome in endings} == {"done", "failed"}
        assert read_stamp(open_objects(str(path))).graph_id == winners[0]
        require_whole(open_engine(path))
