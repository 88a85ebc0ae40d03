"""Complete commands, keywords, types, edges, properties and branches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import EdgeType
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DELIMITERS", "CompletionWords", "complete", "completion_words_of"]

# Delimiters of words for readline; `$`, `.` and `:` are part of words.
DELIMITERS = " \t\n{}(),<>=!"
_KEYWORDS = (
    "query", "match", "return", "order", "limit", "not", "optional", "exists", "count", "insert",
    "create", "replace", "update", "delete", "where", "set", "distinct", "desc", "and", "or", "in",
    "is", "null", "contains", "starts_with", "date", "datetime", "search", "nearest", "bm25",
)  # fmt: skip
_DECLARED = re.compile(r"\$(\w+)\s*:\s*(\w+)")
_TYPE_POSITION = re.compile(r"(?:\$\w+\s*:\s*|\b(?:insert|create|replace|update|delete)\s+)$")


@frozen
class CompletionWords:
    """The names that can be completed."""

    properties: Mapping[str, tuple[str, ...]]
    edges: tuple[str, ...]
    branches: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self.properties)


def completion_words_of(
    schema: str, *, branches: Iterable[str] = (), commands: Iterable[str] = ()
) -> CompletionWords:
    """Collect the names of a schema, by type."""
    source = Source(schema, "<schema>")
    catalog = build_catalog(parse_schema(source), source)
    types = [*catalog.types.values()]
    return CompletionWords(
        {each.name: tuple(prop.name for prop in each.properties) for each in types},
        tuple(_traversal(each.name) for each in types if isinstance(each, EdgeType)),
        tuple(branches),
        tuple(commands),
    )


def _traversal(edge: str) -> str:
    return edge[:1].lower() + edge[1:]


def complete(before: str, word: str, known: CompletionWords) -> list[str]:
    """Return the completions of ``word`` after the text ``before``."""
    return sorted({each for each in _candidates(before, word, known) if each.startswith(word)})


def _candidates(before: str, word: str, known: CompletionWords) -> Iterable[str]:
    line = before.rpartition("\n")[2].lstrip()
    if line.startswith(":"):
        return known.branches if line.split()[0] in {":branch", ":at"} else known.types
    if not before.strip() and word.startswith(":"):
        return known.commands
    variable, dot, _ = word.rpartition(".")
    if dot:
        return [f"{variable}.{name}" for name in _properties(before, variable, known)]
    if word.startswith("$"):
        return [f"${name}" for name, _ in _DECLARED.findall(before)]
    if _TYPE_POSITION.search(before):
        return known.types
    return (*_KEYWORDS, *known.types, *known.edges, *_everything(known))


def _properties(before: str, variable: str, known: CompletionWords) -> Iterable[str]:
    """Return the properties of the variable's type, or all if it is unknown."""
    declared = dict(_DECLARED.findall(before)).get(variable.removeprefix("$"))
    if declared is None:
        return _everything(known)
    by_edge = {_traversal(name): names for name, names in known.properties.items()}
    return known.properties.get(declared) or by_edge.get(declared) or _everything(known)


def _everything(known: CompletionWords) -> set[str]:
    return {name for names in known.properties.values() for name in names}
