"""Text search over tables whose rows came by branches, merges, updates and index segments.

A merge and a Spark load once kept the row ids of replaced rows: a segment that still had them found
a row twice, or by its old text. Guards ADR-0025.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import omnigraph

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Doc {
    slug: String @key
    text: String? @index
}
"""
WORDS = ("fox", "dog", "cat", "owl", "bee")
FIND = """
query find($word: String) {
    match { $d: Doc search($d.text, $word) }
    return { $d.slug }
}
"""
# Slug to text.
Docs = dict[str, str]


def write(graph: EmbeddedGraph, docs: Docs, branch: str) -> None:
    records = [{"type": "Doc", "data": {"slug": key, "text": text}} for key, text in docs.items()]
    graph.load(records, mode="merge", branch=branch)


def found(graph: EmbeddedGraph, word: str, branch: str) -> list[str]:
    rows = graph.at(branch).query(FIND, {"word": word}).rows()
    return sorted(row["d.slug"] for row in rows)


def require_exact(graph: EmbeddedGraph, docs: Docs, branch: str) -> None:
    for word in WORDS:
        expected = sorted(slug for slug, text in docs.items() if word in text.split())
        assert found(graph, word, branch) == expected, (branch, word)


def some_text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=2))


@pytest.mark.parametrize("seed", range(2))
def test_search_is_exact_after_merges_and_index_builds(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    graph = omnigraph.init(tmp_path / "graph", schema=SCHEMA, actor="ada", durability="process")
    docs = {f"d{n:04}": some_text(chance) for n in range(400)}
    write(graph, docs, "main")
    graph.ensure_indices(force=True)
    for turn in range(3):
        branch = f"b{turn}"
        graph.branches.create(branch)
        slugs = sorted(docs)
        # The sides change different slugs, so the merge has no conflict.
        ours = some_changes(chance, slugs[200:], f"ours{turn}")
        theirs = some_changes(chance, slugs[:200], f"theirs{turn}")
        for name, changed in (("main", ours), (branch, theirs)):
            write(graph, changed, name)
            if chance.random() < 0.5:
                graph.ensure_indices(branch=name, force=True)
        require_exact(graph, docs | theirs, branch)
        graph.merge(branch)
        docs |= ours | theirs
        require_exact(graph, docs, "main")
        if chance.random() < 0.5:
            graph.ensure_indices(force=True)
            require_exact(graph, docs, "main")


def some_changes(chance: random.Random, slugs: list[str], new: str) -> Docs:
    changed = {slug: some_text(chance) for slug in chance.sample(slugs, 20)}
    return changed | {f"{new}-{n}": some_text(chance) for n in range(10)}
