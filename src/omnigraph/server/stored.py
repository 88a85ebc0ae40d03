"""Stored queries: ``.gq`` files that are compiled against the schema when the server starts.

They are compiled again after every schema change. A query that no longer compiles is reported as
broken and stays listed: invoking it fails like any invalid query, and a later schema may repair it.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from omnigraph.compiler import compile_document
from omnigraph.datatypes.types import (
    FLOATS,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.errors import GraphError, InvalidInput
from omnigraph.frozen import frozen
from omnigraph.ir.queries import MutationIR
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import Source
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.queries import ParamSpec
    from omnigraph.session.engine import Engine

__all__ = ["EMPTY", "StoredQueries", "StoredQuery", "compile_stored", "read_stored_queries"]

_log = logging.getLogger("omnigraph.server")

SETTINGS_FILE = "queries.json"
_KINDS = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    **dict.fromkeys(FLOATS, "float"),
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.BLOB: "blob",
}


@frozen
class StoredQuery:
    """One query of a file."""

    name: str
    # The whole file: the cache of compiled queries is keyed by text and name, and files are few.
    text: str
    source_name: str
    mutation: bool
    params: tuple[ParamSpec, ...]
    description: str | None = None
    instruction: str | None = None
    tool_name: str | None = None
    # Whether the catalogue lists it; an unlisted query can be invoked by name.
    expose: bool = True

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "name": self.name,
            "tool_name": self.tool_name or self.name,
            "mutation": self.mutation,
            "params": [_param_to_json(spec) for spec in self.params],
            "description": self.description,
            "instruction": self.instruction,
        }
        return {key: value for key, value in body.items() if value is not None}


class StoredQueries:
    """The stored queries of one graph, by name."""

    def __init__(self, queries: Iterable[StoredQuery] = ()) -> None:
        self._queries = {query.name: query for query in sorted(queries, key=lambda each: each.name)}
        # The schema of the last check, and the queries that do not compile.
        self._checked: tuple[str, dict[str, str]] = ("", {})

    def __len__(self) -> int:
        return len(self._queries)

    def get(self, name: str) -> StoredQuery | None:
        return self._queries.get(name)

    @property
    def shown(self) -> tuple[StoredQuery, ...]:
        return tuple(query for query in self._queries.values() if query.expose)

    def broken(self, engine: Engine) -> dict[str, str]:
        """Return the queries that do not compile against the current schema of main, with the
        reasons.
        """
        snapshot = engine.snapshot()
        schema = snapshot.manifest.commit.schema
        if self._checked[0] != schema:
            found: dict[str, str] = {}
            for query in self._queries.values():
                try:
                    engine.compiled.compile(
                        snapshot.catalog,
                        schema,
                        query.text,
                        name=query.name,
                        source_name=query.source_name,
                    )
                except GraphError as error:
                    found[query.name] = str(error)
                    _log.warning("a stored query does not compile", extra={"query": query.name})
            self._checked = (schema, found)
        return self._checked[1]


EMPTY = StoredQueries()


def read_stored_queries(directory: Path, catalog: Catalog) -> StoredQueries:
    """Read the queries of all ``.gq`` files of a directory.

    ``queries.json`` holds optional settings: ``{"name": {"expose": false, "tool_name": "…"}}``.
    """
    if not directory.is_dir():
        raise InvalidInput("queries.no_directory", f"{directory} is not a directory of queries")
    settings = _read_settings(directory / SETTINGS_FILE)
    found: dict[str, StoredQuery] = {}
    for path in sorted(directory.rglob("*.gq")):
        for query in _read_file(path, catalog, settings):
            if query.name in found:
                raise InvalidInput(
                    "queries.duplicate",
                    f"query {query.name!r} stands in {found[query.name].source_name} "
                    f"and in {query.source_name}",
                    remedy="names of stored queries must be unique",
                )
            found[query.name] = query
    unknown = sorted(set(settings) - set(found))
    if unknown:
        raise InvalidInput(
            "queries.unknown",
            f"{SETTINGS_FILE} names {unknown[0]!r}, and no file contains that query",
        )
    return StoredQueries(found.values())


def _read_file(
    path: Path, catalog: Catalog, settings: Mapping[str, Mapping[str, Any]]
) -> Iterable[StoredQuery]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("queries.unreadable", f"cannot read {path}: {error}") from error
    yield from _compile(Source(text, path.name), catalog, settings)


def compile_stored(texts: Mapping[str, str], catalog: Catalog) -> StoredQueries:
    """Compile queries that are given by name, each with the text of its file."""
    found = []
    for name, text in texts.items():
        compiled = _compile(Source(text, f"{name}.gq"), catalog, {})
        found += [query for query in compiled if query.name == name]
    return StoredQueries(found)


def _compile(
    source: Source, catalog: Catalog, settings: Mapping[str, Mapping[str, Any]]
) -> Iterable[StoredQuery]:
    document = parse_queries(source)
    for query, ir in zip(
        document.queries, compile_document(catalog, document, source), strict=True
    ):
        yield StoredQuery(
            query.name,
            source.text,
            source.name,
            isinstance(ir, MutationIR),
            ir.params,
            query.description,
            query.instruction,
            **settings.get(query.name, {}),
        )


_SETTINGS: dict[str, type] = {"expose": bool, "tool_name": str}
# Names that every client of tools accepts.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def _read_settings(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput("queries.bad_settings", f"cannot read {path}: {error}") from error
    if not isinstance(found, dict) or not all(map(_is_setting, found.values())):
        raise InvalidInput(
            "queries.bad_settings",
            f"{path} is invalid",
            remedy='write {"query_name": {"expose": false, "tool_name": "…"}}',
        )
    return dict(found)


def _is_setting(found: object) -> bool:
    return (
        isinstance(found, dict)
        and all(isinstance(value, _SETTINGS.get(key, type(None))) for key, value in found.items())
        and _TOOL_NAME.fullmatch(found.get("tool_name", "x")) is not None
    )


def _param_to_json(spec: ParamSpec) -> dict[str, Any]:
    return {"name": spec.name, "nullable": spec.nullable, **_kind_of(spec.dtype)}


def _kind_of(dtype: DataType) -> dict[str, Any]:
    match dtype:
        case ScalarType(scalar):
            return {"kind": _KINDS[scalar]}
        case EnumType(values):
            return {"kind": "string", "values": list(values)}
        case ListType(item):
            return {"kind": "list", "item_kind": _KINDS[item]}
        case VectorType(dim):
            return {"kind": "vector", "vector_dim": dim}
