"""Cloning: a copy of a graph, consistent under writes, resumable, and verified."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from omnigraph.api.status import RecoveryOutcome
from omnigraph.errors import Conflict, GraphError, NotFound, StorageFault
from omnigraph.frozen import frozen
from omnigraph.lifecycle.clone.destination import begin_copy, end_copy
from omnigraph.lifecycle.clone.inventory import (
    Inventory,
    diverged,
    find_refs,
    find_tags,
    take_inventory,
)
from omnigraph.lifecycle.clone.transfer import Transfer
from omnigraph.runtime.faults import reach
from omnigraph.session.engine import Engine
from omnigraph.versioning import layout
from omnigraph.versioning.heads import Heads
from omnigraph.versioning.names import encode_name
from omnigraph.versioning.root import GraphRoot
from omnigraph.versioning.stamp import FORMAT, write_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ports.objects import FileStore
    from omnigraph.ports.tables import Pin, TableStore

__all__ = ["CloneResult", "CloneTarget", "copy_graph"]


@frozen
class CloneTarget:
    """The stores of the copy."""

    objects: FileStore
    tables: TableStore


@frozen
class CloneResult:
    """The copied branches, commits and files; none when the copy was up to date."""

    source: str
    target: str
    graph_id: str
    branches: tuple[str, ...]
    commits: int
    files: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def copy_graph(
    source: Engine,
    files: FileStore,
    target: CloneTarget,
    *,
    branches: tuple[str, ...] = (),
    incremental: bool = False,
) -> CloneResult:
    """Copy a graph, or some of its branches and main, with all their history.

    ``source`` is only read; ``files`` are its objects and tables as files. The copy keeps the graph
    id. ``incremental`` brings an existing copy up to date.
    """
    stamp = replace(source.root.stamp, internal_schema_version=FORMAT)
    copy = GraphRoot(target.objects, target.tables, stamp, limits=source.root.limits)
    refs, tags = find_refs(source.root, branches), find_tags(source.root)
    begin_copy(target.objects, stamp.graph_id, incremental=incremental)
    reach("clone.begun")
    job = _Clone(source, copy, Transfer(files, target.objects, source.root.objects))
    try:
        found = take_inventory(source.root, copy, refs, tags, all_tags=not branches)
        job.run(found)
    except NotFound as gone:
        if gone.code not in _REMOVED:
            raise
        raise Conflict(
            "clone.source_moved",
            f"an object was removed from {source.root.objects.uri} while it was copied: {gone}",
            remedy="run the clone again: it resumes",
        ) from gone
    return CloneResult(
        source.root.objects.uri,
        target.objects.uri,
        stamp.graph_id,
        tuple(found.branches),
        len(found.manifests),
        job.transfer.files,
        job.transfer.bytes,
    )


_REMOVED = ("manifest.missing", "object.missing", "table.missing", "table.version_missing")


class _Clone:
    def __init__(self, source: Engine, copy: GraphRoot, transfer: Transfer) -> None:
        self._source = source
        self._copy = copy
        self.transfer = transfer

    def run(self, found: Inventory) -> None:
        """Copy bottom-up, so that every object has all its dependencies."""
        self._copy_tables(found.pins)
        reach("clone.tables_copied")
        self._copy_manifests(found)
        reach("clone.manifests_copied")
        self._copy_refs(found)
        self._require_heads(found)
        reach("clone.refs_copied")
        if not self._copy.objects.exists(layout.STAMP):
            write_stamp(self._copy.objects, self._copy.stamp)
        reach("clone.stamped")
        with suppress(GraphError):
            # The graph exists; a marker that remains has no meaning.
            end_copy(self._copy.objects)

    # --- tables ---

    def _copy_tables(self, pins: Iterable[Pin]) -> None:
        by_path: defaultdict[str, list[Pin]] = defaultdict(list)
        for pin in sorted(pins, key=lambda pin: (pin.path, pin.version)):
            by_path[pin.path].append(pin)
        for path, versions in by_path.items():
            self._copy_table(path, versions)

    def _copy_table(self, path: str, pins: list[Pin]) -> None:
        held = set(self._existing_keys(path))
        needed: dict[str, None] = {}
        manifests = []
        for pin in pins:
            # Check the fingerprint here: a reused version number must not be copied for the pin.
            self._source.root.tables.open(pin)
            *files, manifest = self._source.root.tables.files(path, pin.version)
            needed |= dict.fromkeys(files)
            manifests.append(manifest)
        self.transfer.copy(key for key in needed if key not in held)
        if not self.transfer.put_all(manifests):
            raise diverged(self._copy, f"table {path} has a different version with the same number")
        self._require_complete(path, pins, [*needed, *manifests])

    def _require_complete(self, path: str, pins: list[Pin], keys: list[str]) -> None:
        """Verify that every version opens with all its files, before anything refers to it."""
        lost = set(keys) - set(self._existing_keys(path))
        if lost:
            raise StorageFault(
                "clone.incomplete",
                f"{min(lost)} was copied to {self._copy.objects.uri} and is missing",
                remedy="run the clone again",
            )
        for pin in pins:
            rows = self._copy.tables.open(pin).count()
            if rows != pin.rows:
                raise StorageFault(
                    "clone.incomplete",
                    f"the copy of table {path} has {rows} rows instead of {pin.rows}",
                )

    # --- manifests and their dependencies ---

    def _copy_manifests(self, found: Inventory) -> None:
        for schema in sorted(found.schemas):
            self._put(layout.schema_object(schema))
        for ref in found.manifests:
            self._put(layout.manifest(ref.incarnation, ref.version))
        copy_engine = Engine(self._copy)
        copy_engine.lineage.adopt(self._source.lineage.only_archived())
        self._copy_audit(found, copy_engine)

    def _existing_keys(self, path: str) -> list[str]:
        return self._copy.objects.list(path)

    def _put(self, key: str) -> None:
        if not self.transfer.put_once(key):
            raise diverged(self._copy, f"it has another {key}")

    def _copy_audit(self, found: Inventory, copy_engine: Engine) -> None:
        names = {ref.name for ref in found.refs}
        copied: set[str] = {ref.id for ref in found.manifests}
        for row in self._source.recovery.audit.rows():
            is_ours = row.branch is None or row.branch in names
            if row.outcome is RecoveryOutcome.ROLLED_FORWARD:
                published = row.operation_id
                is_ours = published in copied or copy_engine.lineage.knows(published)
            if is_ours:
                copy_engine.recovery.audit.record(row)

    # --- refs ---

    def _copy_refs(self, found: Inventory) -> None:
        for ref in found.refs:
            if not self._copy.refs.add_branch(ref):
                raise diverged(self._copy, f"branch {ref.name!r} has a history of its own")
        for tag in found.tags:
            if self._copy.refs.tag(tag.name) != tag:
                # The tag was deleted and created again, and names another commit now.
                self._copy.objects.delete(layout.tag_ref(encode_name(tag.name)))
                self._copy.refs.add_tag(tag)

    def _require_heads(self, found: Inventory) -> None:
        """Require that readers of the copy find the copied heads."""
        heads = Heads(self._copy)
        for name, ref in found.branches.items():
            head = heads.of_incarnation(ref.incarnation)
            if head.commit.id != ref.id:
                raise diverged(self._copy, f"branch {name!r} is at {head.commit.id}")
