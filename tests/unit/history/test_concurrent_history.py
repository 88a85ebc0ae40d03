"""Requests beside a thread that is still reading history: each of them sees all of it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.graph.open import open_graph
from omnigraph.testing.kit_between import Between, Interruption, Pause
from omnigraph.versioning import layout
from omnigraph.versioning.manifest_store import ManifestStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = "node Person { name: String @key }"
COMMITS = 7
# Every manifest but the head's is read on the way back.
ON_THE_WAY = range(2, COMMITS)


def insert(graph: EmbeddedGraph, name: str, key: str | None = None) -> Any:
    text = "query add($n: String) { insert Person { name: $n } }"
    return graph.mutate(text, {"n": name}, idempotency_key=key)


@pytest.fixture
def first(tmp_path: Path) -> EmbeddedGraph:
    """A server's handle, through which ``k`` was used for the second of seven commits."""
    graph = omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process", actor="ada")
    insert(graph, "Ada", "k")
    for number in range(COMMITS - 2):
        insert(graph, f"p{number}")
    return graph


@contextmanager
def second(tmp_path: Path, nth: int) -> Iterator[EmbeddedGraph]:
    """Another server's handle, in which a listing of commits stands at the nth manifest."""
    graph = open_graph(tmp_path / "g.omni", actor="ada")
    pause = Pause()
    root = graph.engine.root
    main = graph.engine.heads.of_branch("main")[1]
    prefix = f"{layout.manifest_path(main.incarnation)}/0"
    objects = Between(root.objects, [Interruption("get", pause, nth=nth, prefix=prefix)])
    root.objects, root.store = objects, ManifestStore(objects, objects)
    root.manifests = type(root.manifests)(root.limits.manifest_cache)
    listed: list[Any] = []
    lister = threading.Thread(target=lambda: listed.append(graph.commits.list().commits))
    lister.start()
    try:
        pause.await_reached()
        yield graph
    finally:
        pause.resumed.set()
        lister.join()
    assert len(listed[0]) == COMMITS


@pytest.mark.parametrize("nth", ON_THE_WAY)
def test_a_key_is_found_beside_a_listing_of_commits(
    first: EmbeddedGraph, tmp_path: Path, nth: int
) -> None:
    with second(tmp_path, nth) as graph:
        again = insert(graph, "Ada", "k")
    commits = first.commits.list().commits
    assert len(commits) == COMMITS
    assert again.commit.id == commits[-2].id


@pytest.mark.parametrize("nth", ON_THE_WAY)
def test_a_listing_is_whole_beside_another(first: EmbeddedGraph, tmp_path: Path, nth: int) -> None:
    with second(tmp_path, nth) as graph:
        assert graph.commits.list().commits == first.commits.list().commits
        oldest = graph.commits.list(CommitFilter(kind="init")).commits
    assert len(oldest) == 1


@pytest.mark.parametrize("nth", ON_THE_WAY)
def test_a_feed_has_no_gap_beside_a_listing_of_commits(
    first: EmbeddedGraph, tmp_path: Path, nth: int
) -> None:
    oldest = first.commits.list().commits[-1]
    with second(tmp_path, nth) as graph:
        page = graph.changes.poll(start=f"after:{oldest.id}")
    assert len(page.blocks) == COMMITS - 1
    assert page.caught_up
