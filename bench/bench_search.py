"""Search beside plain Lance: nearest vectors, words, and both behind a traversal.

The baseline is what one would write by hand with pylance and numpy for the same answer, on the same
rows; for nearest vectors it is Lance's index, which may miss some. Every answer is checked before
it is timed. The bars (issue "Reads"): W6 and W7 within 1.3 times the baseline, W8 within 1.5 times.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.harness import Table, median_of
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.graph.open import init_graph, open_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.graph import Graph

lance = load_lance()

SIZES = {"S": 10_000, "M": 100_000}
DIM = 64
EDGES_PER_PERSON = 20
TOP = 10
W6_AND_W7_BAR = 1.3
W8_BAR = 1.5

SCHEMA = f"""
node Person {{
    slug: String @key
    bio: String @index
    embedding: Vector({DIM}) @index
}}
edge Knows: Person -> Person
"""
NEAREST = """query q($v: Vector(64)) {
    match { $p: Person }
    return { $p.slug }
    order { nearest($p.embedding, $v) }
    limit 10
}"""
RELEVANT = """query q($words: String) {
    match { $p: Person }
    return { $p.slug, bm25($p.bio, $words) as relevance }
    order { relevance desc }
    limit 10
}"""
HYBRID = """query q($start: String, $word: String, $v: Vector(64)) {
    match {
        $a: Person { slug: $start }
        $a knows{2,2} $p
        search($p.bio, $word)
    }
    return { $p.slug }
    order { nearest($p.embedding, $v) }
    limit 10
}"""


@dataclass
class People:
    """Clustered vectors, words by Zipf's law, random acquaintances; the same for the same size."""

    count: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng(7)
        self.slugs = [f"person-{number:07d}" for number in range(self.count)]
        centres = rng.normal(size=(100, DIM))
        vectors = centres[rng.integers(0, 100, self.count)]
        vectors += 0.7 * rng.normal(size=vectors.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.vectors = vectors.astype(np.float32)
        self.vocabulary = np.array([f"word{number}x" for number in range(5_000)], object)
        weights = 1 / np.arange(1, 5_001)
        lengths = rng.integers(20, 41, self.count)
        drawn = rng.choice(5_000, int(lengths.sum()), p=weights / weights.sum())
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        self.bios = [" ".join(self.vocabulary[drawn[start:end]]) for start, end in pairwise(bounds)]
        pairs = rng.integers(0, self.count, (self.count * EDGES_PER_PERSON, 2))
        self.pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        near = self.vectors[rng.choice(self.count, 20)] + 0.05 * rng.normal(size=(20, DIM))
        self.queries = [query.astype(np.float32) for query in near]
        self.words = [str(self.vocabulary[number]) for number in rng.integers(200, 800, 20)]
        self.common = str(self.vocabulary[10])
        self.starts = [int(start) for start in rng.choice(self.count, 10)]

    @cached_property
    def nodes(self) -> pa.Table:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(self.vectors.ravel()), DIM)
        return pa.table({"slug": self.slugs, "bio": self.bios, "embedding": vectors})

    @cached_property
    def edges(self) -> pa.Table:
        slugs = pa.array(self.slugs)
        return pa.table({"from": slugs.take(self.pairs[:, 0]), "to": slugs.take(self.pairs[:, 1])})


