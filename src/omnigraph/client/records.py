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
    if isinstance(source, str | Path):
        return _of_path(Path(source), format)
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    if hasattr(source, "read"):
        data = source.read()
        return data.encode() if isinstance(data, str) else bytes(data)
    if isinstance(source, Mapping):
        return b"".join(_of_type(name, part, catalog) for name, part in source.items())
    if _is_table(source):
        return _lines(_rows(source))
    if isinstance(source, Iterable):
        parts = list(source)
        if parts and all(isinstance(part, str | Path) for part in parts):
            return b"".join(_of_path(Path(part), format) for part in parts)
        return _lines(parts)
    raise _refused(f"a {type(source).__name__}")


def _of_path(path: Path, format: str | None) -> bytes:  # noqa: A002
    kind = format or path.suffix.lstrip(".").lower()
    if kind not in _LINES:
        raise _refused(f"{path.name}, which is not JSON lines,")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            "file.unreadable", f"cannot read {path}:  {error.strerror or error}"
        ) from error
    return data if data.endswith(b"\n") or not data else data + b"\n"


def _of_type(name: str, part: Any, catalog: Catalog | None) -> bytes:
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
