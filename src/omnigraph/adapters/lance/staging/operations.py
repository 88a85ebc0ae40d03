"""Staged changes as JSON, written by the stager and read by the committer.

Besides fragments, an operation holds names and types of the fields that it wrote. Lance checks
neither: field ids are reused, so an id alone might denote another column.
"""

from __future__ import annotations

import base64
import json
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.staging.field_layout import FieldLayout
from omnigraph.adapters.lance.staging.index_segments import IndexChange
from omnigraph.errors import Conflict
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.tables import Pin

__all__ = [
    "OperationKind",
    "TableOperation",
    "fragment_body",
    "require_applicable",
    "rows_after",
    "with_plain_paths",
]


class OperationKind(StrEnum):
    APPEND = "append"
    DELETE = "delete"
    UPDATE = "update"
    OVERWRITE = "overwrite"
    RESHAPE = "reshape"
    INDEX = "index"


@frozen
class TableOperation:
    """A change in terms of fragments, each as Lance's own JSON."""

    kind: OperationKind
    base_fingerprint: str
    new: tuple[Mapping[str, Any], ...] = ()
    updated: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[int, ...] = ()
    # Field id to name and type, of the schema that the new fragments were written with.
    fields: Mapping[str, str] | None = None
    # The new schema of an overwrite, in Arrow's IPC form.
    schema: str | None = None
    # The new schema of a reshape; ``fields`` are then those that were written.
    shape: FieldLayout | None = None
    indexes: IndexChange | None = None

    @property
    def keeps_columns(self) -> bool:
        """Return whether the table has the same columns afterwards."""
        return self.kind not in (OperationKind.OVERWRITE, OperationKind.RESHAPE)

    def to_text(self) -> str:
        return json.dumps(
            {
                "kind": self.kind.value,
                "base_fingerprint": self.base_fingerprint,
                "new": list(self.new),
                "updated": list(self.updated),
                "removed": list(self.removed),
                "fields": self.fields,
                "schema": self.schema,
                "shape": self.shape.to_json() if self.shape else None,
                "indexes": self.indexes.to_json() if self.indexes else None,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_text(text: str) -> TableOperation:
        body = json.loads(text)
        return TableOperation(
            kind=OperationKind(body["kind"]),
            base_fingerprint=body["base_fingerprint"],
            new=tuple(body["new"]),
            updated=tuple(body["updated"]),
            removed=tuple(body["removed"]),
            fields=body["fields"],
            schema=body["schema"],
            shape=FieldLayout.from_json(body["shape"]) if body.get("shape") else None,
            indexes=IndexChange.from_json(body["indexes"]) if body.get("indexes") else None,
        )

    def to_lance(self) -> Any:
        """Return the operation that Lance commits."""
        lance_operation = load_lance().LanceOperation
        new, updated = _fragments(self.new), _fragments(self.updated)
        match self.kind:
            case OperationKind.APPEND:
                return lance_operation.Append(new)
            case OperationKind.DELETE:
                return lance_operation.Delete(updated, list(self.removed), "")
            case OperationKind.UPDATE:
                return lance_operation.Update(
                    removed_fragment_ids=list(self.removed),
                    updated_fragments=updated,
                    new_fragments=new,
                    # Lance treats replaced rows as covered by every index on a field that is not
                    # listed: it would find their old values, and not the new ones.
                    fields_for_preserving_frag_bitmap=[int(field) for field in self.fields or ()],
                    update_mode="rewrite_rows",
                )
            case OperationKind.OVERWRITE:
                return lance_operation.Overwrite(_decode_schema(self.schema or ""), new)
            case OperationKind.RESHAPE:
                return self._to_reshaping(new)
            case OperationKind.INDEX:
                return (self.indexes or IndexChange(())).to_lance()

    def _to_reshaping(self, fragments: list[Any]) -> Any:
        if self.shape is None:
            raise ValueError("a reshape needs a shape")
        lance_operation, schema = load_lance().LanceOperation, self.shape.to_lance()
        # A merge marks all rows as updated, so it is used only where values were written.
        return (
            lance_operation.Merge(fragments, schema)
            if fragments
            else lance_operation.Project(schema)
        )


def encode_schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def fragment_body(fragment: Any) -> Mapping[str, Any]:
    """Return a fragment as Lance's own JSON."""
    if any(
        (
            fragment.overlays,
            fragment.deletion_file,
            fragment.row_id_meta,
            fragment.created_at_version_meta,
            fragment.last_updated_at_version_meta,
        )
    ):
        found: Mapping[str, Any] = fragment.to_json()
        return found
    # Lance copies every leaf deeply; a new fragment has only these.
    return {
        "id": fragment.id,
        "files": [_file_body(file) for file in fragment.files],
        "overlays": [],
        "physical_rows": fragment.physical_rows,
        "deletion_file": None,
        "row_id_meta": None,
        "created_at_version_meta": None,
        "last_updated_at_version_meta": None,
    }


def with_plain_paths(fragment: Any) -> Any:
    """Make the files of a fragment return their path as plain text.

    Lance creates a class per call, which takes a tenth of a small commit.
    """
    for file in fragment.files:
        file.__class__ = _plain_file()
    return fragment


@cache
def _plain_file() -> type:
    return type("DataFile", (load_lance().fragment.DataFile,), {"path": _PATH})


_PATH = property(attrgetter("_path"))


def _file_body(file: Any) -> dict[str, Any]:
    body = dict(vars(file))
    body["path"] = body.pop("_path")
    return body


def require_applicable(operation: TableOperation, pin: Pin, base_fields: Mapping[str, str]) -> None:
    """Refuse a change that has another meaning on this base than where it was staged."""
    # Index coverage is given by fragment ids, which other versions assign otherwise.
    bound = operation.kind in (OperationKind.RESHAPE, OperationKind.INDEX)
    if operation.updated or operation.removed or bound:
        _require_same_base(operation, pin)
    if operation.kind is OperationKind.OVERWRITE or bound:
        return
    written = {str(field) for fragment in operation.new for field in _fields_of(fragment)}
    staged_fields = operation.fields or {}
    moved = sorted(
        staged_fields.get(field, field)
        for field in written
        if base_fields.get(field) != staged_fields.get(field)
    )
    if moved:
        raise Conflict(
            "table.schema_moved",
            f"table {pin.path}: rows were staged for columns that version {pin.version} does not "
            f"have: {', '.join(moved)}",
            details={"table": pin.path, "version": pin.version, "columns": moved},
            remedy="Stage the rows again at the new pin.",
        )


def rows_after(operation: TableOperation, pin: Pin, dataset: Any) -> int:
    """Return the row count after an operation, computed from its fragments."""
    new = sum(fragment["physical_rows"] for fragment in operation.new)
    if operation.kind is OperationKind.OVERWRITE:
        return int(new)
    if operation.kind in (OperationKind.RESHAPE, OperationKind.INDEX):
        return pin.rows
    kept = {fragment["id"]: _live_rows(fragment) for fragment in operation.updated}
    touched = (dataset.get_fragment(each) for each in (*kept, *operation.removed))
    # A missing one is refused when the change is applied.
    before = sum(fragment.metadata.num_rows for fragment in touched if fragment is not None)
    return int(pin.rows + new - before + sum(kept.values()))


def _live_rows(fragment: Mapping[str, Any]) -> int:
    deletions = fragment["deletion_file"] or {}
    return int(fragment["physical_rows"] - deletions.get("num_deleted_rows", 0))


def _require_same_base(operation: TableOperation, pin: Pin) -> None:
    # Deletion vectors replace those of the base: on another version they would undelete rows.
    if operation.base_fingerprint != pin.fingerprint:
        raise Conflict(
            "table.staged_elsewhere",
            f"table {pin.path}: the change was staged at another version than {pin.version}",
            details={"table": pin.path, "version": pin.version},
            remedy="Stage the change again at the new pin.",
        )


def _fields_of(fragment: Mapping[str, Any]) -> list[int]:
    # Negative ids are tombstones of dropped columns.
    return [field for file in fragment["files"] for field in file["fields"] if field >= 0]


def _fragments(bodies: tuple[Mapping[str, Any], ...]) -> list[Any]:
    metadata = load_lance().fragment.FragmentMetadata
    return [with_plain_paths(metadata.from_json(json.dumps(body))) for body in bodies]


def _decode_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
