"""Checks a graph on disk against the invariants, whatever happened to its writers.

``check_graph`` reads refs, manifests, schemas and pins from storage, without any cache, and returns
descriptions of all violations.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.api.names import MAIN
from omnigraph.api.refs import BranchRef
from omnigraph.api.status import RecoveryOutcome
from omnigraph.catalog import canonical
from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.errors import GraphError
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.names import encode_name
from omnigraph.versioning.stamp import FORMAT, read_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from omnigraph.catalog.model import Catalog, TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest

__all__ = ["check_graph", "require_whole"]


def require_whole(engine: Engine) -> None:
    """Fail with all violations."""
    problems = check_graph(engine)
    if problems:
        raise AssertionError("the graph is broken:\n  " + "\n  ".join(problems))


def check_graph(engine: Engine) -> list[str]:
    """Return the violations that are visible on disk; empty if all invariants hold.

    Recovery runs first on a writable graph, because intents of dead writers are legitimate until
    then.
    """
    walk = _Walk(engine)
    for step in _STEPS:
        try:
            step(walk)
        except GraphError as error:
            walk.report(f"{step.__name__.strip('_')}: {error}")
    return walk.problems


@dataclass
class _Walk:
    engine: Engine
    problems: list[str] = field(default_factory=list)
    # Incarnation → its manifests, oldest first.
    chains: dict[str, list[Manifest]] = field(default_factory=dict)
    ruling: dict[str, BranchRef] = field(default_factory=dict)
    homes: dict[str, tuple[str, int]] = field(default_factory=dict)
    ids: dict[tuple[str, int, str], list[str]] = field(default_factory=dict)

    def report(self, problem: str) -> None:
        self.problems.append(problem)

    def manifest(self, incarnation: str, version: int) -> Manifest:
        """Read a manifest from storage, bypassing caches."""
        return self.engine.root.store.read(incarnation, version)

    def open_heads(self) -> Iterable[Manifest]:
        for ref in self.ruling.values():
            chain = self.chains.get(ref.incarnation)
            if ref.open and chain and not chain[-1].tombstone:
                yield chain[-1]


def _stamp(walk: _Walk) -> None:
    root = walk.engine.root
    stamp = read_stamp(root.objects)
    if stamp.graph_id != root.stamp.graph_id:
        walk.report(f"the stamp belongs to graph {stamp.graph_id}, not {root.stamp.graph_id}")
    if not root.read_only and stamp.internal_schema_version != FORMAT:
        walk.report(f"the stamp has format {stamp.internal_schema_version} after a read-write open")


def _intents(walk: _Walk) -> None:
    engine = walk.engine
    if not engine.root.read_only:
        engine.recovery.sweep()
    for pending in engine.recovery.pending():
        if pending.reason != "in flight":
            walk.report(f"intent {pending.id} is left behind: {pending.reason}")


def _refs(walk: _Walk) -> None:
    objects = walk.engine.root.objects
    numbered: dict[str, list[BranchRef]] = {}
    for key in objects.list(layout.BRANCHES):
        if "/" not in key.removeprefix(f"{layout.BRANCHES}/"):
            continue  # of format 1; a power cut may restore it
        try:
            ref = BranchRef(**parse_json(objects.get(key)))
        except MALFORMED as error:
            walk.report(f"ref {key} cannot be read: {error}")
            continue
        numbered.setdefault(str(ref.name), []).append(ref)
        if key != layout.branch_ref(encode_name(ref.name), ref.number):
            walk.report(f"ref {key} has the number {ref.number} of {ref.name}")
    for name, found in numbered.items():
        _check_numbers(walk, name, found)
        walk.ruling[name] = found[-1]
    main = walk.ruling.get(MAIN)
    if main is None or not main.open or main.number != 1:
        walk.report("main is missing, deleted or replaced")


def _check_numbers(walk: _Walk, name: str, found: list[BranchRef]) -> None:
    """Check that refs are numbered from 1 without gaps, alternating opened and deleted."""
    if [ref.number for ref in found] != list(range(1, len(found) + 1)):
        walk.report(f"branch {name}: refs are numbered {[ref.number for ref in found]}")
    for before, after in itertools.pairwise(found):
        if before.open == after.open:
            walk.report(f"branch {name}: ref {after.number} repeats ref {before.number}")
        if not after.open and after.incarnation != before.incarnation:
            walk.report(f"branch {name}: ref {after.number} deletes another incarnation")
    opened = [ref.incarnation for ref in found if ref.open]
    if len(set(opened)) != len(opened):
        walk.report(f"branch {name}: an incarnation was opened twice")
    closed = {ref.incarnation for ref in found if not ref.open}
    for ref in found:
        _read_chain(walk, ref)
        chain = walk.chains.get(ref.incarnation)
        if ref.incarnation in closed and chain and not chain[-1].tombstone:
            walk.report(f"branch {name}: {ref.incarnation} is deleted but has no tombstone")


def _read_chain(walk: _Walk, ref: BranchRef) -> None:
    """Read all manifests of an incarnation, and check the rules between neighbours."""
    if ref.incarnation in walk.chains:
        return
    newest = walk.engine.root.store.newest(ref.incarnation)
    chain = [walk.manifest(ref.incarnation, version) for version in range(1, newest + 1)]
    walk.chains[ref.incarnation] = chain
    _check_beginning(walk, ref, chain[0])
    for before, after in itertools.pairwise(chain):
        _check_link(walk, before, after)


def _check_beginning(walk: _Walk, ref: BranchRef, first: Manifest) -> None:
    place = f"branch {ref.name} ({ref.incarnation})"
    if ref.fork_commit is None:
        if first.commit.kind is not WriterKind.INIT or first.commit.parent is not None:
            walk.report(f"{place} does not begin with the init commit")
        _check_home(walk, first)
    elif first.commit.id != ref.fork_commit:
        walk.report(f"{place} begins at {first.commit.id}, not at its fork {ref.fork_commit}")
    if first.tombstone or first.voids:
        walk.report(f"{place} begins with a tombstone or with void operations")


def _check_link(walk: _Walk, before: Manifest, after: Manifest) -> None:
    place = f"manifest {after.incarnation} version {after.version}"
    parent = after.commit.parent
    if parent is None or (parent.id, parent.incarnation, parent.version) != (
        before.commit.id,
        before.incarnation,
        before.version,
    ):
        walk.report(f"{place}: its parent is {parent}, not the version before it")
    if after.commit.time_micros <= before.commit.time_micros:
        walk.report(f"{place} is not later than its parent")
    if before.tombstone:
        walk.report(f"{place} follows a tombstone")
    if after.commit.kind is WriterKind.RECOVERY and dict(after.pins) != dict(before.pins):
        walk.report(f"{place}: a recovery commit moved a pin")
    if before.is_void(after.commit.id):
        walk.report(f"{place} publishes the void operation {after.commit.id}")
    _check_home(walk, after)


def _check_home(walk: _Walk, manifest: Manifest) -> None:
    """Check that a commit has one home."""
    home = (manifest.incarnation, manifest.version)
    if (manifest.commit.ref.incarnation, manifest.commit.ref.version) != home:
        walk.report(f"commit {manifest.commit.id} at {home} names another home")
    if walk.homes.setdefault(manifest.commit.id, home) != home:
        first = walk.homes[manifest.commit.id]
        walk.report(f"commit {manifest.commit.id} was published twice: {first}, {home}")


def _voids(walk: _Walk) -> None:
    """Check that no void operation is in the history."""
    for chain in walk.chains.values():
        for void in {void for manifest in chain for void in manifest.voids}:
            if void.operation in walk.homes:
                walk.report(f"operation {void.operation} is void and published")


def _schemas(walk: _Walk) -> None:
    objects = walk.engine.root.objects
    manifests = [manifest for chain in walk.chains.values() for manifest in chain]
    for digest in {manifest.commit.schema for manifest in manifests}:
        try:
            body = parse_json(objects.get(layout.schema_object(digest)))
            found = canonical.digest(canonical.from_json(body))
        except MALFORMED as error:
            found = f"none: {error}"
        if found != digest:
            walk.report(f"schema {digest} has the digest {found}")
    for manifest in manifests:
        types = set(walk.engine.root.catalog(manifest.commit.schema).types)
        if types != set(manifest.pins):
            walk.report(f"commit {manifest.commit.id}: types without pins, or pins without types")


def _pins(walk: _Walk) -> None:
    """Check that every pin of every commit opens with its rows, and that its ids are unique."""
    pins = {
        (pin.path, pin.version, pin.fingerprint): pin
        for chain in walk.chains.values()
        for manifest in chain
        for pin in manifest.pins.values()
    }
    for key, pin in sorted(pins.items()):
        try:
            walk.ids[key] = _read_ids(walk, pin)
        except GraphError as error:
            walk.report(f"pin {pin.path} version {pin.version} does not open: {error}")


def _read_ids(walk: _Walk, pin: Pin) -> list[str]:
    table = walk.engine.root.tables.open(pin)
    ids: list[str] = table.scan([ID.column]).column(ID.column).to_pylist()
    if len(ids) != pin.rows:
        walk.report(
            f"pin {pin.path} version {pin.version} has {len(ids)} rows instead of {pin.rows}"
        )
    twice = [key for key, count in Counter(ids).items() if count > 1]
    if twice:
        walk.report(f"pin {pin.path} version {pin.version} has duplicate ids: {sorted(twice)[:5]}")
    return ids


def _endpoints(walk: _Walk) -> None:
    for head in walk.open_heads():
        catalog = walk.engine.root.catalog(head.commit.schema)
        for edge in catalog.edges:
            if {edge.id, edge.source, edge.target} <= set(head.pins):
                _check_endpoints(walk, head, catalog, edge)


def _check_endpoints(walk: _Walk, head: Manifest, catalog: Catalog, edge: EdgeType) -> None:
    rows = walk.engine.root.tables.open(head.pins[edge.id]).scan([SRC.column, DST.column])
    for column, end in ((SRC.column, edge.source), (DST.column, edge.target)):
        known = set(_ids_of(walk, head.pins, end))
        dangling = set(rows.column(column).to_pylist()) - known
        if dangling:
            name = catalog.types[end].name
            walk.report(f"branch {head.commit.branch}: {edge.name} ends at no {name}: {dangling}")


def _ids_of(walk: _Walk, pins: Mapping[TypeId, Pin], type_id: TypeId) -> list[str]:
    pin = pins[type_id]
    return walk.ids.get((pin.path, pin.version, pin.fingerprint), [])


def _tags(walk: _Walk) -> None:
    tags = walk.engine.root.refs.tags()
    for damaged in tags.damaged:
        walk.report(f"tag {damaged.name} cannot be read: {damaged.fault}")
    for tag in tags:
        found = walk.manifest(tag.incarnation, tag.version).commit.id
        if found != tag.commit:
            walk.report(f"tag {tag.name} names {tag.commit} but that version is {found}")


def _lineage(walk: _Walk) -> None:
    """Check that the derived lineage equals the manifests."""
    for head in walk.open_heads():
        listed = [commit.id for commit in walk.engine.lineage.history(head)]
        chain = walk.chains[head.incarnation]
        own = [manifest.commit.id for manifest in reversed(chain)]
        if listed[: len(own)] != own:
            walk.report(f"branch {head.commit.branch}: the lineage differs from the manifests")
        if len(set(listed)) != len(listed):
            walk.report(f"branch {head.commit.branch}: the lineage lists a commit twice")


def _audit(walk: _Walk) -> None:
    rows = walk.engine.recovery.audit.rows()
    for operation, count in Counter(row.operation_id for row in rows).items():
        if count > 1:
            walk.report(f"operation {operation} was audited {count} times")
    for row in rows:
        published = row.operation_id in walk.homes
        if row.outcome is RecoveryOutcome.ROLLED_FORWARD and not published:
            walk.report(f"operation {row.operation_id} was rolled forward but is not in history")
        if row.outcome is RecoveryOutcome.ROLLED_BACK and published:
            walk.report(f"operation {row.operation_id} was rolled back but is in history")


_STEPS: tuple[Callable[[_Walk], None], ...] = (
    _stamp,
    _intents,
    _refs,
    _voids,
    _schemas,
    _pins,
    _endpoints,
    _tags,
    _lineage,
    _audit,
)
