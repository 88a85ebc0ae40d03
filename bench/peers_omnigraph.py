"""OmniGraph as a system of the shared harness: ``python -m bench.peers_omnigraph --help``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

from bench.shared import import_peer
from omnigraph.graph.open import init_graph, open_graph

_core = import_peer("bench_core")

SCHEMA = """
node Person {
    slug: String @key
    name: String
    age: I32
    city: String
    joined: Date
    bio: String @index
    embedding: Vector(64) @index
}
node Company {
    slug: String @key
    name: String
    industry: String
    founded: I32
}
edge Knows: Person -> Person { since: Date }
edge WorksAt: Person -> Company { role: String }
"""
LOOKUP = "query q($s: String) { match { $p: Person  $p.slug = $s } return { $p.name, $p.age } }"
HOP1 = """query q($s: String) {
    match { $p: Person { slug: $s }  $p knows $a } return { $a.slug, $a.name }
}"""
HOP2 = """query q($s: String) {
    match { $p: Person { slug: $s }  $p knows $a  $a knows $b } return { count(distinct $b) as n }
}"""
HOP3 = """query q($s: String) {
    match { $p: Person { slug: $s }  $p knows $a  $a knows $b  $b knows $c }
    return { count(distinct $c) as n }
}"""
GROUPS = """query q() {
    match { $p: Person  $p.age > 30 } return { $p.city as city, avg($p.age) as age }
}"""
HOP2_FILTER = """query q($s: String) {
    match { $p: Person { slug: $s }  $p knows $a  $a knows $b  $b.age > 40  $b.city = "Berlin" }
    return distinct { $b.slug as slug, $b.age as age }
    order { age desc, slug }
    limit 10
}"""
NEAREST = """query q($v: Vector(64), $k: I64) {
    match { $p: Person } return { $p.slug as slug } order { nearest($p.embedding, $v) } limit $k
}"""
RELEVANT = """query q($word: String, $k: I64) {
    match { $p: Person } return { $p.slug as slug } order { bm25($p.bio, $word) } limit $k
}"""
HYBRID = """query q($s: String, $word: String, $v: Vector(64), $k: I64) {
    match {
        $b: Person
        exists { $p: Person { slug: $s }  $p knows $a  $a knows $b }
        search($b.bio, $word)
    }
    return { $b.slug as slug }
    order { nearest($b.embedding, $v) }
    limit $k
}"""
INSERT = """
query q($slug: String, $name: String, $age: I32, $city: String, $joined: Date, $bio: String,
        $embedding: Vector(64)) {
    insert Person {
        slug: $slug, name: $name, age: $age, city: $city, joined: $joined, bio: $bio,
        embedding: $embedding
    }
}
"""
INSERT_EDGE = """
query q($a: String, $b: String) { insert Knows { from: $a, to: $b, since: date("2026-01-01") } }
"""
UPDATE = "query q($s: String, $age: I32) { update Person set { age: $age } where slug = $s }"
DELETE = "query q($s: String) { delete Person where slug = $s }"


class OmniGraph(_core.Adapter):  # type: ignore[misc, name-defined] # the harness has no types
    """All checks of the schema on, one commit per write, survives a killed process."""

    name = "omnigraph"
    packages = ("omnigraph-py", "pylance", "pyarrow")
    durability = "process"
    notes: ClassVar = {"W1": "from JSON lines, with all checks of the schema; no index is built"}

    def load(self) -> None:
        if Path(self.path).exists():
            shutil.rmtree(self.path)
        self.graph = init_graph(self.path, SCHEMA, durability=self.durability)
        self.graph.load(Path(self.data) / "graph.jsonl", mode="append")

    def open(self) -> None:
        self.graph = open_graph(self.path)

    def close(self) -> None:
        self.graph.close()

    def counts(self) -> tuple[int, int]:
        found = {
            entry["type_name"]: entry["entity_count"] for entry in self.graph.snapshot()["datasets"]
        }
        return found["Person"], found["Knows"]

    def lookup(self, slug: str) -> int | None:
        rows = self.graph.query(LOOKUP, {"s": slug}).rows()
        return rows[0]["p.age"] if rows else None

    def hop1(self, slug: str) -> int:
        return len(self.graph.query(HOP1, {"s": slug}))

    def hop2(self, slug: str) -> int:
        return self._count(HOP2, slug)

    def hop3(self, slug: str) -> int:
        return self._count(HOP3, slug)

    def agg(self) -> dict[str, float]:
        return {row["city"]: row["age"] for row in self.graph.query(GROUPS)}

    def hop2_filter(self, slug: str) -> list[str]:
        return [row["slug"] for row in self.graph.query(HOP2_FILTER, {"s": slug})]

    def build_vector_index(self) -> None:
        self.graph.ensure_indices(types=["Person"])

    def build_fts_index(self) -> None:
        """Built with the other indexes of the type."""

    def vec_exact(self, query: list[float], count: int) -> list[str]:
        return self._slugs(NEAREST, {"v": query, "k": count})

    # What an exact search answers as fast has no index: see docs/search.md.
    vec_index = vec_exact

    def fts(self, word: str, count: int) -> list[str]:
        return self._slugs(RELEVANT, {"word": word, "k": count})

    def hybrid(self, slug: str, word: str, query: list[float], count: int) -> list[str]:
        return self._slugs(HYBRID, {"s": slug, "word": word, "v": query, "k": count})

    def _slugs(self, query: str, params: dict[str, Any]) -> list[str]:
        return [row["slug"] for row in self.graph.query(query, params).rows()]

    def _count(self, query: str, slug: str) -> int:
        (row,) = self.graph.query(query, {"s": slug})
        return int(row["n"])

    def insert(self, row: dict[str, Any]) -> None:
        self.graph.mutate(INSERT, row)

    def insert_many(self, rows: list[dict[str, Any]]) -> None:
        self.graph.load(rows, mode="append", type="Person")

    def insert_edge(self, source: str, target: str) -> None:
        self.graph.mutate(INSERT_EDGE, {"a": source, "b": target})

    def update(self, slug: str, age: int) -> None:
        self.graph.mutate(UPDATE, {"s": slug, "age": age})

    def delete(self, slug: str) -> None:
        self.graph.mutate(DELETE, {"s": slug})

    def branch_create(self, name: str) -> None:
        self.graph.branches.create(name)

    def branch_insert(self, name: str, row: dict[str, Any]) -> None:
        self.graph.mutate(INSERT, row, branch=name)


class DurableOmniGraph(OmniGraph):
    """The same, and a commit survives a power cut."""

    name = "omnigraph, power level"
    durability = "power"


if __name__ == "__main__":
    _core.main({"omnigraph": OmniGraph, "omnigraph_power": DurableOmniGraph})
