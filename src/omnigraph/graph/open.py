"""The composition root: the only place where adapters meet the engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.catalog.build import build_catalog
from omnigraph.errors import InvalidInput
from omnigraph.graph.facade import Graph
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.operations.clone.clone import CloneResult, Target, copy_graph
from omnigraph.operations.create import create_graph
from omnigraph.operations.engine import Engine
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.faults import arm_from_environment
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.limits import DEFAULT_LIMITS, Limits
from omnigraph.versioning.migrations import migrate, upgraded_view
from omnigraph.versioning.root import GraphRoot
from omnigraph.versioning.stamp import DURABILITIES, FORMAT, Settings, Stamp, read_stamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.model import Catalog
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.ports.objects import ObjectStore
    from omnigraph.ports.tables import TableStore

__all__ = ["clone_graph", "init_graph", "open_graph", "open_ports"]


def init_graph(
    uri: str | Path,
    schema: str | Path,
    *,
    actor: str | None = None,
    durability: str = "power",
    force: bool = False,
    storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    embedder: Embedder | None = None,
) -> Graph:
    """Create a graph and open it.

    ``schema`` is a path to a ``.pg`` file, or the text itself. ``durability`` is ``"power"`` (an
    acknowledged commit survives a power cut) or ``"process"`` (it survives a killed process).
    ``force`` clears away what an earlier creation left half-made; it never touches a graph.
    ``embedder`` makes vectors of texts that ``nearest`` is asked for.
    """
    if durability not in DURABILITIES:
        raise InvalidInput(
            "graph.bad_durability",
            f"durability {durability!r} is not known",
            remedy='choose "power" or "process"',
        )
    arm_from_environment()
    catalog = _read_schema(schema)
    stamp = Stamp(new_ulid(), FORMAT, SYSTEM_CLOCK.now_micros(), Settings(durability=durability))
    root = _root(str(uri), stamp, storage_options, limits)
    create_graph(root, catalog, actor=actor, force=force)
    return Graph(Engine(root, embedder=embedder), actor=actor)


def open_graph(
    uri: str | Path,
    *,
    read_only: bool = False,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    embedder: Embedder | None = None,
) -> Graph:
    """Open a graph.

    A read-write open migrates an older format and resolves what unfinished writers left behind; a
    read-only open writes nothing at all. ``actor`` is who writes when a call does not say.
    ``embedder`` makes vectors of texts that ``nearest`` is asked for.
    How durable it is was decided when the graph was made: a handle that took it easier would let
    others acknowledge what stands on sand.
    """
    arm_from_environment()
    stamp = read_stamp(open_objects(str(uri), storage_options))
    if not read_only:
        durable = stamp.settings.durability == "power"
        stamp = migrate(open_objects(str(uri), storage_options, durable=durable), stamp)
    root = _root(str(uri), stamp, storage_options, limits, read_only=read_only)
    engine = Engine(root, embedder=embedder)
    if not read_only:
        engine.recovery.sweep()
    return Graph(engine, actor=actor)


def clone_graph(
    source: str | Path,
    target: str | Path,
    *,
    branches: Sequence[str] = (),
    incremental: bool = False,
    storage_options: Mapping[str, str] | None = None,
    target_storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> CloneResult:
    """Copy a graph to another place, from disk or bucket to disk or bucket, while others write.

    ``branches`` are copied with ``main`` and all their history; none means all. The copy is the
    same graph, with the same id. An interrupted clone goes on where it stopped; ``incremental``
    brings a finished copy up to date. ``target_storage_options`` default to those of the source.
    """
    arm_from_environment()
    options = storage_options if target_storage_options is None else target_storage_options
    files = open_objects(str(source), storage_options)
    stamp = read_stamp(files)
    durable = stamp.settings.durability == "power"
    return copy_graph(
        Engine(_root(str(source), stamp, storage_options, limits, read_only=True)),
        files,
        Target(
            # What stands in a copy is taken for complete, so it is synced whatever the graph wants.
            open_objects(str(target), options, durable=True),
            LanceTables(str(target), options, durable=durable),
        ),
        branches=tuple(branches),
        incremental=incremental,
    )


def open_ports(
    uri: str, storage_options: Mapping[str, str] | None = None
) -> tuple[ObjectStore, TableStore]:
    """The storage of a graph without the graph, for processes that only read and stage."""
    return open_objects(uri, storage_options), LanceTables(uri, storage_options)


def _root(
    uri: str,
    stamp: Stamp,
    storage_options: Mapping[str, str] | None,
    limits: Limits,
    *,
    read_only: bool = False,
) -> GraphRoot:
    durable = stamp.settings.durability == "power"
    objects = open_objects(uri, storage_options, durable=durable)
    return GraphRoot(
        upgraded_view(objects, stamp) if read_only else objects,
        LanceTables(uri, storage_options, durable=durable),
        stamp,
        read_only=read_only,
        limits=limits,
        volatile=open_objects(uri, storage_options) if durable else None,
        storage_options=storage_options,
    )


def _read_schema(schema: str | Path) -> Catalog:
    """A path, or a text: a text has a brace or a line end, a path has neither."""
    if isinstance(schema, str) and ("{" in schema or "\n" in schema):
        source = Source(schema, "<schema>")
    else:
        try:
            source = Source(Path(schema).read_text(encoding="utf-8"), str(schema))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                "schema.unreadable", f"the schema {schema} cannot be read: {error}"
            ) from error
    return build_catalog(parse_schema(source), source)
