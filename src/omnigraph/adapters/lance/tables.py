"""All tables of one graph, on Lance."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.commits.committer import Committed, Committer
from omnigraph.adapters.lance.commits.quarantine import quarantine_torn
from omnigraph.adapters.lance.commits.sync import NoSync, TableSync
from omnigraph.adapters.lance.handles.cache import HandleCache
from omnigraph.adapters.lance.handles.failures import reading, table_missing, table_raced
from omnigraph.adapters.lance.handles.fingerprint import is_commit_of, operation_of
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.handles.metadata import field_names, inherit
from omnigraph.adapters.lance.handles.root import LanceRoot
from omnigraph.adapters.lance.handles.versions import VersionHistory
from omnigraph.adapters.lance.reading.blobs import encode_schema, has_blobs
from omnigraph.adapters.lance.reading.external import LanceInput
from omnigraph.adapters.lance.reading.indexes import segment_directory
from omnigraph.adapters.lance.reading.row_sets import all_rows, differing_rows
from omnigraph.adapters.lance.staging.files import fragment_files, require_files
from omnigraph.adapters.lance.staging.operations import (
    OperationKind,
    TableOperation,
    require_applicable,
    rows_after,
    with_plain_paths,
)
from omnigraph.adapters.lance.staging.writing import write_first_rows, write_rows
from omnigraph.adapters.lance.table import LanceTable
from omnigraph.adapters.objects import open_objects
from omnigraph.adapters.objects.options import bucket_options
from omnigraph.adapters.objects.uris import Scheme, parse_uri
from omnigraph.errors import AlreadyExists, Conflict, StorageFault, Unsupported
from omnigraph.ports.tables import Pin, StagedSwap
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from omnigraph.ports.tables import RowSet, Staged

__all__ = ["LanceTables"]

_SWAPPED_MAX = 64


class LanceTables:
    """Tables below one root; one session and one cache of handles for all of them.

    With ``durable``, ``create`` and ``swap`` survive a power cut when they return; ``commit`` does
    after ``sync``.
    """

    def __init__(
        self,
        root_uri: str,
        storage_options: Mapping[str, str] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        location = parse_uri(root_uri)
        if location.scheme is Scheme.MEMORY:
            raise Unsupported("uri.unsupported", "tables cannot be kept in memory")
        local = location.scheme is Scheme.LOCAL
        options = None if local else bucket_options(storage_options).lance
        self._objects = open_objects(root_uri, storage_options, durable=durable)
        self._root = LanceRoot(location.uri, local, self._objects)
        self._versions = VersionHistory(self._objects)
        self._handles = HandleCache(location.uri, self._versions, options)
        self._committer = Committer(self._handles, self._versions, movable=local)
        self._sync = TableSync(location.uri) if durable and local else NoSync()
        # Manifest versions that this process swapped in last, open and synced already.
        self._swapped: LruCache[str, tuple[int, Any]] = LruCache(_SWAPPED_MAX)

    # --- tables ---

    def create(self, path: str, schema: pa.Schema, *, operation_id: str) -> Pin:
        self._root.require_present()
        overwrite = load_lance().LanceOperation.Overwrite(encode_schema(schema), [])
        try:
            made = self._committer.create(path, overwrite, operation_id, stable=True)
        except Conflict as error:
            raise _exists(path) from error
        self._sync_manifest(path, 1)
        # Opened again, so that the handle shares the session.
        return self._handles.pin(path, self._handles.at(path, 1), made.fingerprint)

    def open(self, pin: Pin) -> LanceTable:
        return LanceTable(pin, self._handles.pinned(pin), self._root)

    def open_external(self, path: str) -> LanceInput:
        return LanceInput(path)

    def differing_rows(self, before: Pin, after: Pin) -> tuple[RowSet, RowSet]:
        old, new = self._handles.pinned(before), self._handles.pinned(after)
        with reading(after.path):
            if before.path != after.path:
                return all_rows(old), all_rows(new)
            return differing_rows(self._objects, after.path, old, new)

    def latest(self, path: str) -> Pin:
        return self._handles.pin(path, self._handles.at(path, self.latest_version(path)))

    def commit(self, pin: Pin, staged: Staged, *, operation_id: str) -> Pin:
        self._root.require_present()
        operation = TableOperation.from_text(staged.operation)
        base = self._handles.pinned(pin)
        require_applicable(operation, pin, field_names(base))
        require_files(self._objects, staged)
        made = self._committer.extend(pin, operation.to_lance(), operation_id)
        if operation.keeps_columns:
            appended = operation.new if operation.kind is OperationKind.APPEND else None
            inherit(made.dataset, base, appended=appended)
        rows = rows_after(operation, pin, base)
        return self._handles.pin(pin.path, made.dataset, made.fingerprint, rows=rows)

    def find_committed(self, pin: Pin, operation_id: str) -> Pin | None:
        for version in self._versions.committed_by(pin.path, pin.version, operation_id):
            with suppress(StorageFault):  # one that cannot be read cannot be published
                found = self._handles.at(pin.path, version)
                if is_commit_of(found, pin.version, operation_id):
                    return self._handles.pin(pin.path, found)
        return None

    def append(self, path: str, rows: pa.Table, *, operation_id: str) -> None:
        self._root.require_present()
        base = self.latest_version(path)
        fragments = write_rows(self._handles.at(path, base), rows, path=path)
        appended = load_lance().LanceOperation.Append(fragments)
        self._committer.append(path, base, appended, operation_id)

    def operation_of(self, path: str, version: int) -> str | None:
        return operation_of(self._handles.at(path, version), version)

    def files(self, path: str, version: int) -> list[str]:
        with reading(path):
            found = list(self._contents(path, version))
            for index in self._handles.at(path, version).describe_indices():
                for segment in index.segments:
                    found += self._objects.list(segment_directory(path, segment.uuid))
        return [*dict.fromkeys(found), self._versions.key(path, version)]

    def sync(self, pins: Iterable[Pin], staged: Iterable[Staged] = ()) -> None:
        changes = tuple(staged)
        self._sync.files(file.path for change in changes for file in change.files)
        known = {change.path for change in changes}
        for pin in pins:
            if pin.path not in known:
                self._sync.files(self._contents(pin.path, pin.version))
            self._sync_manifest(pin.path, pin.version)

    # --- manifests ---

    def swap(
        self, path: str, expected: int, rows: pa.Table | StagedSwap, *, operation_id: str
    ) -> int:
        is_written = isinstance(rows, StagedSwap)
        written = rows if is_written else self.stage_swap(path, expected, rows)
        self._root.require_present()
        overwrite = load_lance().LanceOperation.Overwrite(written.schema, list(written.fragments))
        if written.handle is None:
            made = self._committer.create(path, overwrite, operation_id, stable=False)
            if not self._root.local:
                # Later versions are read from the cache of the session that made them: one that all
                # share saves requests, which are dearer than opening it anew.
                made = Committed(self._handles.at(path, 1), made.fingerprint)
        else:
            made = self._committer.swap(written.handle, path, expected, overwrite, operation_id)
        self._sync_manifest(path, expected + 1)
        self._remember(path, expected + 1, made.dataset)
        return expected + 1

    def stage_swap(self, path: str, expected: int, rows: pa.Table) -> StagedSwap:
        self._root.require_present()
        fragments, handle = self._write_manifest(path, expected, rows)
        plain = tuple(map(with_plain_paths, fragments))
        self._sync.files(f"{path}/data/{file.path}" for part in plain for file in part.files)
        return StagedSwap(rows.schema, plain, handle)

    def read_version(self, path: str, version: int) -> pa.Table:
        dataset = self._handles.at(path, version)
        with reading(path):
            return dataset.to_table()

    def latest_version(self, path: str) -> int:
        present = self._versions.list(path)
        if not present:
            raise table_missing(path)
        return present[-1]

    def has_version(self, path: str, version: int) -> bool:
        return self._versions.has(path, version)

    def unfinished(self, path: str, version: int) -> Sequence[str]:
        return self._versions.unfinished(path, version)

    def quarantine_torn(
        self, path: str, version: int, *, before_removal: Callable[[str], None] | None = None
    ) -> str:
        return quarantine_torn(
            self._objects,
            self._handles,
            self._versions,
            path,
            version,
            before_removal=before_removal,
        )

    def occupy(self, path: str, version: int, *, operation_id: str) -> None:
        below = self.latest_version(path)
        restore = load_lance().LanceOperation.Restore(below)
        if below != version - 1:
            raise table_raced(path, version, below)
        self._committer.swap(self._handles.at(path, below), path, below, restore, operation_id)
        self._sync_manifest(path, version)

    # --- details ---

    def _write_manifest(self, path: str, expected: int, rows: pa.Table) -> tuple[list[Any], Any]:
        """Data files for a manifest, and the handle that they were written through, if any."""
        if expected == 0:
            url, options = self._handles.url(path), self._handles.storage_options
            return write_first_rows(url, rows, path=path, storage_options=options), None
        version, handle = self._swapped.get(path) or (0, None)
        if version != expected:
            # A writer syncs the head that it builds on.
            handle = self._handles.at(path, expected)
            self._sync.files(self._contents(path, expected))
            self._sync_manifest(path, expected)
        return write_rows(handle, rows, path=path, mode="overwrite"), handle

    def _remember(self, path: str, version: int, dataset: Any) -> None:
        self._swapped.put(path, (version, dataset))

    def _contents(self, path: str, version: int) -> Iterator[str]:
        """The keys of a version's files. Lazy: nothing is opened where nothing is synced."""
        dataset = self._handles.at(path, version)
        blobs = has_blobs(dataset.schema)
        for fragment in dataset.get_fragments():
            yield from fragment_files(self._objects, path, fragment.metadata, blobs=blobs)

    def _sync_manifest(self, path: str, version: int) -> None:
        self._sync.files([self._versions.key(path, version)])


def _exists(path: str) -> AlreadyExists:
    return AlreadyExists("table.exists", f"table {path} exists", details={"table": path})
