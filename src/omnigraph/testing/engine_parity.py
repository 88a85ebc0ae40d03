"""Compares loads in process and by Spark on two graphs with the same contents.

The load in process defines the semantics; the load by Spark must have the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from difflib import unified_diff
from pprint import pformat
from typing import TYPE_CHECKING, Any

from omnigraph.api.writes import LoadRequest, Mode
from omnigraph.errors import GraphError, StorageFault
from omnigraph.graph.open import init_graph
from omnigraph.pipeline.spark_load import SparkLoadOptions, load_on_spark

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

__all__ = ["SCHEMA", "LoadOutcome", "Twins", "contents", "outcome_of"]

SCHEMA = """
node Person {
    name: String @key
    age: I64? @range(0..150)
    mail: String? @unique
    mood: enum(glad, sad)?
    code: String? @check("[a-z]{2,4}")
    score: F64?
}

node Place {
    country: String
    zip: I32
    @key(country, zip)
}

node Note {
    text: String @unique
    tags: [String]?
    embedding: Vector(3)?
}

edge Knows: Person -> Person @card(0..3) {
    since: Date?
}

edge LivesIn: Person -> Place @card(0..1) {
    from_day: Date?
    @key(src, dst)
}

edge Mentions: Note -> Person @card(1..) {
    weight: U64? @unique
}
"""


@dataclass(frozen=True)
class LoadOutcome:
    """The outcome of a load in a form that is comparable between engines."""

    ending: str
    counts: dict[str, Any] = field(default_factory=dict)
    violations: Counter[tuple[Any, ...]] = field(default_factory=Counter)


class Twins:
    """Two graphs with the same contents, one loaded in process and one by Spark."""

    def __init__(self, directory: Path, spark: Any, schema: str = SCHEMA) -> None:
        self._spark = spark
        self.directory = directory
        self.local = init_graph(directory / "local.omni", schema, durability="process")
        self.spark = init_graph(directory / "spark.omni", schema, durability="process")
        self.order = SparkLoadOptions()

    def write(self, name: str, *records: Any) -> str:
        """Write a file of records; strings and bytes are written unchanged."""
        path = self.directory / name
        with path.open("wb") as file:
            for record in records:
                match record:
                    case bytes():
                        file.write(record)
                    case str():
                        file.write(record.encode())
                    case _:
                        file.write(json.dumps(record).encode())
                file.write(b"\n")
        return str(path)

    def load(self, source: Any, mode: str = "merge", **options: Any) -> LoadOutcome:
        """Load into both graphs; outcomes and contents must be equal."""
        mine = self.load_on_spark(source, mode, **options)
        yours = outcome_of(lambda: self.local.load(source, mode=mode, **options))
        _require_equal(mine, yours)
        self.compare()
        return mine

    def load_on_spark(self, source: Any, mode: str = "merge", **options: Any) -> LoadOutcome:
        request = LoadRequest(source, Mode(mode), **options)
        return outcome_of(
            lambda: load_on_spark(lambda: self._spark, self.spark.engine, request, self.order).load
        )

    def compare(self) -> None:
        _require_equal(contents(self.spark), contents(self.local))


def _require_equal(spark: Any, local: Any) -> None:
    if spark != local:
        wanted, found = (pformat(side, width=120).splitlines() for side in (local, spark))
        difference = unified_diff(wanted, found, "local", "spark", lineterm="")
        raise AssertionError("\n".join(difference))


def outcome_of(load: Callable[[], Any]) -> LoadOutcome:
    try:
        result = load()
    except GraphError as error:
        details = error.details
        found = Counter(
            (
                item["rule"],
                item.get("type"),
                _masked(item.get("id")),
                item.get("property"),
                str(item.get("value")),
                item.get("record"),
                item.get("line"),
                item.get("file"),
                _reported(item),
            )
            for item in details.get("violations", [])
        )
        told = details.get("counts") or {key: details[key] for key in ("ids",) if key in details}
        if isinstance(error, StorageFault):
            raise
        return LoadOutcome(f"{type(error).__name__} {error.code}", told, found)
    body = result.to_json()
    return LoadOutcome("done", {key: body[key] for key in _COMPARED})


_COMPARED = ("mode", "nodes", "edges", "superseded", "deleted")
_MINTED = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")


def _masked(key: str | None) -> str | None:
    """Mask a generated id."""
    return None if key is None else _MINTED.sub("minted", key)


def _reported(item: dict[str, Any]) -> str:
    # Spark reads lines, so its parser reports other details of malformed JSON.
    return "" if item["rule"] == "json" else _MINTED.sub("minted", item["message"])


def contents(graph: EmbeddedGraph, target: str = "main") -> dict[str, Counter[str]]:
    """Return all entities of a graph by type, with generated ids masked."""
    snapshot = graph.engine.snapshot(target)
    found = {}
    for key, entity in snapshot.catalog.types.items():
        rows = snapshot.table(key).scan().to_pylist()
        for row in rows:
            row["id"] = _masked(row["id"])
        found[entity.name] = Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)
    return found
