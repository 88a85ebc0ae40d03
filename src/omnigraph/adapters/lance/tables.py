"""All tables of one graph, on Lance."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.adapters.lance.commits.committer import Committer
from omnigraph.adapters.lance.commits.quarantine import quarantine_torn
from omnigraph.adapters.lance.commits.sync import NoSync, TableSync
from omnigraph.adapters.lance.handles.cache import HandleCache
from omnigraph.adapters.lance.handles.failures import reading, table_missing
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
)
from omnigraph.adapters.lance.staging.writing import write_rows
from omnigraph.adapters.lance.table import LanceTable
from omnigraph.adapters.objects import open_objects
from omnigraph.adapters.objects.options import bucket_options
from omnigraph.adapters.objects.uris import Scheme, parse_uri
from omnigraph.errors import AlreadyExists, Conflict, StorageFault, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from omnigraph.ports.tables import Pin, RowSet, Staged

__all__ = ["LanceTables"]


class LanceTables:
    """Tables below one root; one session and one cache of handles for all of them.

    With ``durable``, ``create`` survives a power cut when it returns; ``commit`` does after
    ``sync``.
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

    # --- tables ---

    def create(self, path: str, schema: pa.Schema, *, operation_id: str) -> Pin:
        self._root.require_present()
        overwrite = load_lance().LanceOperation.Overwrite(encode_schema(schema), [])
        try:
            made = self._committer.create(path, overwrite, operation_id)
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

    # --- logs ---

    def latest_version(self, path: str) -> int:
        present = self._versions.list(path)
        if not present:
            raise table_missing(path)
        return present[-1]

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

    # --- details ---

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
