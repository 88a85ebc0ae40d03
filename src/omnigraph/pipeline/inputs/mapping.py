"""``pipeline.yaml``: the mapping from columns of foreign data to nodes and edges.

::

    sources:
      - path: people.csv            # or several, or patterns; relative to this file
        format: csv                 # csv, ndjson or parquet; by its name otherwise
        options: {sep: ";"}         # options of Spark's reader
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

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.language.diagnostics import suggest
from omnigraph.pipeline.inputs.located_yaml import location_prefix, parse_yaml

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
    "MappingTarget",
    "Value",
    "parse_mapping",
    "read_mapping",
]

# Columns beside those of an entity: the position of a row, whether it deletes, and its text if it
# is unreadable.
AT, DELETE, BROKEN = "_omnigraph_at", "_omnigraph_delete", "_corrupt_record"

FORMATS = {"csv", "ndjson", "parquet"}
CASTS = {
    "string": "string",
    "int": "bigint",
    "float": "double",
    "bool": "boolean",
    "date": "date",
    "datetime": "timestamp",
}


@frozen
class Value:
    """The source of a value: one of a column, a constant, an SQL expression."""

    column: str | None = None
    constant: Any = None
    sql: str | None = None
    cast: str | None = None
    format: str | None = None


@frozen
class MappingTarget:
    """The entities of one type that the rows of a source become."""

    type: str
    # By column names of a table: id, from, to, and properties.
    values: MappingType[str, Value]
    where: str | None = None


@frozen
class Latest:
    """Keeps, of the rows that agree in ``by``, only the last by ``order``."""

    by: tuple[str, ...]
    order: Value


@frozen
class MappedSource:
    """Files of one shape."""

    paths: tuple[str, ...]
    into: tuple[MappingTarget, ...]
    format: str | None = None
    options: MappingType[str, str] = field(default_factory=dict)
    where: str | None = None
    latest: Latest | None = None
    delete: str | None = None


@frozen
class Mapping:
    """A parsed ``pipeline.yaml``."""

    sources: tuple[MappedSource, ...]


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping and check its structure; columns are checked once the sources are open."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            "mapping.unreadable",
            f"the mapping {path} cannot be read: {getattr(error, 'strerror', None) or error}",
            remedy="check the path; a mapping is YAML in UTF-8",
        ) from error
    return parse_mapping(parse_yaml(text, str(path)), Path(path).parent)


def parse_mapping(body: Any, base: Path) -> Mapping:
    """Parse a mapping from plain values; paths are relative to ``base``."""
    node = _Node(body, "the mapping").only("sources")
    return Mapping(tuple(_source(each, base) for each in node.items("sources")))


class _Node:
    """An object of the mapping, with its position for messages."""

    def __init__(self, body: Any, where: str, near: str = "") -> None:
        if not isinstance(body, dict):
            raise _wrong(
                f"{location_prefix(body) or near}{where}", "is not an object of keys and values"
            )
        self._body = body
        self._where = where
        # The line of the first key, for messages about missing ones.
        self._near = next((location_prefix(key) for key in body), near)

    def wrong(self, what: str, remedy: str | None = None, *, at: str | None = None) -> InvalidInput:
        """Build an error about this object, or about one of its values."""
        key = next((each for each in self._body if each == at), None)
        where = self._where if at is None else f"{self._where}, {at},"
        return _wrong(f"{location_prefix(key) or self._near}{where}", what, remedy)

    def only(self, *known: str) -> _Node:
        for key in self._body:
            if key not in known:
                hint = suggest(str(key), known)
                place = location_prefix(key) or self._near
                raise _wrong(f"{place}{self._where}", f"has no key {str(key)!r}", hint)
        return self

    def text(self, key: str) -> str | None:
        found = self._body.get(key)
        if found is not None and not isinstance(found, str):
            raise self.wrong("is not a text", at=key)
        return found

    def require(self, key: str) -> str:
        found = self.text(key)
        if found is None:
            raise self.wrong(f"has no {key}")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        found = self._body.get(key)
        listed = found if isinstance(found, list) else [found]
        if not listed or not all(isinstance(each, str) for each in listed):
            raise self.wrong("is not a text or a list of texts", at=key)
        return tuple(listed)

    def items(self, key: str) -> list[_Node]:
        found = self._body.get(key)
        if not isinstance(found, list) or not found:
            raise self.wrong("must be a list that is not empty", at=key)
        names = (f"{self._where}, {key} {number}" for number in range(1, len(found) + 1))
        return [_Node(each, name, self._near) for each, name in zip(found, names, strict=True)]

    def node(self, key: str) -> _Node | None:
        found = self._body.get(key)
        return None if found is None else _Node(found, f"{self._where}, {key}", self._near)

    def pairs(self) -> dict[str, Any]:
        # A text keeps its type, which holds its position.
        return {k if isinstance(k, str) else str(k): value for k, value in self._body.items()}

    def has(self, key: str) -> bool:
        return key in self._body

    def raw(self, key: str) -> Any:
        return self._body.get(key)

    def values(self, *names: str) -> dict[str, Value]:
        """Parse the sources of values, by name; with ``names``, of those only."""
        return {
            str(name): self._value(str(name), body)
            for name, body in self._body.items()
            if not names or name in names
        }

    def _value(self, name: str, body: Any) -> Value:
        if isinstance(body, str):
            return Value(column=body)
        known = ("column", "constant", "sql", "cast", "format")
        node = _Node(body, f"{self._where}, {name}", self._near).only(*known)
        if sum(node.has(key) for key in ("column", "constant", "sql")) != 1:
            raise node.wrong("needs one of column, constant and sql")
        cast = node.text("cast")
        if cast is not None and cast not in CASTS:
            raise node.wrong(f"is {str(cast)!r}", f"one of {', '.join(CASTS)}", at="cast")
        if node.has("format") and cast not in ("date", "datetime"):
            raise node.wrong("is for the casts date and datetime", at="format")
        return Value(
            node.text("column"), node.raw("constant"), node.text("sql"), cast, node.text("format")
        )


def _source(node: _Node, base: Path) -> MappedSource:
    node.only("path", "format", "options", "where", "latest", "delete", "into")
    kind = node.text("format")
    if kind is not None and kind not in FORMATS:
        raise node.wrong(f"is {str(kind)!r}", f"one of {', '.join(sorted(FORMATS))}", at="format")
    options, latest = node.node("options"), node.node("latest")
    return MappedSource(
        tuple(str(base / path) for path in node.texts("path")),
        tuple(_target(each) for each in node.items("into")),
        kind,
        {} if options is None else {k: _option_text(v) for k, v in options.pairs().items()},
        node.text("where"),
        None if latest is None else _latest(latest),
        node.text("delete"),
    )


def _latest(node: _Node) -> Latest:
    node.only("by", "order")
    if not node.has("order"):
        raise node.wrong("has no order")
    return Latest(node.texts("by"), node.values("order")["order"])


def _target(node: _Node) -> MappingTarget:
    node.only("type", "id", "from", "to", "properties", "where")
    values = node.values("id", "from", "to")
    properties = node.node("properties")
    if properties is not None:
        values |= properties.values()
    return MappingTarget(node.require("type"), values, node.text("where"))


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong(where: str, what: str, remedy: str | None = None) -> InvalidInput:
    return InvalidInput("mapping.bad", f"{where} {what}", remedy=remedy or "see docs/spark.md")
