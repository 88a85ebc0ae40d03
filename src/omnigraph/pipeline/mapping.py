"""``pipeline.yaml``: how data that is not in our envelope becomes nodes and edges.

::

    sources:
      - path: people.csv            # or several, or patterns; relative to this file
        format: csv                 # csv, ndjson or parquet; by its name otherwise
        options: {sep: ";"}         # what Spark's reader should know
        where: country <> 'XX'      # SQL on the columns of the source
        latest: {by: [mail], order: updated}
        delete: gone = 'yes'        # these rows delete what they name
        into:
          - type: Person
            properties:
              name: mail                                   # property: column
              born: {column: dob, cast: date, format: dd.MM.yyyy}
              city: {constant: Bonn}
              label: {sql: "upper(first)"}
          - type: Knows
            from: mail
            to: friend
            where: friend IS NOT NULL
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingType

__all__ = [
    "AT",
    "BROKEN",
    "CASTS",
    "DELETE",
    "Latest",
    "MappedSource",
    "Mapping",
    "Target",
    "Value",
    "parse_mapping",
    "read_mapping",
]

# Columns beside those of an entity: where a row stands, whether it deletes, and its text where it
# could not be read.
AT, DELETE, BROKEN = "_at", "_delete", "_corrupt_record"

FORMATS = {"csv", "ndjson", "parquet"}
CASTS = {
    "string": "string",
    "int": "bigint",
    "float": "double",
    "bool": "boolean",
    "date": "date",
    "datetime": "timestamp",
}


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value comes from: one of a column, a constant, an expression of SQL."""

    column: str | None = None
    constant: Any = None
    sql: str | None = None
    cast: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What the rows of a source become: entities of one type."""

    type: str
    # By the names that columns of a table have: id, from, to, and properties.
    values: MappingType[str, Value]
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Latest:
    """Of the rows that agree in ``by``, only the one that is last by ``order`` counts."""

    by: tuple[str, ...]
    order: str


@dataclass(frozen=True, slots=True)
class MappedSource:
    """Some files of one shape."""

    paths: tuple[str, ...]
    into: tuple[Target, ...]
    format: str | None = None
    options: MappingType[str, str] = field(default_factory=dict)
    where: str | None = None
    latest: Latest | None = None
    delete: str | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """A whole mapping."""

    sources: tuple[MappedSource, ...]


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping and check its shape; columns are checked once the sources are open."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            "mapping.unreadable", f"the mapping {path} cannot be read: {error}"
        ) from error
    return parse_mapping(_parse_yaml(text, str(path)), Path(path).parent)


def parse_mapping(body: Any, base: Path) -> Mapping:
    """A mapping out of plain values; paths are relative to ``base``."""
    node = _Node(body, "the mapping").only("sources")
    return Mapping(tuple(_source(each, base) for each in node.items("sources")))


def _parse_yaml(text: str, name: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - the door to YAML
    except ImportError as error:
        raise Unsupported(
            "mapping.yaml_missing",
            "PyYAML is not installed",
            remedy="pip install 'omnigraph-py[spark]'",
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput("mapping.bad_yaml", f"{name} is not YAML: {error}") from error


class _Node:
    """An object of the mapping, which knows where it stands."""

    def __init__(self, body: Any, where: str) -> None:
        if not isinstance(body, dict):
            raise _wrong(where, "is not an object of keys and values")
        self._body = body
        self.where = where

    def only(self, *known: str) -> _Node:
        for key in self._body:
            if key not in known:
                hint = did_you_mean(str(key), known) or f"there are {', '.join(known)}"
                raise _wrong(self.where, f"has no key {key!r}", hint)
        return self

    def text(self, key: str) -> str | None:
        found = self._body.get(key)
        if found is not None and not isinstance(found, str):
            raise _wrong(f"{self.where}, {key},", "is not a text")
        return found

    def require(self, key: str) -> str:
        found = self.text(key)
        if found is None:
            raise _wrong(self.where, f"has no {key}")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        found = self._body.get(key)
        listed = found if isinstance(found, list) else [found]
        if not listed or not all(isinstance(each, str) for each in listed):
            raise _wrong(f"{self.where}, {key},", "is not a text or a list of texts")
        return tuple(listed)

    def items(self, key: str) -> list[_Node]:
        found = self._body.get(key)
        if not isinstance(found, list) or not found:
            raise _wrong(f"{self.where}, {key},", "is not a list with something in it")
        return [_Node(each, f"{self.where}, {key} {n}") for n, each in enumerate(found, 1)]

    def node(self, key: str) -> _Node | None:
        found = self._body.get(key)
        return None if found is None else _Node(found, f"{self.where}, {key}")

    def pairs(self) -> dict[str, Any]:
        return {str(key): value for key, value in self._body.items()}

    def has(self, key: str) -> bool:
        return key in self._body

    def raw(self, key: str) -> Any:
        return self._body.get(key)


def _source(node: _Node, base: Path) -> MappedSource:
    node.only("path", "format", "options", "where", "latest", "delete", "into")
    kind = node.text("format")
    if kind is not None and kind not in FORMATS:
        raise _wrong(
            f"{node.where}, format,", f"is {kind!r}", f"one of {', '.join(sorted(FORMATS))}"
        )
    options, latest = node.node("options"), node.node("latest")
    return MappedSource(
        tuple(str(base / path) for path in node.texts("path")),
        tuple(_target(each) for each in node.items("into")),
        kind,
        {} if options is None else {k: _spelled(v) for k, v in options.pairs().items()},
        node.text("where"),
        None if latest is None else _latest(latest),
        node.text("delete"),
    )


def _latest(node: _Node) -> Latest:
    node.only("by", "order")
    return Latest(node.texts("by"), node.require("order"))


def _target(node: _Node) -> Target:
    node.only("type", "id", "from", "to", "properties", "where")
    values = {
        name: _value(node.raw(name), f"{node.where}, {name}")
        for name in ("id", "from", "to")
        if node.has(name)
    }
    properties = node.node("properties")
    if properties is not None:
        for name, body in properties.pairs().items():
            values[name] = _value(body, f"{properties.where}, {name}")
    return Target(node.require("type"), values, node.text("where"))


def _value(body: Any, where: str) -> Value:
    if isinstance(body, str):
        return Value(column=body)
    node = _Node(body, where).only("column", "constant", "sql", "cast", "format")
    if sum(node.has(key) for key in ("column", "constant", "sql")) != 1:
        raise _wrong(where, "needs one of column, constant and sql")
    cast = node.text("cast")
    if cast is not None and cast not in CASTS:
        raise _wrong(f"{where}, cast,", f"is {cast!r}", f"one of {', '.join(CASTS)}")
    if node.has("format") and cast not in ("date", "datetime"):
        raise _wrong(f"{where}, format,", "is for the casts date and datetime")
    return Value(
        node.text("column"), node.raw("constant"), node.text("sql"), cast, node.text("format")
    )


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong(where: str, what: str, remedy: str | None = None) -> InvalidInput:
    return InvalidInput("mapping.bad", f"{where} {what}", remedy=remedy or "see docs/spark.md")
