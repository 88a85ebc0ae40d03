"""The stamp: the object that makes a directory a graph and names its format.

It is written last by ``init``, so a half-made graph has none and cannot be opened, and it is asked
for again before every publish: a graph that was moved or removed under a living writer has lost it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from omnigraph.errors import AlreadyExists, NotFound, StorageFault, Unsupported
from omnigraph.frozen import frozen
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = [
    "FORMAT",
    "Durability",
    "Settings",
    "Stamp",
    "read_stamp",
    "require_not_deleted",
    "write_stamp",
]

# 1: one unnumbered ref per branch. 2: numbered refs, so that a name can be reused safely.
# 3: manifests and the audit of recovery are objects, no Lance datasets.
FORMAT = 3

Durability = str
DURABILITIES = ("power", "process")


@frozen
class Settings:
    """The settings of a graph."""

    # "power": acknowledged commits survive a power cut. "process": they survive a killed process.
    durability: Durability = "power"
    retention_days: int = 30
    retention_commits: int = 100


@frozen
class Stamp:
    graph_id: str
    internal_schema_version: int
    created_at_micros: int
    settings: Settings = field(default_factory=Settings)

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), indent=2, sort_keys=True).encode()


def read_stamp(objects: ObjectStore) -> Stamp:
    """The stamp of a graph that this build can read."""
    try:
        version, stamp = _parse(objects.get(layout.STAMP))
    except NotFound:
        raise _no_graph(objects) from None
    except MALFORMED as error:
        raise StorageFault(
            "graph.stamp_malformed", f"{layout.STAMP} in {objects.uri} cannot be read: {error}"
        ) from error
    if stamp is None:
        raise Unsupported(
            "graph.newer_format",
            f"{objects.uri} has format {version}; this build knows formats up to {FORMAT}",
            remedy="upgrade first: pip install --upgrade omnigraph-py",
            details={"found": version, "supported": FORMAT},
        )
    return stamp


# Every publish asks whether the graph is in place, and mostly finds the same text.
@lru_cache(64)
def _parse(text: bytes) -> tuple[int, Stamp | None]:
    """The format, and the stamp if it is one that this build can read."""
    body = parse_json(text)
    version = _count(body, "internal_schema_version", at_least=1)
    # A newer build may write what we cannot read: its number comes first.
    return version, _stamp_from(body) if version <= FORMAT else None


def write_stamp(objects: ObjectStore, stamp: Stamp) -> None:
    """The moment at which a graph begins to exist."""
    if not objects.put_if_absent(layout.STAMP, stamp.to_bytes()):
        raise AlreadyExists("graph.exists", f"{objects.uri} is a graph already")


def _stamp_from(body: dict[str, Any]) -> Stamp:
    known = Settings.__dataclass_fields__
    settings = {key: value for key, value in body.get("settings", {}).items() if key in known}
    if settings.get("durability", DURABILITIES[0]) not in DURABILITIES:
        raise ValueError(f"durability {settings['durability']!r} is not known")
    for name in settings.keys() & {"retention_days", "retention_commits"}:
        _count(settings, name)
    return Stamp(
        graph_id=str(body["graph_id"]),
        internal_schema_version=_count(body, "internal_schema_version"),
        created_at_micros=_count(body, "created_at_micros"),
        settings=Settings(**settings),
    )


def _count(body: dict[str, Any], name: str, *, at_least: int = 0) -> int:
    value = body[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} is {value!r}")
    return value


def require_not_deleted(objects: ObjectStore) -> None:
    """Refuse a graph with a tombstone, also while its deletion is incomplete."""
    if objects.exists(layout.DELETED):
        raise _deleted(objects)


def _deleted(objects: ObjectStore) -> NotFound:
    return NotFound(
        "graph.deleted",
        f"the graph at {objects.uri} was deleted",
        remedy="restore it with `omnigraph cluster undelete`, or choose another location",
    )


def _no_graph(objects: ObjectStore) -> NotFound:
    if objects.exists(layout.DELETED):
        return _deleted(objects)
    if objects.list(layout.INIT_CLAIMS):
        return NotFound(
            "graph.half_made",
            f"{objects.uri} holds a graph whose creation did not finish",
            remedy="run `omnigraph init --force` to clean it up and create it anew",
        )
    if objects.exists(layout.CLONE_MARKER):
        return NotFound(
            "graph.half_cloned",
            f"{objects.uri} holds a copy of a graph that is not finished",
            remedy="run the same `omnigraph clone` again: it goes on where it stopped",
        )
    return NotFound(
        "graph.missing",
        f"there is no graph at {objects.uri}",
        remedy="create one with `omnigraph init URI --schema FILE`",
    )
