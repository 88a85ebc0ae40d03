"""The versioned core in a bucket: the same protocol, and requests that can be counted.

Guards INV-15: what a write and a read ask of the storage does not depend on how much was written
before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.status import RecoveryOutcome
from omnigraph.errors import AlreadyExists, NotFound
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.testing.kit import SCHEMA, add, history, ids_of, new_engine, open_engine
from omnigraph.testing.kit_proxy import counted
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.tags import create_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.testing.s3 import S3Endpoint

pytestmark = pytest.mark.s3

INSERT = "query add($name: String) { insert Person { name: $name } }"
POINT_READ = "query one($name: String) { match { $p: Person { name: $name } } return { $p.age } }"


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


def test_a_graph_in_a_bucket_is_created_written_branched_tagged_and_read_at_any_point(
    s3_endpoint: S3Endpoint, s3_uri: str
) -> None:
    options = s3_endpoint.storage_options
    engine = new_engine(s3_uri, storage_options=options)
    first = add(engine, ["a"])
    create_branch(engine.root, engine.heads, "dev/x", engine.resolver.resolve("main"))
    add(engine, ["b"], branch="dev/x")
    add(engine, ["c"])
    create_tag(engine.root, "v1", engine.resolver.resolve("main"))
    add(engine, ["d"])
    engine = open_engine(s3_uri, storage_options=options)
    assert ids_of(engine) == ["a", "c", "d"]
    assert ids_of(engine, "dev/x") == ["a", "b"]
    assert ids_of(engine, "v1") == ["a", "c"]
    assert ids_of(engine, first) == ["a"]
    delete_branch(engine.root, engine.heads, "dev/x")
    assert open_branches(engine.root, engine.heads) == ["main"]
    require_whole(engine)
    with pytest.raises(AlreadyExists):
        new_engine(s3_uri, storage_options=options)


def test_processes_that_race_on_a_bucket_lose_nothing(
    s3_endpoint: S3Endpoint, s3_uri: str, crew: ProcessGroup
) -> None:
    """One pair shares a branch, another one shares only the table; no lease for half of them."""
    options = s3_endpoint.storage_options
    engine = new_engine(s3_uri, storage_options=options)
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    children = []
    for number, branch in enumerate(("main", "main", "dev")):
        steps = [step("open"), *([step("unguarded")] if number % 2 else [])]
        steps += [
            step("add", ids={"Person": [f"p{number}-{turn}"]}, branch=branch) for turn in range(6)
        ]
        children.append(crew.start(Script(s3_uri, tuple(steps), storage_options=options)))
    outcomes = [outcome for child in children for outcome in child.join()]
    engine = open_engine(s3_uri, storage_options=options)
    seen = {branch: ids_of(engine, branch) for branch in ("main", "dev")}
    for outcome in outcomes:
        if outcome.step.verb == "add":
            (key,) = outcome.step.arguments["ids"]["Person"]
            assert (key in seen[outcome.step.arguments["branch"]]) == outcome.is_done, outcome
    assert sum(outcome.is_done for outcome in outcomes if outcome.step.verb == "add") >= 12
    require_whole(engine)


@pytest.mark.parametrize(
    ("point", "outcome"),
    [
        ("attempt.before_table_commit", RecoveryOutcome.ROLLED_BACK),
        ("attempt.tables_committed", RecoveryOutcome.ROLLED_FORWARD),
        ("publish.swapped", RecoveryOutcome.ROLLED_FORWARD),
    ],
)
def test_what_a_killed_process_left_in_a_bucket_is_resolved_by_the_next_opener(
    point: str, outcome: RecoveryOutcome, s3_endpoint: S3Endpoint, s3_uri: str, crew: ProcessGroup
) -> None:
    options = s3_endpoint.storage_options
    add(new_engine(s3_uri, storage_options=options), ["old"])
    steps = (step("open"), step("arm"), step("add", ids={"Person": ["new"]}))
    child = crew.start(Script(s3_uri, steps, f"{point}=kill", storage_options=options))
    child.join()
    assert child.was_killed
    engine = open_engine(s3_uri, storage_options=options)
    assert [row.outcome for row in engine.recovery.audit.rows()] == [outcome]
    assert ("new" in ids_of(engine)) == (outcome is RecoveryOutcome.ROLLED_FORWARD)
    add(engine, ["next"])
    require_whole(engine)


def test_a_half_made_graph_in_a_bucket_is_refused_and_remade_by_force(
    s3_endpoint: S3Endpoint, s3_uri: str, crew: ProcessGroup
) -> None:
    options = s3_endpoint.storage_options
    child = crew.start(
        Script(s3_uri, (step("init"),), "init.ref_written=kill", storage_options=options)
    )
    child.join()
    assert child.was_killed
    with pytest.raises(NotFound) as told:
        open_engine(s3_uri, storage_options=options)
    assert told.value.code == "graph.half_made"
    require_whole(new_engine(s3_uri, force=True, storage_options=options))


def test_the_requests_of_a_write_and_of_a_read_do_not_grow_with_history(
    s3_endpoint: S3Endpoint, s3_uri: str
) -> None:
    with counted(s3_endpoint) as (endpoint, log):
        graph = init_graph(s3_uri, SCHEMA, storage_options=endpoint.storage_options)
        seen = {}
        for number in range(41):
            log.clear()
            graph.mutate(INSERT, {"name": f"p{number}"})
            write = log.counts()
            # Read after each write: a writer looks into no file, so a first read would find all of
            # them unread.
            log.clear()
            graph.query(POINT_READ, {"name": f"p{number}"})
            seen[number] = (write, log.counts())
        for number in (1, 40):
            print(f"after {number}: insert {dict(seen[number][0])}, read {dict(seen[number][1])}")
        early, late = seen[1], seen[40]
        for verb in ("PUT", "LIST", "HEAD", "DELETE"):
            assert late[0][verb] == early[0][verb], verb
        # The only thing that a longer history may add is the file of another full fragment.
        assert late[0]["GET"] <= early[0]["GET"] + 1
        assert early[0]["PUT"] <= 9
        assert late[0].total() <= 28
        assert late[1].total() <= 3
        assert late[1]["PUT"] == late[1]["DELETE"] == late[1]["LIST"] == 0
        assert len(history(graph._engine)) == 42


def test_checking_for_a_newer_head_is_one_probe(s3_endpoint: S3Endpoint, s3_uri: str) -> None:
    with counted(s3_endpoint) as (endpoint, log):
        options = endpoint.storage_options
        engine = new_engine(s3_uri, storage_options=options)
        add(engine, ["a"])
        engine.snapshot()
        log.clear()
        engine.snapshot()
        assert log.counts() == {"HEAD": 1}
        other = open_engine(s3_uri, storage_options=options)
        add(other, ["b"])
        log.clear()
        assert engine.snapshot().commit_id == other.snapshot().commit_id
        assert log.counts().total() <= 8


def test_opening_a_graph_costs_three_requests(s3_endpoint: S3Endpoint, s3_uri: str) -> None:
    with counted(s3_endpoint) as (endpoint, log):
        options = endpoint.storage_options
        init_graph(s3_uri, SCHEMA, storage_options=options)
        log.clear()
        open_graph(s3_uri, storage_options=options)
        # The stamp, the tombstone of an incomplete deletion, unfinished writes.
    assert log.counts() == {"GET": 1, "HEAD": 1, "LIST": 1}
