"""An apply that is killed anywhere is completed by the next one, without a manual step."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.cluster.commands import Cluster
from omnigraph.errors import NotFound
from omnigraph.graph.open import open_store
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.example_cluster import SCHEMA, WIDER, write_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.testing.s3 import S3Endpoint

POINTS = [
    point
    for point in faults.POINTS
    if point.startswith(("cluster.", "delete.")) or point == "init.tables_created"
]
START = "version: 1\ngraphs:\n  people: {schema: people.pg, queries: queries}\n"
BEFORE = START + "  old: {schema: people.pg}\n"
AFTER = START + "  born: {schema: people.pg}\n"
SIGKILL = -9
KILLS = 4
KILLS_WHOLE = 1_000


def _apply(directory: str, fault: str, options: dict[str, str]) -> None:
    """Runs in a child: its death must not reach the test."""
    if fault:
        point, _, kind = fault.partition("=")
        faults.arm(point, kind)
    Cluster(Path(directory), storage_options=options or None).apply(actor="ada")


def start_apply(directory: Path, fault: str = "", options: dict[str, str] | None = None) -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["omnigraph.cluster.commands"])
    child = context.Process(target=_apply, args=(str(directory), fault, options or {}))
    child.start()
    return child


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One graph whose schema changes, one to create, and one with an approved deletion."""
    directory = tmp_path_factory.mktemp("prepared") / "cluster"
    write_cluster(directory)
    (directory / "cluster.yaml").write_text(BEFORE)
    cluster = Cluster(directory)
    assert cluster.apply().fields["converged"]
    with omnigraph.open(directory / "graphs" / "people.omni") as graph:
        graph.mutate('query a() { insert Person { name: "Ada" } }')
    (directory / "cluster.yaml").write_text(AFTER)
    (directory / "people.pg").write_text(WIDER)
    assert cluster.approve("graph.old", actor="eve").ok
    yield directory


def require_converged(directory: Path) -> None:
    """One more apply converges, and the ledger equals reality."""
    cluster = Cluster(directory)
    result = cluster.apply(actor="ada")
    assert (result.ok, result.fields["converged"]) == (True, True), result.to_json()
    status = cluster.status()
    assert status.ok
    assert cluster.plan().fields["changes"] == []
    assert set(status.fields["resource_digests"]) >= {"graph.people", "graph.born"}
    assert "graph.old" not in status.fields["resource_digests"]
    assert status.fields["state_observations"]["locked"] is False
    for graph in ("people", "born"):
        with omnigraph.open(directory / "graphs" / f"{graph}.omni") as opened:
            assert not opened.plan_schema(WIDER).steps
            assert len(opened.nodes("Person")) == (graph == "people")
    with pytest.raises(NotFound) as refused:
        omnigraph.open(directory / "graphs" / "old.omni")
    assert refused.value.code == "graph.deleted"
    assert not list((directory / "__cluster" / "recoveries").glob("*.json"))
    (consumed,) = (directory / "__cluster" / "approvals").glob("*.consumed.json")
    record = status.fields["observations"]["graph.old"]
    assert record["approval_id"] == consumed.name.split(".")[0]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_apply_is_completed_by_the_next_one(
    point: str, prepared: Path, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(prepared, tmp_path / "cluster"))
    child = start_apply(directory, f"{point}=kill")
    child.join(60)
    assert child.exitcode == SIGKILL, point
    require_converged(directory)


@pytest.mark.parametrize("point", ["cluster.graph_created", "cluster.before_state_write"])
def test_a_failure_of_storage_is_completed_by_the_next_apply(
    point: str, prepared: Path, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(prepared, tmp_path / "cluster"))
    child = start_apply(directory, f"{point}=storage")
    child.join(60)
    require_converged(directory)


def kill_at_random(prepared: Path, tmp_path: Path, kills: int) -> None:
    """Kill applies after delays that cover their duration evenly."""
    started = SYSTEM_CLOCK.monotonic()
    warm = Path(shutil.copytree(prepared, tmp_path / "warm"))
    start_apply(warm).join(60)
    duration = SYSTEM_CLOCK.monotonic() - started
    for number in range(kills):
        directory = tmp_path / f"cluster-{number}"
        shutil.copytree(prepared, directory)
        child = start_apply(directory)
        child.join(duration * number / kills)
        child.kill()
        child.join()
        require_converged(directory)
        shutil.rmtree(directory)


def test_applies_killed_at_any_time_are_completed(prepared: Path, tmp_path: Path) -> None:
    kill_at_random(prepared, tmp_path, KILLS)


@pytest.mark.slow
def test_a_thousand_killed_applies_are_completed(prepared: Path, tmp_path: Path) -> None:
    kill_at_random(prepared, tmp_path, KILLS_WHOLE)


def test_two_applies_at_once_converge(prepared: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(prepared, tmp_path / "cluster"))
    children = [start_apply(directory) for _ in range(3)]
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    require_converged(directory)


def test_a_cluster_in_a_bucket_behaves_alike(
    s3_uri: str, s3_endpoint: S3Endpoint, tmp_path: Path
) -> None:
    options = s3_endpoint.storage_options
    directory = tmp_path / "cluster"
    write_cluster(directory)
    (directory / "cluster.yaml").write_text(f"storage: {s3_uri}\n{BEFORE}")
    cluster = Cluster(directory, storage_options=options)
    assert cluster.apply(actor="ada").fields["converged"]
    (directory / "cluster.yaml").write_text(f"storage: {s3_uri}\n{AFTER}")
    (directory / "people.pg").write_text(WIDER)
    assert cluster.approve("graph.old", actor="eve").ok
    for point in ("cluster.schema_applied", "delete.tombstoned"):
        child = start_apply(directory, f"{point}=kill", options)
        child.join(120)
        assert child.exitcode == SIGKILL
    result = cluster.apply()
    assert result.fields["converged"], result.to_json()
    assert cluster.plan().fields["changes"] == []
    old = open_store(f"{s3_uri}/graphs/old.omni", options)
    assert json.loads(old.get("_deleted.json"))["actor"] == "ada"
    with pytest.raises(NotFound) as refused:
        omnigraph.open(f"{s3_uri}/graphs/old.omni", storage_options=options)
    assert refused.value.code == "graph.deleted"
    (directory / "people.pg").write_text(SCHEMA)
    assert cluster.apply().fields["converged"]
