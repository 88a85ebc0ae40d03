"""The files of a staged change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.reading.deletion_vectors import read_offsets
from omnigraph.adapters.lance.reading.indexes import segment_directory
from omnigraph.adapters.lance.staging.operations import OperationKind
from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.ports.tables import Staged, StagedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.adapters.lance.staging.operations import TableOperation
    from omnigraph.ports.objects import ObjectStore

__all__ = ["fragment_files", "require_files", "staged_files"]


def staged_files(
    objects: ObjectStore, path: str, operation: TableOperation, *, blobs: bool
) -> tuple[StagedFile, ...]:
    """Return the files that must exist, with these sizes, at commit."""
    files = [
        StagedFile(f"{path}/data/{file['path']}", file["file_size_bytes"])
        for fragment in operation.new
        for file in fragment["files"]
        if _is_staged(file, operation)
    ]
    if blobs:
        files += [
            StagedFile(key, objects.size(key))
            for file in tuple(files)
            for key in objects.list(_side_directory(file.path))
        ]
    files += [_deletion_file(objects, path, fragment) for fragment in operation.updated]
    keys: list[str] = []
    for segment in operation.indexes.new if operation.indexes else ():
        keys += objects.list(segment_directory(path, segment["uuid"]))
    files += [StagedFile(key, objects.size(key)) for key in keys]
    return tuple(files)


def _is_staged(file: Mapping[str, Any], operation: TableOperation) -> bool:
    """A reshape adds files to existing fragments; it wrote those with its own fields."""
    if operation.kind is not OperationKind.RESHAPE:
        return True
    written = operation.fields or {}
    return all(str(field) in written for field in file["fields"])


def require_files(objects: ObjectStore, staged: Staged) -> None:
    """Check the staged files: Lance would commit missing ones, and every read would fail."""
    for file in staged.files:
        try:
            actual: int | None = objects.size(file.path)
        except NotFound:
            actual = None
        if actual != file.size:
            found = "is gone" if actual is None else f"has {actual} bytes instead of {file.size}"
            raise Conflict(
                "table.staged_missing",
                f"table {staged.path}: the staged file {file.path} {found}",
                details={"table": staged.path, "file": file.path},
                remedy="Prepare the write again.",
            )


def fragment_files(objects: ObjectStore, path: str, fragment: Any, *, blobs: bool) -> Iterator[str]:
    """Return the keys of the files of a committed fragment."""
    for file in fragment.files:
        key = f"{path}/data/{file.path}"
        yield key
        if blobs:
            yield from objects.list(_side_directory(key))
    if fragment.deletion_file is not None:
        yield f"{path}/{fragment.deletion_file.path(fragment.id)}"


def _side_directory(data_file: str) -> str:
    """Return the directory of large blob values, which is named after the data file."""
    return data_file.removesuffix(".lance")


def _deletion_file(objects: ObjectStore, path: str, fragment: Mapping[str, Any]) -> StagedFile:
    """Read a new deletion file: on a full disk Lance truncates it and reports no error."""
    key = f"{path}/{_deletion_path(fragment)}"
    body = objects.get(key)
    try:
        found = len(read_offsets(body))
    except ValueError:
        found = 0
    wanted = fragment["deletion_file"]["num_deleted_rows"]
    if found != wanted:
        raise StorageFault(
            "table.unwritable",
            f"table {path}: the deletion file {key} holds {found} of {wanted} rows",
            details={"table": path, "file": key},
            remedy="Make room on the disk and try again: nothing was published.",
        )
    return StagedFile(key, len(body))


def _deletion_path(fragment: Mapping[str, Any]) -> str:
    deletions = load_lance().fragment.DeletionFile(**fragment["deletion_file"])
    return str(deletions.path(fragment["id"]))
