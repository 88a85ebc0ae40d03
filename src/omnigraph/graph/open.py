"""The composition root: the only module that connects adapters to the engine.

Optional features (reading a schema, a policy, cloning) are imported on first use, because every
process waits for this module.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.api.names import MAIN
from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.graph.authorize import Authorizer
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.location import parse_location, require_outside_graphs
from omnigraph.policy.actions import Action
from omnigraph.policy.guard import OPEN, ActorPolicy, Policy
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.faults import arm_from_environment
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.limits import DEFAULT_LIMITS, Limits
from omnigraph.session.engine import Engine
from omnigraph.versioning.migrations import migrate, upgraded_view
from omnigraph.versioning.root import GraphRoot
from omnigraph.versioning.stamp import (
    DURABILITIES,
    FORMAT,
    Settings,
    Stamp,
    read_stamp,
    require_not_deleted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from omnigraph.catalog.model import Catalog
    from omnigraph.lifecycle.clone.clone import CloneResult
    from omnigraph.policy.bundle import PolicyBundle
    from omnigraph.ports.earlier_formats import EarlierTables
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.ports.objects import FileStore, ObjectStore
    from omnigraph.ports.tables import TableStore

__all__ = [
    "EmbedderSource",
    "PolicySource",
    "clone_graph",
    "init_graph",
    "open_embedder",
    "open_graph",
    "open_policy",
    "open_ports",
    "open_store",
    "require_embedder",
]

# A path, ``preset:NAME``, a bundle, or an opened policy.
PolicySource: TypeAlias = "str | Path | PolicyBundle | Policy | None"
# An embedder, ``PROVIDER`` or ``PROVIDER:MODEL``; None: the provider of the environment.
EmbedderSource: TypeAlias = "Embedder | str | None"
# The variables that select a provider.
_EMBEDDER_VARIABLES = (
    "OMNIGRAPH_EMBED_PROVIDER",
    "OMNIGRAPH_EMBED_BASE_URL",
    "OMNIGRAPH_EMBED_MODEL",
    "OMNIGRAPH_EMBEDDINGS_MOCK",
)


def init_graph(
    uri: str | Path,
    schema: str | Path,
    *,
    actor: str | None = None,
    durability: str = "power",
    force: bool = False,
    storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    embedder: EmbedderSource = None,
    policy: PolicySource = None,
) -> EmbeddedGraph:
    """Create a graph and open it.

    ``schema`` is a path to a ``.pg`` file, or the text itself. ``durability`` is ``"power"`` (an
    acknowledged commit survives a power cut) or ``"process"`` (it survives a killed process).
    ``force`` removes the remains of an incomplete creation; it never touches a graph. ``embedder``
    computes the vectors of texts: an object, or a provider by name (``"local"``,
    ``"openai:text-embedding-3-small"``), else that of the environment. With a ``policy`` (a file, a
    ``preset:``, a bundle) every call is authorised, this one included.
    """
    from omnigraph.lifecycle.create import create_graph

    if durability not in DURABILITIES:
        raise InvalidInput(
            "graph.bad_durability",
            f"unknown durability level {durability!r}",
            remedy='choose "power" or "process"',
        )
    arm_from_environment()
    place = parse_location(uri, storage_options)
    catalog = _read_schema(schema)
    stamp = Stamp(new_ulid(), FORMAT, SYSTEM_CLOCK.now_micros(), Settings(durability=durability))
    root = _root(place, stamp, storage_options, limits)
    require_outside_graphs(root.objects.uri)
    guard = _guard(policy, stamp, actor)
    guard.require(Action.SCHEMA_APPLY, target_branch=MAIN)
    create_graph(root, catalog, actor=actor, force=force)
    engine = Engine(root, embedder=open_embedder(embedder))
    return EmbeddedGraph(engine, actor=actor, guard=guard)


def open_graph(
    uri: str | Path,
    *,
    read_only: bool = False,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    embedder: EmbedderSource = None,
    policy: PolicySource = None,
) -> EmbeddedGraph:
    """Open a graph.

    A read-write open migrates an older format and recovers unfinished writes; a read-only open
    writes nothing. ``actor`` is the default actor of all calls. ``embedder`` computes the vectors
    of texts: an object, or a provider by name (``"local"``, ``"openai:text-embedding-3-small"``),
    else that of the environment. With a ``policy`` (a file, a ``preset:``, a bundle) every call is
    authorised, and needs an actor. The durability level is a property of the graph, not of a
    handle: commits of a weaker handle could be lost together with later commits that other handles
    have acknowledged.
    """
    arm_from_environment()
    place = parse_location(uri, storage_options)
    objects = open_objects(place, storage_options)
    stamp = read_stamp(objects)
    require_not_deleted(objects)
    if not read_only:
        durable = stamp.settings.durability == "power"
        objects = open_objects(place, storage_options, durable=durable)
        stamp = migrate(objects, stamp, _earlier(place, storage_options))
    root = _root(place, stamp, storage_options, limits, read_only=read_only)
    engine = Engine(root, embedder=open_embedder(embedder))
    if not read_only:
        engine.recovery.sweep()
    return EmbeddedGraph(engine, actor=actor, guard=_guard(policy, stamp, actor))


def clone_graph(
    source: str | Path,
    target: str | Path,
    *,
    branches: Sequence[str] = (),
    incremental: bool = False,
    storage_options: Mapping[str, str] | None = None,
    target_storage_options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    policy: PolicySource = None,
    actor: str | None = None,
) -> CloneResult:
    """Copy a graph from disk or bucket to disk or bucket, while others write.

    ``branches``, or one by its name, are copied with ``main`` and all history; all of them by
    default. The copy is the same graph, with the same id. An interrupted clone continues where it
    stopped; ``incremental`` updates a complete copy. ``target_storage_options`` default to those of
    the source.
    """
    from omnigraph.lifecycle.clone.clone import CloneTarget, copy_graph
    from omnigraph.lifecycle.clone.destination import require_disjoint

    arm_from_environment()
    options = storage_options if target_storage_options is None else target_storage_options
    there, here = parse_location(source, storage_options), parse_location(target, options)
    files = open_objects(there, storage_options)
    # Later runs treat copied files as complete, so they are synced at every durability level.
    copied = open_objects(here, options, durable=True)
    stamp = read_stamp(files)
    require_not_deleted(files)
    wanted = (branches,) if isinstance(branches, str) else tuple(branches)
    require_disjoint(files.uri, copied.uri)
    require_outside_graphs(copied.uri)
    durable = stamp.settings.durability == "power"
    engine = Engine(_root(there, stamp, storage_options, limits, read_only=True))
    if policy is not None:
        # A copy contains the full history of its branches.
        named = wanted or [ref.name for ref in engine.root.refs.branches() if ref.open]
        Authorizer(engine, _guard(policy, stamp, actor)).export_all([MAIN, *named])
    return copy_graph(
        engine,
        files,
        CloneTarget(copied, LanceTables(here, options, durable=durable)),
        branches=wanted,
        incremental=incremental,
    )


def open_embedder(source: EmbedderSource = None) -> Embedder | None:
    """Open an embedder; without a source, that of the environment, or None if it selects none.

    Configuration and connections are read and made on first use.
    """
    if source is not None and not isinstance(source, str):
        return source
    if source is None and not any(os.environ.get(name) for name in _EMBEDDER_VARIABLES):
        return None
    from omnigraph.adapters.embedders.configured import configured_embedder

    return configured_embedder(source)


def require_embedder(source: EmbedderSource = None) -> Embedder:
    """Open an embedder, or raise an error if none is configured."""
    embedder = open_embedder(source)
    if embedder is None:
        raise Unsupported(
            "embed.no_provider",
            "no embedding provider is configured",
            remedy="configure one with OMNIGRAPH_EMBED_PROVIDER, for example local",
        )
    return embedder


def open_policy(source: PolicySource) -> Policy | None:
    """Open a policy: a path to a bundle, ``preset:team`` and the like, a parsed bundle, or a
    policy.
    """
    if source is None or isinstance(source, Policy):
        return source
    from omnigraph.adapters.cedar import CedarDecider
    from omnigraph.policy.bundle import PolicyBundle

    bundle = source if isinstance(source, PolicyBundle) else _read_bundle(source)
    return Policy(bundle, CedarDecider(bundle))


def _read_bundle(source: str | Path) -> PolicyBundle:
    from omnigraph.policy.presets import PRESET_PREFIX, preset_text
    from omnigraph.policy.reading import parse_bundle

    if str(source).startswith(PRESET_PREFIX):
        return parse_bundle(preset_text(str(source)), str(source))
    return parse_bundle(_read_text(source, "policy.unreadable", "policy"), str(source))


def open_store(
    uri: str | Path, storage_options: Mapping[str, str] | None = None, *, durable: bool = False
) -> FileStore:
    """Open the objects at a location, which need not be a graph."""
    arm_from_environment()
    return open_objects(parse_location(uri, storage_options), storage_options, durable=durable)


def open_ports(
    uri: str, storage_options: Mapping[str, str] | None = None
) -> tuple[ObjectStore, TableStore]:
    """Open the storage of a graph without the graph, for processes that only read and stage."""
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
        upgraded_view(objects, stamp, _earlier(uri, storage_options)) if read_only else objects,
        LanceTables(uri, storage_options, durable=durable),
        stamp,
        read_only=read_only,
        limits=limits,
        volatile=open_objects(uri, storage_options) if durable else None,
        storage_options=storage_options,
    )


def _earlier(uri: str, storage_options: Mapping[str, str] | None) -> Callable[[], EarlierTables]:
    """How an older graph is read; nothing is loaded for one of this format."""

    def tables() -> EarlierTables:
        from omnigraph.adapters.lance.earlier_formats import EarlierLanceTables

        return EarlierLanceTables(uri, storage_options)

    return tables


def _read_schema(schema: str | Path) -> Catalog:
    """Read a schema from a path or a text: a text has a brace or a line end, a path has neither."""
    from omnigraph.catalog.build import build_catalog
    from omnigraph.language.pg.parser import parse_schema
    from omnigraph.language.source import Source

    if isinstance(schema, str) and ("{" in schema or "\n" in schema):
        source = Source(schema, "<schema>")
    else:
        source = Source(_read_text(schema, "schema.unreadable", "schema"), str(schema))
    return build_catalog(parse_schema(source), source)


def _read_text(path: str | Path, code: str, what: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(code, f"cannot read the {what} {path}: {why}") from error


def _guard(policy: PolicySource, stamp: Stamp, actor: str | None) -> ActorPolicy:
    opened = open_policy(policy)
    return OPEN if opened is None else ActorPolicy(opened, actor=actor, graph=stamp.graph_id)
