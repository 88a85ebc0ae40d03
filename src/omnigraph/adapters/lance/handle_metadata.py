"""What is known of a handle: it stays at its version, so each thing is read once.

Every write asks for all of this several times, and Lance makes it anew each time that it is asked.
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
    """One fragment. Its data files are never rewritten, and nobody else has them: they name it."""

    name: str
    physical_rows: int
    rows: int
    # Values that are laid over a file are not in it.
    laid_over: bool


def schema_of(dataset: Any) -> pa.Schema:
    """The columns as Lance has them."""
    found: pa.Schema = _once(dataset, "schema", lambda: dataset.schema)
    return found


def plain_fields(dataset: Any) -> tuple[int, ...] | None:
    """The ids of the columns, when each is one column of a file as well; None when some are lists,
    vectors, structures or blobs."""
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
    """The fragments, in the order of ``get_fragments``."""
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
    """The files of a fragment, as one name."""
    # ``path`` makes a class at every call, and this is asked of every file by every write.
    return "+".join(vars(file).get("_path") or file.path for file in metadata.files)


def field_names(dataset: Any) -> Mapping[str, str]:
    """Field ids with their names and types, nested ones included."""
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
    """A version with the columns of another is known as far as that is, its fragments when some
    were only appended."""
    parents = _KNOWN.get(parent, {})
    known = {what: parents[what] for what in _OF_COLUMNS if what in parents}
    if appended is not None and "fragments" in parents:
        known["fragments"] = (*parents["fragments"], *map(_info_of_new, appended))
    _KNOWN[dataset] = known


def _info_of_new(body: Mapping[str, Any]) -> FragmentInfo:
    rows = body["physical_rows"]
    name = "+".join(file["path"] for file in body["files"])
    return FragmentInfo(name, rows, rows, laid_over=False)


_OF_COLUMNS = ("schema", "fields", "plain")

# What is kept must not refer to the handle, or neither would ever go.
_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _once(dataset: Any, what: str, read: Callable[[], Any]) -> Any:
    known = _KNOWN.setdefault(dataset, {})
    if what not in known:
        known[what] = read()
    return known[what]
