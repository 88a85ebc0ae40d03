"""A draft schema: the inferred types as ``.pg``, for a person to complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.build import build_catalog
from omnigraph.datatypes.types import INTEGER_RANGES, Scalar, ScalarType, spell_type
from omnigraph.errors import GraphError, InvalidInput
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.loading.inference.file_reader import ROWS_MAX, observe_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.loading.inference.column_types import ObservedColumn, ObservedType

__all__ = ["DraftedSchema", "infer_schema"]

# Common names of identifying columns, most reliable first.
_KEY_NAMES = ("slug", "key", "code", "handle", "uuid", "email", "name", "title")
_KEY_SCALARS = frozenset({Scalar.STRING, *INTEGER_RANGES})
_UNKNOWN_END = "Unknown"


@frozen
class DraftedSchema:
    """A schema that fits the data, and the number of rows of each type."""

    schema: str
    counts: dict[str, int]

    def __repr__(self) -> str:
        return f"<Draft of {len(self.counts)} types>"

    def to_json(self) -> dict[str, Any]:
        return {"schema_source": self.schema, "types": self.counts}


def infer_schema(files: Sequence[str], *, type: str | None = None) -> DraftedSchema:  # noqa: A002 - as load
    """Draft a schema from CSV, Parquet, Arrow or JSON files.

    A table has one type, named after its file or by ``type``; one with columns ``from`` and ``to``
    contains edges. Records in an envelope name their own type, as in ``load``.
    """
    seen: dict[str, ObservedType] = {}
    for file in files:
        observe_file(str(file), type, seen)
    if not seen:
        raise InvalidInput("infer.no_rows", "the files hold no rows")
    text = "\n\n".join(_texts(seen)) + "\n"
    _require_schema(text)
    return DraftedSchema(text, {name: observed.count for name, observed in seen.items()})


def _texts(seen: dict[str, ObservedType]) -> Iterator[str]:
    nodes = {name: each for name, each in seen.items() if each.ends is None}
    keys = {name: _key(each) for name, each in nodes.items()}
    known = {name: _identities(each, keys[name]) for name, each in nodes.items()}
    edges = {name: _endpoints(each, known) for name, each in seen.items() if each.ends}
    for name, observed in nodes.items():
        yield _body(f"node {name}", observed, keys[name])
    if any(_UNKNOWN_END in ends for ends in edges.values()):
        yield f"// No file defines this type: name the right one here.\nnode {_UNKNOWN_END} {{\n}}"
    for name, (begin, end) in edges.items():
        yield _body(f"edge {name}: {begin} -> {end}", seen[name], None)


def _body(head: str, observed: ObservedType, key: str | None) -> str:
    lines = [
        f"    {_line(observed, name, column, key)}" for name, column in observed.columns.items()
    ]
    sampled = " or more" if observed.count >= ROWS_MAX else ""
    rows = "row" if observed.count == 1 else "rows"
    return "\n".join([f"// From {observed.count}{sampled} {rows}.", f"{head} {{", *lines, "}"])


def _line(observed: ObservedType, name: str, column: ObservedColumn, key: str | None) -> str:
    kind = column.type
    if kind is None:
        return f"// {name}: its values are of several kinds, or nested"
    line = f"{name}: {spell_type(kind, nullable=observed.is_optional(name))}"
    if not _is_schema(f"node T {{\n    {line}\n}}\n"):
        return f"// {line}  (not a name that .pg allows)"
    return f"{line} @key" if name == key else line


def _key(observed: ObservedType) -> str | None:
    """Choose the key of a type: none if ids are given, else the column that resembles one most."""
    if observed.ids:
        return None
    unique = [name for name in observed.columns if _is_unique(observed, name)]
    own = f"{observed.name.lower()}_id"
    wanted = (own, f"{own.removesuffix('s_id')}_id", *_KEY_NAMES)
    by_name = [name for name in wanted if name in unique]
    by_end = [name for name in unique if name.lower().endswith(("_id", "_key", "_code"))]
    first = [name for name in [*observed.columns][:1] if name in unique]
    return next(iter((*by_name, *by_end, *first)), None)


def _is_unique(observed: ObservedType, name: str) -> bool:
    column = observed.columns[name]
    kind = column.type
    return (
        not column.repeats
        and not observed.is_optional(name)
        and isinstance(kind, ScalarType)
        and kind.scalar in _KEY_SCALARS
        and _is_schema(f"node T {{\n    {name}: {kind.scalar.value} @key\n}}\n")
    )


def _identities(observed: ObservedType, key: str | None) -> set[str]:
    values = observed.columns[key].values if key else observed.ids
    return {str(value) for value in values}


def _endpoints(observed: ObservedType, known: dict[str, set[str]]) -> tuple[str, str]:
    """Find the node types that contain most of the endpoints of the edge."""
    begins, ends = observed.ends or (set(), set())
    return _holder(begins, known), _holder(ends, known)


def _holder(wanted: set[str], known: dict[str, set[str]]) -> str:
    held = {name: len(wanted & ids) for name, ids in known.items()}
    best = max(held, key=held.__getitem__, default=_UNKNOWN_END)
    return best if held.get(best) else _UNKNOWN_END


def _is_schema(text: str) -> bool:
    try:
        _require_schema(text)
    except GraphError:
        return False
    return True


def _require_schema(text: str) -> None:
    source = Source(text, "<draft>")
    build_catalog(parse_schema(source), source)
