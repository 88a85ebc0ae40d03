"""What a write may say about itself: checked before anything happens, for every writer alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import InvalidInput, PreconditionFailed
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.kit import Add, add, history, new_engine
from omnigraph.versioning.branches import create_branch, delete_branch
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_engine(tmp_path / "graph")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"actor": 5}, "commit.bad_actor"),
        ({"actor": "a" * 256}, "commit.bad_actor"),
        ({"actor": "\ud800"}, "commit.bad_actor"),
        ({"message": b"why"}, "commit.bad_message"),
        ({"message": "x" * 65_537}, "commit.bad_message"),
        ({"message": "half \udc00"}, "commit.bad_message"),
        ({"if_commit": 5}, "commit.bad_id"),
        ({"branch": None}, "branch.bad_name"),
        ({"branch": ".."}, "branch.bad_name"),
    ],
)
@pytest.mark.parametrize("long", [False, True])
def test_what_a_commit_cannot_keep_is_refused_before_anything_is_written(
    wrong: dict[str, Any], code: str, long: bool, engine: Engine
) -> None:
    run = engine.transactions.run_long if long else engine.transactions.run
    with pytest.raises(InvalidInput) as told:
        run(replace(WriteRequest("main"), **wrong), Add({"Person": ["a"]}))
    assert told.value.code == code
    assert len(history(engine)) == 1
    assert engine.recovery.pending() == []


def test_the_longest_texts_come_back_as_they_were_said(engine: Engine) -> None:
    said = WriteRequest("main", actor="é" * 255, message="\n" + "x" * 65_535)
    manifest = engine.transactions.run(said, Add({"Person": ["a"]}))
    assert manifest is not None
    commit = engine.lineage.get(manifest.commit.id)
    assert (commit.actor, commit.message) == (said.actor, said.message)


def test_if_commit_takes_the_commit_itself_and_its_id_in_either_case(engine: Engine) -> None:
    spellings: list[Callable[[Commit], Any]] = [
        lambda c: c,
        lambda c: c.ref,
        lambda c: c.id.lower(),
    ]
    for number, spelled in enumerate(spellings):
        head = engine.snapshot().manifest.commit
        request: Any = replace(WriteRequest("main"), if_commit=spelled(head))
        assert engine.transactions.run(request, Add({"Person": [str(number)]})) is not None
        with pytest.raises(PreconditionFailed):
            engine.transactions.run(request, Add({"Person": ["late"]}))


def test_the_actor_of_a_tag_and_of_a_deletion_is_checked_too(engine: Engine) -> None:
    add(engine, ["a"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    with pytest.raises(InvalidInput):
        delete_branch(engine.root, engine.heads, "dev", actor="\ud800")
    with pytest.raises(InvalidInput):
        EmbeddedGraph(engine).tags.create("v1", actor="a" * 300)
    assert [info.ref.name for info in EmbeddedGraph(engine).branches.list()] == ["dev", "main"]
    assert EmbeddedGraph(engine).tags.list() == []
