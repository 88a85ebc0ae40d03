"""Encodes the source of a load as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.api.wire_values import to_wire
from omnigraph.catalog.model import EdgeType
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

__all__ = ["ndjson_of", "needs_catalog"]

_LINES = {"ndjson", "jsonl", "json"}
_ENDS = ("from", "to", "src", "dst")


def needs_catalog(source: Any) -> bool:
    """Whether rows need envelopes, which differ for nodes and edges."""
    return isinstance(source, Mapping)


def ndjson_of(source: Any, *, format: str | None, catalog: Catalog | None = None) -> bytes:  # noqa: A002 - the facade's word
    """Encode the source of a load as JSON lines.

    They are held in memory, since a repetition sends them again; the size limit of a server keeps
    them small.
    """
    if _is_file(source):
        return _of_file(source, format)
    if isinstance(source, Mapping):
        return b"".join(_of_type(name, part, catalog) for name, part in source.items())
    if _is_table(source):
        return _lines(_rows(source))
    if isinstance(source, Iterable):
        return b"".join(
            _of_file(part, format) if _is_file(part) else _lines([part]) for part in source
        )
    raise _refused(f"a {type(source).__name__}")


def _is_file(source: Any) -> bool:
    return isinstance(source, str | Path | bytes | bytearray) or hasattr(source, "read")


def _of_file(source: Any, format: str | None) -> bytes:  # noqa: A002
    if isinstance(source, str | Path):
        path = Path(source)
        _require_lines(path.name, format or path.suffix.lstrip(".").lower())
        data = _read(path)
    else:
        _require_lines("the input", format or "ndjson")
        found: str | bytes = source.read() if hasattr(source, "read") else source
        data = found.encode() if isinstance(found, str) else bytes(found)
    return data if data.endswith(b"\n") or not data else data + b"\n"


def _require_lines(name: str, kind: str) -> None:
    if kind not in _LINES:
        raise _refused(f"{name}, which is not JSON lines,")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            "file.unreadable", f"cannot read {path}:  {error.strerror or error}"
        ) from error


def _of_type(name: str, part: Any, catalog: Catalog | None) -> bytes:
    if _is_file(part):
        raise _refused(f"a file of {name} in a mapping")
    entity = catalog.entity(name) if catalog is not None else None
    rows = _rows(part) if _is_table(part) else list(part)
    if not isinstance(entity, EdgeType):
        return _lines({"type": name, "data": row} for row in rows)
    return _lines(
        {
            "edge": name,
            "from": row.get("from", row.get("src")),
            "to": row.get("to", row.get("dst")),
            "data": {key: value for key, value in row.items() if key not in _ENDS},
        }
        for row in rows
    )


def _is_table(source: Any) -> bool:
    return hasattr(source, "to_pylist") or hasattr(source, "to_dicts") or hasattr(source, "columns")


def _rows(table: Any) -> list[dict[str, Any]]:
    if hasattr(table, "to_pylist"):
        return list(table.to_pylist())
    if hasattr(table, "to_dicts"):
        return list(table.to_dicts())
    # A pandas frame; Arrow recognises its missing values.
    import pyarrow as pa  # noqa: PLC0415 - only frames need it

    return list(pa.Table.from_pandas(table, preserve_index=False).to_pylist())


def _lines(records: Iterable[Any]) -> bytes:
    return b"".join(
        json.dumps(to_wire(record), ensure_ascii=False).encode() + b"\n" for record in records
    )


def _refused(what: str) -> InvalidInput:
    return InvalidInput(
        "load.bad_source",
        f"{what} cannot be sent to a server",
        remedy="use JSON lines, records or tables, or load into the storage directly",
    )
