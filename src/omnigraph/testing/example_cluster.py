"""A small cluster directory for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONFIG", "POLICY", "QUERIES", "SCHEMA", "WIDER", "write_cluster"]

SCHEMA = """\
node Person {
    name: String @key
    age: I32?
}
"""
WIDER = SCHEMA.replace("age: I32?", "age: I32?\n    city: String?")
QUERIES = """\
query people() { match { $p: Person } return { $p.name } }
query ages() { match { $p: Person } return { $p.age } }
"""
POLICY = """\
version: 1
rules:
  - id: everyone-reads
    allow: {actors: {group: everyone}, actions: [read]}
"""
CONFIG = """\
version: 1
metadata: {name: demo}
graphs:
  people:
    schema: people.pg
    queries: queries
policies:
  readers: {file: readers.yaml, applies_to: [people]}
"""


def write_cluster(directory: Path) -> None:
    """Declare one graph with two queries and a policy."""
    (directory / "queries").mkdir(parents=True)
    (directory / "cluster.yaml").write_text(CONFIG)
    (directory / "people.pg").write_text(SCHEMA)
    (directory / "queries" / "people.gq").write_text(QUERIES)
    (directory / "readers.yaml").write_text(POLICY)
