"""Missing vectors of a graph are filled by ordinary loads, whatever other writers do meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph import pipeline
from omnigraph.errors import InvalidInput, StorageFault, Unsupported
from omnigraph.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from omnigraph.api.graph import Graph
    from omnigraph.ports.embeddings import EmbeddingTask

SCHEMA = """node Note {
    slug: String @key
    day: Date?
    body: String?
    vec: Vector(3)? @embed("body", model="toy")
}
node Log {
    text: String
    vec: Vector(3)? @embed("text", model="toy")
}
edge Cites: Note -> Note
"""


class Recording(WordEmbedder):
    """Counts texts, and runs an action before each answer."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tasks: set[str] = set()
        self.before: Callable[[], None] = lambda: None

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        self.before()
        assert (model, dim) == ("toy", 3)
        self.texts += texts
        self.tasks.add(task)
        return super().embed(texts, model=model, dim=dim, task=task)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with omnigraph.init(
        tmp_path / "n.omni", SCHEMA, durability="process", actor="ada", embedder=WordEmbedder()
    ) as graph:
        notes = [
            {"slug": "a", "body": "quick fox"},
            {"slug": "b", "body": "lazy dog", "vec": [0.0, 0.0, 1.0]},
            {"slug": "c", "body": None},
            {"slug": "d", "body": "  "},
            {"slug": "e", "body": "quick dog", "day": "2026-01-02"},
        ]
        graph.load(
            [{"type": "Note", "data": each} for each in notes]
            + [{"type": "Log", "data": {"text": f"line {number}"}} for number in range(5)],
            mode="append",
        )
        yield graph


def stored(graph: Graph, type_name: str = "Note", key: str = "slug") -> dict[str, Any]:
    return {row[key]: row["vec"] for row in graph.nodes(type_name).to_pylist()}


def vector(text: str) -> Any:
    from omnigraph.ports.embeddings import EmbeddingTask  # noqa: PLC0415

    [found] = WordEmbedder().embed([text], model="toy", dim=3, task=EmbeddingTask.DOCUMENT)
    return pytest.approx(found, abs=1e-6)


def test_missing_vectors_are_filled_and_all_else_is_kept(graph: Graph) -> None:
    embedder = Recording()
    done = pipeline.embed(graph, embedder=embedder)
    assert done.embedded == {"Note.vec": 2, "Log.vec": 5}
    assert len(done.commits) == 2
    assert embedder.tasks == {"document"}
    found = stored(graph)
    assert (found["a"], found["e"]) == (vector("quick fox"), vector("quick dog"))
    assert (found["b"], found["c"], found["d"]) == ([0.0, 0.0, 1.0], None, None)
    assert stored(graph, "Log", "text")["line 3"] == vector("line 3")
    days = {row["slug"]: row["day"] for row in graph.nodes("Note").to_pylist()}
    assert str(days["e"]) == "2026-01-02"
    assert pipeline.embed(graph, embedder=embedder).embedded == {}
    assert len(embedder.texts) == 7


def test_chunks_are_commits_and_a_failed_run_continues(graph: Graph) -> None:
    embedder, calls = Recording(), iter(range(10))

    def fail_third() -> None:
        if next(calls) == 2:
            raise StorageFault("embed.unavailable", "down")

    embedder.before = fail_third
    with pytest.raises(StorageFault):
        pipeline.embed(graph, types=["Log"], embedder=embedder, chunk_rows=2)
    assert sum(each is not None for each in stored(graph, "Log", "text").values()) == 4
    states: list[str] = []
    done = pipeline.embed(
        graph,
        types=["Log"],
        embedder=embedder,
        progress=lambda state: states.append(state.line().split(",")[0]),
    )
    assert done.embedded == {"Log.vec": 1}
    assert states == ["1 of 1 embedded"]
    assert len(embedder.texts) == len(set(embedder.texts)) == 5


def test_a_text_that_changes_meanwhile_never_gets_the_vector_of_the_old_one(graph: Graph) -> None:
    embedder, changes = Recording(), iter([True])

    def change() -> None:
        if next(changes, False):
            graph.mutate('query q() { update Note set { body: "new words" } where slug = "a" }')

    embedder.before = change
    pipeline.embed(graph, types=["Note"], embedder=embedder)
    assert stored(graph)["a"] == vector("new words")
    assert embedder.texts == ["quick fox", "quick dog", "new words"]


def test_a_branch_is_filled_by_itself(graph: Graph) -> None:
    graph.branches.create("review")
    pipeline.embed(graph, branch="review", embedder=Recording())
    assert stored(graph)["a"] is None
    assert graph.at("review").nodes("Note").to_pylist()[0]["vec"] is not None


def test_bad_requests_write_nothing(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    before = graph.at("main").snapshot()["graph_commit_id"]
    with pytest.raises(InvalidInput, match="Nothing") as unknown:
        pipeline.embed(graph, types=["Nothing"], embedder=Recording())
    assert unknown.value.code == "embed.unknown_type"
    monkeypatch.delenv("OMNIGRAPH_EMBED_PROVIDER", raising=False)
    with pytest.raises(Unsupported) as missing:
        pipeline.embed(graph)
    assert missing.value.code == "embed.no_provider"
    assert graph.at("main").snapshot()["graph_commit_id"] == before
