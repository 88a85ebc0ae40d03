"""Metadata of opened versions, read once per handle.

Every write needs it several times, and Lance creates it anew on each call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "FragmentInfo",
    "field_names",
    "file_names",
    "fragments_of",
    "inherit",
    "plain_fields",
    "schema_of",
]


@frozen
class FragmentInfo:
    """One fragment, named by its data files, which are never rewritten or shared."""

    name: str
    physical_rows: int
    rows: int
    # Overlaid values are not in the data file.
    laid_over: bool


def schema_of(dataset: Any) -> pa.Schema:
    """Return the columns in Lance's types."""
    found: pa.Schema = _once(dataset, "schema", lambda: dataset.schema)
    return found


def plain_fields(dataset: Any) -> tuple[int, ...] | None:
    """Return the field ids of the columns; None when some are nested or blobs."""
    found: tuple[int, ...] | None = _once(dataset, "plain", lambda: _read_plain_fields(dataset))
    return found


def _read_plain_fields(dataset: Any) -> tuple[int, ...] | None:
    fields = dataset.lance_schema.fields()
    if any(field.children() for field in fields) or not all(map(_is_plain, schema_of(dataset))):
        return None
    return tuple(field.id() for field in fields)


def _is_plain(field: pa.Field) -> bool:
    return not (pa.types.is_nested(field.type) or isinstance(field.type, pa.BaseExtensionType))


def fragments_of(dataset: Any) -> tuple[FragmentInfo, ...]:
    """Return the fragments in the order of ``get_fragments``."""
    found: tuple[FragmentInfo, ...] = _once(
        dataset,
        "fragments",
        lambda: tuple(_info_of(each.metadata) for each in dataset.get_fragments()),
    )
    return found


def _info_of(metadata: Any) -> FragmentInfo:
    return FragmentInfo(
        file_names(metadata),
        metadata.physical_rows,
        metadata.num_rows,
        bool(metadata.overlays),
    )


def file_names(metadata: Any) -> str:
    """Return one name for the files of a fragment."""
    # ``path`` creates a class per call, and every write calls it for every file.
    return "+".join(vars(file).get("_path") or file.path for file in metadata.files)


def field_names(dataset: Any) -> Mapping[str, str]:
    """Return field ids with names and types, nested fields included."""
    found: Mapping[str, str] = _once(dataset, "fields", lambda: _read_field_names(dataset))
    return found


def _read_field_names(dataset: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    pending = [(field, "") for field in dataset.lance_schema.fields()]
    while pending:
        field, parent = pending.pop()
        name = f"{parent}{field.name()}"
        found[str(field.id())] = f"{name}: {field.to_arrow().type}"
        pending += [(child, f"{name}.") for child in field.children()]
    return found


def inherit(dataset: Any, parent: Any, *, appended: Sequence[Mapping[str, Any]] | None) -> None:
    """Copy metadata to a version with the same columns: fragments too, after an append."""
    parents = _KNOWN.get(parent, {})
    known = {key: parents[key] for key in _OF_COLUMNS if key in parents}
    if appended is not None and "fragments" in parents:
        known["fragments"] = (*parents["fragments"], *map(_info_of_new, appended))
    _KNOWN[dataset] = known


def _info_of_new(body: Mapping[str, Any]) -> FragmentInfo:
    rows = body["physical_rows"]
    name = "+".join(file["path"] for file in body["files"])
    return FragmentInfo(name, rows, rows, laid_over=False)


_OF_COLUMNS = ("schema", "fields", "plain")

# Values must not refer to the handle, or neither would be collected.
_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _once(dataset: Any, key: str, read: Callable[[], Any]) -> Any:
    known = _KNOWN.setdefault(dataset, {})
    if key not in known:
        known[key] = read()
    return known[key]
