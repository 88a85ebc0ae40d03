"""Tables of earlier formats: manifests and the audit of recovery as Lance datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.commits.sync import NoSync, TableSync
from omnigraph.adapters.lance.commits.transactions import commit, new_transaction
from omnigraph.adapters.lance.handles.failures import (
    LANCE_ERRORS,
    is_conflict,
    panics_as_errors,
    reading,
    storage_fault,
    table_torn,
    version_missing,
)
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.handles.versions import VersionHistory
from omnigraph.adapters.lance.staging.writing import write_rows
from omnigraph.adapters.objects import open_objects
from omnigraph.adapters.objects.options import bucket_options
from omnigraph.adapters.objects.uris import Scheme, parse_uri
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = ["EarlierLanceTables"]


class EarlierLanceTables:
    """Tables below one root, each version of which replaces the one before."""

    def __init__(self, root_uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        location = parse_uri(root_uri)
        local = location.scheme is Scheme.LOCAL
        self._root = location.uri
        self._options = None if local else dict(bucket_options(storage_options).lance)
        self._versions = VersionHistory(open_objects(root_uri, storage_options))
        self._sync = TableSync(location.uri) if local else NoSync()

    def versions(self, path: str) -> list[int]:
        return self._versions.list(path)

    def has(self, path: str, version: int) -> bool:
        return self._versions.has(path, version)

    def read(self, path: str, version: int) -> pa.Table:
        dataset = self._open(path, version)
        with reading(path):
            return dataset.to_table()

    def close(self, path: str, version: int, rows: pa.Table) -> bool:
        dataset = self._open(path, version)
        fragments = write_rows(dataset, rows, path=path, mode="overwrite")
        self._sync.files(f"{path}/data/{file.path}" for part in fragments for file in part.files)
        overwrite = load_lance().LanceOperation.Overwrite(rows.schema, fragments)
        try:
            # Without retries, an overwrite at a read version is a compare-and-swap.
            made = commit(dataset, new_transaction(version, overwrite, new_ulid()))
        except LANCE_ERRORS as error:
            if is_conflict(error) or self.has(path, version + 1):
                return False
            raise storage_fault("table.unwritable", path, error) from error
        self._sync.files([self._versions.key(path, version + 1)])
        return bool(made.version == version + 1)

    def _open(self, path: str, version: int) -> Any:
        try:
            with panics_as_errors():
                return load_lance().dataset(
                    f"{self._root}/{path}", version=version, storage_options=self._options
                )
        except LANCE_ERRORS as error:
            if not self.has(path, version):
                raise version_missing(path, version) from error
            raise table_torn(path, version) from error