class ByHand:
    """Plain Lance, and a list of neighbours in memory."""

    def __init__(self, people: People, path: Path) -> None:
        self._slugs = people.slugs
        table = lance.write_dataset(people.nodes, str(path))
        table.create_index(
            "embedding", "IVF_FLAT", metric="cosine", num_partitions=int(people.count**0.5)
        )
        table.create_scalar_index("bio", "INVERTED", with_position=False)
        self.table = lance.dataset(str(path))
        self._ends = people.pairs[:, 1]
        self._bounds = np.searchsorted(people.pairs[:, 0], np.arange(people.count + 1))

    def exact(self, query: np.ndarray) -> list[str]:
        return self._nearest(query, use_index=False)

    def by_index(self, query: np.ndarray) -> list[str]:
        return self._nearest(query, nprobes=20)

    def _nearest(self, query: np.ndarray, **options: Any) -> list[str]:
        nearest = {"column": "embedding", "q": query, "k": TOP, "metric": "cosine", **options}
        found: list[str] = self.table.to_table(columns=["slug"], nearest=nearest)[
            "slug"
        ].to_pylist()
        return found

    def words(self, word: str) -> list[str]:
        found = self.table.to_table(columns=["slug"], full_text_query=word, limit=TOP)
        return list(found["slug"].to_pylist())

    def hybrid(self, start: int, word: str, query: np.ndarray) -> list[str]:
        first = self._expand(np.array([start]))
        rows = self.table.take(self._expand(first), columns=["slug", "bio", "embedding"])
        padded = pc.binary_join_element_wise("", rows["bio"], "", " ")
        rows = rows.filter(pc.match_substring(padded, f" {word} "))
        vectors = rows["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, DIM)
        cosine = (vectors @ query) / np.linalg.norm(vectors, axis=1)
        found: list[str] = rows["slug"].take(np.argsort(-cosine, kind="stable")[:TOP]).to_pylist()
        return found

    def _expand(self, people: np.ndarray) -> np.ndarray:
        runs = [self._ends[self._bounds[one] : self._bounds[one + 1]] for one in people]
        return np.unique(np.concatenate(runs))


def run() -> Iterator[Table]:
    for name, count in SIZES.items():
        people = People(count)
        with tempfile.TemporaryDirectory() as directory:
            by_hand = ByHand(people, Path(directory) / "people.lance")
            uri = Path(directory) / "people.omni"
            graph = init_graph(uri, SCHEMA, durability="process")
            graph.load({"Person": people.nodes, "Knows": people.edges}, mode="append")
            size = f"{name}: {count:,} people"
            yield _vectors(size, people, by_hand, graph)
            graph.ensure_indices()
            yield _words(size, people, by_hand, open_graph(uri))
            yield _hybrid(size, people, by_hand, graph)


def _vectors(size: str, people: People, by_hand: ByHand, graph: Graph) -> Table:
    for query in people.queries:
        assert set(_slugs(graph, NEAREST, v=query.tolist())) == set(by_hand.exact(query))
    table = Table(f"{size}, nearest 10 of {DIM} dimensions", "Lance, IVF_FLAT")
    queries = cycle(people.queries)
    table.add("Lance, exact", median_of(lambda: by_hand.exact(next(queries))))
    by_index = median_of(lambda: by_hand.by_index(next(queries)))
    table.add("Lance, IVF_FLAT", by_index)
    asked = cycle([query.tolist() for query in people.queries])
    mine = median_of(lambda: _slugs(graph, NEAREST, v=next(asked)))
    table.add("omnigraph, exact", mine, aim=W6_AND_W7_BAR * by_index)
    return table


def _words(size: str, people: People, by_hand: ByHand, graph: Graph) -> Table:
    for word in people.words:
        found = _slugs(graph, RELEVANT, words=word)
        assert all(word in people.bios[int(slug[7:])].split() for slug in found)
        assert len(found) == len(by_hand.words(word))
    table = Table(f"{size}, 10 most relevant", "Lance, INVERTED")
    words = cycle(people.words)
    by_index = median_of(lambda: by_hand.words(next(words)))
    table.add("Lance, INVERTED", by_index)
    mine = median_of(lambda: _slugs(graph, RELEVANT, words=next(words)))
    table.add("omnigraph", mine, aim=W6_AND_W7_BAR * by_index)
    return table


def _hybrid(size: str, people: People, by_hand: ByHand, graph: Graph) -> Table:
    cases = list(zip(people.starts, people.queries, strict=False))
    for start, query in cases:
        assert _ask_hybrid(graph, people, start, query) == by_hand.hybrid(
            start, people.common, query
        )
    table = Table(f"{size}, two hops, a word and nearest 10", "Lance and numpy")
    one, other = cycle(cases), cycle(cases)

    def raw() -> object:
        start, query = next(one)
        return by_hand.hybrid(start, people.common, query)

    bare = median_of(raw)
    table.add("Lance and numpy", bare)
    mine = median_of(lambda: _ask_hybrid(graph, people, *next(other)))
    table.add("omnigraph", mine, aim=W8_BAR * bare)
    return table


def _ask_hybrid(graph: Graph, people: People, start: int, query: np.ndarray) -> list[str]:
    start_slug = people.slugs[start]
    return _slugs(graph, HYBRID, start=start_slug, word=people.common, v=query.tolist())


def _slugs(graph: Graph, text: str, **params: Any) -> list[str]:
    return [row["p.slug"] for row in graph.query(text, params).rows()]
